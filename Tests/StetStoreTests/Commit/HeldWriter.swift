import Foundation
import StetLMDB
import StetStore

/// Keeps LMDB's writer lock, so that change sets wait until it lets go.
final class HeldWriter: Sendable {
    private enum Phase { case beginning, held, released, ended }
    private let phase = Monitor(Phase.beginning)

    /// Returns when the lock is held.
    init(_ environment: Environment) {
        let phase = phase
        Thread {
            try? environment.write { _ in
                phase.withLock { $0 = .held }
                phase.notify()
                phase.wait { $0 == .released ? () : nil }
            }
            phase.withLock { $0 = .ended }
            phase.notify()
        }.start()
        phase.wait { $0 == .beginning ? nil : () }
    }

    /// Lets go; returns when the transaction has ended.
    func release() {
        phase.withLock { $0 = .released }
        phase.notify()
        phase.wait { $0 == .ended ? () : nil }
    }
}

extension StoreFile {
    /// Submits the inserts of objects with these numbers, each on its own, in order.
    func submitInserts(_ numbers: some Sequence<Int>) throws -> [Submission] {
        try numbers.map { number in
            var note = EditNote()
            note.token = UInt64(number)
            return try submit(try encode([.insertTag(number)], note))
        }
    }

    /// Returns when the writer has taken the first change set and `count` more wait.
    func untilWaiting(_ count: Int) {
        attend()
        while waitingCount != count { sched_yield() }
    }
}

extension Edit {
    static func insertTag(_ number: Int, _ byte: UInt8 = 1, byteCount: Int = 1) -> Edit {
        let data = Data(repeating: byte, count: byteCount)
        return Edit(ObjectKey(Number.tag, number), from: nil, to: [.data(data)])
    }
}

/// Runs `body` on threads of their own; returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let ended = Monitor(0)
    for number in 0..<count {
        Thread {
            body(number)
            ended.withLock { $0 += 1 }
            ended.notify()
        }.start()
    }
    ended.wait { $0 == count ? () : nil }
}
