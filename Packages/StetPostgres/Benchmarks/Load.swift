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
    /// - Throws: The first error of an operation.
    static func rate(
        clients: Int, seconds: Int, _ make: (Int) throws -> @Sendable (Int) throws -> Int
    ) throws -> Double {
        let operations = try (0..<clients).map(make)
        let count = Atomic<Int>(0)
        let failure = Mutex<(any Error)?>(nil)
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        DispatchQueue.concurrentPerform(iterations: clients) { client in
            var number = 0
            do {
                while ContinuousClock.now < end {
                    count.add(try operations[client](number), ordering: .relaxed)
                    number += 1
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        return Double(count.load(ordering: .relaxed)) / elapsed
    }
}
