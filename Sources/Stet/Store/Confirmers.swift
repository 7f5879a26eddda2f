import Glibc

/// Asks on the terminal.
///
/// Where standard input is no terminal it refuses, rather than take an answer from a file or wait
/// for nobody; a script says `--yes`.
public struct TerminalConfirmer: Confirmer {
    private let assumesYes: Bool
    /// Where the answer comes from.
    private let input: Int32

    /// - Parameter assumesYes: the answer was given beforehand, as by an option `--yes`.
    public init(assumesYes: Bool = false) {
        self.init(assumesYes: assumesYes, input: STDIN_FILENO)
    }

    /// The same with another file descriptor than that of standard input.
    package init(assumesYes: Bool = false, input: Int32) {
        self.assumesYes = assumesYes
        self.input = input
    }

    /// Writes title and message to standard error, and reads "yes" or something else.
    public func confirms(_ plan: DestructionPlan) async throws -> Bool {
        if assumesYes { return true }
        guard isatty(input) == 1 else {
            throw NotConfirmedError(
                plan: plan, reason: "There is no terminal to ask on; pass --yes.")
        }
        let question = "\(plan.title)\n\(plan.message)\n\(plan.destructiveTitle)? [yes/no] "
        _ = question.utf8.withContiguousStorageIfAvailable {
            write(STDERR_FILENO, $0.baseAddress, $0.count)
        }
        return readLine(strippingNewline: true)?.lowercased() == "yes"
    }
}

/// Gives the same answer to every question, for tests.
public struct FixedConfirmer: Confirmer {
    private let answer: Bool
    private let record: @Sendable (DestructionPlan) -> Void

    /// - Parameters:
    ///   - answer: whether plans may be carried out.
    ///   - record: gets each plan that is asked about.
    public init(
        _ answer: Bool, record: @escaping @Sendable (_ plan: DestructionPlan) -> Void = { _ in }
    ) {
        self.answer = answer
        self.record = record
    }

    /// The answer.
    public func confirms(_ plan: DestructionPlan) async throws -> Bool {
        record(plan)
        return answer
    }
}
