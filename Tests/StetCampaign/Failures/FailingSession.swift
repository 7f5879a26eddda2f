import ArgumentParser
import StetStore

/// The child whose system calls fail: commits of various sizes, with the store closed and opened in
/// between.
struct FailingSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Commits edits of several sizes, and writes down what the store answers.")

    @Argument(help: "The store; it is created when it is not there.")
    var path: String
    @Option var seed: UInt64

    /// The most objects that each commit steps through; 0 closes the store and opens it.
    private static let steps = [
        1, 30, 3, 300, 1, 0, 100, 5, 600, 2, 0, 40, 1, 200, 9, 150, 1, 400, 20, 1,
    ]

    func run() {
        var session = ReportingSession(path, seed: seed)
        // So small that it must grow several times.
        session.initialMapByteCount = 1 << 20
        guard open(&session) else { return }
        for (index, size) in Self.steps.enumerated() {
            if size == 0 {
                session.close()
                guard open(&session) else { return }
            } else if session.save(session.edits(size)) != .committed {
                return ReportingSession.tell(.gaveUp("step-\(index)"))
            }
        }
        session.close()
        ReportingSession.tell(.done)
    }

    private func open(_ session: inout ReportingSession) -> Bool {
        guard session.open() else {
            ReportingSession.tell(.gaveUp("open"))
            return false
        }
        do { try session.takeOver() } catch { ReportingSession.tell(.wrong("\(error)")) }
        return true
    }
}
