import Stet
import StetStore
public import Testing

/// Gives the objects that a test makes the ids 1, 2, 3 and so on, so that what it writes down of
/// them is the same in every run.
///
/// ```swift
/// @Test(.sequentialIDs) func anArticleIsExported() throws { … }
/// ```
///
/// Each test, and each case of a test with arguments, begins with 1, in the tasks of the test and
/// those that inherit from them. A detached task gets ids as usual. A store that lives longer than
/// one test must not be used with it: ids would repeat.
public struct SequentialIDs: TestTrait, SuiteTrait, TestScoping {
    /// True: a suite passes it on to each of its tests.
    public var isRecursive: Bool { true }

    /// Runs a test with ids of its own.
    ///
    /// - Throws: the errors of the test.
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await ObjectID.withSequence(function)
    }
}

extension Trait where Self == SequentialIDs {
    /// The objects that the test makes have the ids 1, 2, 3 and so on.
    public static var sequentialIDs: SequentialIDs { SequentialIDs() }
}
