import Foundation
import Synchronization

/// Clients on threads of their own that repeat an operation for some time.
struct Load {
    /// Returns the number of operations of all clients a second.
    ///
    /// - Parameters:
    ///   - clients: The number of clients.
    ///   - seconds: The time.
    ///   - make: Makes the operation of a client, which gets a number that counts up, and returns
    ///     how many operations it was.
    /// - Returns: The rate.
    /// - Throws: The last error of an operation.
    static func rate(
        clients: Int, seconds: Int, _ make: (Int) throws -> @Sendable (Int) throws -> Int
    ) throws -> Double {
        let operations = try (0..<clients).map(make)
        let count = OperationCount()
        let failure = LastError()
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let group = DispatchGroup()
        for operation in operations {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                var number = 0
                do {
                    while ContinuousClock.now < end {
                        count.add(try operation(number))
                        number += 1
                    }
                } catch {
                    failure.note(error)
                }
            }
        }
        group.wait()
        if let error = failure.error { throw error }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        return Double(count.value) / elapsed
    }
}

/// A number of operations that several threads add up.
private final class OperationCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ number: Int) { count.add(number, ordering: .relaxed) }
}

/// The last error of several threads.
private final class LastError: Sendable {
    private let last = Mutex<(any Error)?>(nil)

    var error: (any Error)? { last.withLock { $0 } }

    func note(_ error: any Error) { last.withLock { $0 = error } }
}
