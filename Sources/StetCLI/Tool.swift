import ArgumentParser
public import StetStore

/// The entry point of the program.
public enum Tool {
    /// Executes the command line, and ends the process.
    ///
    /// - Parameter openJournal: A closure that returns the shared journal of a store at a
    ///   connection; nil for a program without shared journals.
    public static func run(
        openJournal: (
            @Sendable (_ connection: String, _ store: String) -> any SharedJournal
        )? = nil
    ) {
        SharedJournals.register(openJournal)
        do {
            var command = try StetCommand.parseAsRoot()
            try command.run()
        } catch {
            // An exit code was reported before. A mistake in the command line is JSON, too.
            if !(error is ExitCode), StetCommand.exitCode(for: error) == .usage,
                CommandLine.arguments.contains("--json")
            {
                Output(isJSON: true).complain(
                    Failure(
                        .usage, code: "usage", path: nil, message: StetCommand.message(for: error),
                        advice: "See stet --help."))
                StetCommand.exit(withError: ExitCode.usage)
            }
            StetCommand.exit(withError: error)
        }
    }
}
