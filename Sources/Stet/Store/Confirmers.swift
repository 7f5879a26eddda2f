import Glibc
public import StetStore

/// A confirmer that prompts on the terminal.
///
/// When standard input is not a terminal, it refuses instead of reading an answer from a file or
/// waiting in vain; a script passes `--yes`.
public struct TerminalConfirmer: Confirmer {
    private let assumesYes: Bool
    /// The file descriptor from which the answer is read.
    private let input: Int32
    /// The file descriptor to which the question is written.
    private let output: Int32
    /// The words for yes and no.
    private let answers: (yes: String, no: String)

    /// Creates a confirmer that reads from standard input.
    ///
    /// - Parameters:
    ///   - assumesYes: true when the answer was given beforehand, for instance by an option
    ///     `--yes`.
    ///   - messages: the language of the words "yes" and "no"; the question itself is in that of
    ///     the store's configuration.
    public init(assumesYes: Bool = false, messages: MessageTable = .english) {
        self.init(assumesYes: assumesYes, input: STDIN_FILENO, messages: messages)
    }

    /// Creates a confirmer that uses other file descriptors than those of the process.
    package init(
        assumesYes: Bool = false, input: Int32, output: Int32 = STDERR_FILENO,
        messages: MessageTable = .english
    ) {
        self.assumesYes = assumesYes
        self.input = input
        self.output = output
        answers = (
            messages.text(Sentence("yes"), entity: ""), messages.text(Sentence("no"), entity: "")
        )
    }

    /// Writes title and message to standard error, reads a line, and returns true if it is the word
    /// for yes.
    ///
    /// - Throws: `NotConfirmedError` when the input is not a terminal.
    public func confirms(_ plan: DestructiveAction.Plan) async throws -> Bool {
        if assumesYes { return true }
        guard isatty(input) == 1 else {
            throw NotConfirmedError(
                plan: plan, reason: "There is no terminal to ask on; pass --yes.")
        }
        let words = "[\(answers.yes)/\(answers.no)]"
        let question = "\(plan.title)\n\(plan.message)\n\(plan.destructiveTitle)? \(words) "
        _ = question.utf8.withContiguousStorageIfAvailable {
            write(output, $0.baseAddress, $0.count)
        }
        return line().lowercased() == answers.yes
    }

    /// Reads a line without its end; empty at the end of the input.
    private func line() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(input, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count != 1 || byte == UInt8(ascii: "\n") { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A confirmer that gives the same answer to every question, for tests.
public struct FixedConfirmer: Confirmer {
    private let answer: Bool
    private let record: @Sendable (DestructiveAction.Plan) -> Void

    /// Creates a confirmer with a fixed answer.
    ///
    /// - Parameters:
    ///   - answer: whether plans may be carried out.
    ///   - record: receives each plan that is to be confirmed.
    public init(
        _ answer: Bool,
        record: @escaping @Sendable (_ plan: DestructiveAction.Plan) -> Void = { _ in }
    ) {
        self.answer = answer
        self.record = record
    }

    /// Returns the fixed answer.
    ///
    /// - Throws: nothing.
    public func confirms(_ plan: DestructiveAction.Plan) async throws -> Bool {
        record(plan)
        return answer
    }
}
