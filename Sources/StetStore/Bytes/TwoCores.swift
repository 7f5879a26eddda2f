import Dispatch

/// Two pieces of work that a thread does at once, with the help of a second core.
enum TwoCores {
    /// The results of both.
    struct Results<One: ~Copyable, Other: ~Copyable>: ~Copyable {
        let one: One
        let other: Other
    }

    /// Returns the results of two functions, which are called at once or in turn.
    ///
    /// Neither may touch memory that the other changes, or call code of users that is not
    /// `Sendable`: such code may rely on its thread.
    static func run<One: ~Copyable, Other: ~Copyable>(
        isParallel: Bool = true, _ one: () throws -> One, and other: () throws -> Other
    ) throws -> Results<One, Other> {
        guard isParallel else { return Results(one: try one(), other: try other()) }
        var ofOne: Result<One, any Error>?
        var ofOther: Result<Other, any Error>?
        callAtOnce {
            do { ofOne = .success(try one()) } catch { ofOne = .failure(error) }
        } and: {
            do { ofOther = .success(try other()) } catch { ofOther = .failure(error) }
        }
        guard let ofOne, let ofOther else { trap("two functions have not both been called") }
        return Results(one: try ofOne.get(), other: try ofOther.get())
    }

    private static func callAtOnce(_ one: () -> Void, and other: () -> Void) {
        withoutActuallyEscaping(one) { one in
            withoutActuallyEscaping(other) { other in
                // Each is called by one thread.
                nonisolated(unsafe) let (one, other) = (one, other)
                DispatchQueue.concurrentPerform(iterations: 2) { $0 == 0 ? one() : other() }
            }
        }
    }
}
