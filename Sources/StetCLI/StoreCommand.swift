import ArgumentParser
import StetStore

/// A command on a store, which runs in a child process, because a damaged file may end it.
protocol StoreCommand: ParsableCommand {
    var options: StoreOptions { get }

    /// Performs the command, in the child.
    ///
    /// - Returns: the exit code.
    func perform(_ output: Output) throws -> ExitCode

    /// Reports that the file is damaged.
    ///
    /// - Returns: the exit code.
    func report(damage: Failure, _ output: Output) throws -> ExitCode
}

extension StoreCommand {
    /// Runs the command in a child, and exits with its result.
    func run() throws {
        let output = Output(isJSON: options.json)
        let ending = try ChildOfItself.run()
        switch ending {
        case .exited(let code): throw ExitCode(code)
        case .killed(let signal) where ChildOfItself.signalsOfDamage.contains(signal):
            throw try report(damage: Failure(signal: signal, path: options.path), output)
        case .killed(let signal): throw ExitCode(128 + signal)
        }
    }

    func report(damage: Failure, _ output: Output) throws -> ExitCode {
        output.complain(damage)
        return damage.exitCode
    }

    /// Opens the store with its stored schema.
    ///
    /// A node of `journal` gets what it lacks from there first.
    func openStore(
        of journal: (any SharedJournal)? = nil, inspectsPages: Bool = false
    ) throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = options.allowUnsafePlace
        configuration.inspectsPages = inspectsPages
        configuration.sharedJournal = journal
        if journal != nil, try StoreFile.exists(options.path) {
            try StoreNode.prepare(at: options.path, configuration)
        }
        return try StoreFile.open(at: options.path, configuration)
    }
}

/// The command that the tool runs in its child: another command, in the same process.
struct InChildCommand: ParsableCommand {
    static let name = "in-child"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Runs a command without a child.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []

    func run() throws {
        guard let command = try StetCommand.parseAsRoot(arguments) as? any StoreCommand else {
            throw ExitCode.usage
        }
        let output = Output(isJSON: command.options.json)
        let code: ExitCode
        let start = ContinuousClock.now
        do {
            // An export is complete, so that an import gives the same store.
            let isComplete = command.options.hidden || command is ExportCommand
            code = try HiddenValues.$areShown.withValue(isComplete) {
                try command.perform(output)
            }
            try output.flush()
            output.noteDuration(start.duration(to: .now))
        } catch let error as StoreError where error.code == .damaged {
            let code = try command.report(damage: Failure(error), output)
            try output.flush()
            throw code
        } catch {
            guard let failure = Failure(error, path: command.options.path) else { throw error }
            output.complain(failure)
            throw failure.exitCode
        }
        throw code
    }
}
