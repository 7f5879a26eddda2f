import Foundation
import StetStore
import Testing

/// The loop by which everything is committed: prepared, refused, followed, prepared again.
struct PreparationTests {
    private struct Overtaken: Error {}
    private struct Conflict: Error, Equatable {
        var count: Int
    }

    /// Changes a tag that somebody else changes behind its back a few times.
    private struct Work: CommitWork {
        let library: Library
        let tag = ObjectKey(Number.tag, 1)
        /// The number of times that it is overtaken.
        var overtakings: Int
        var prepareCount = 0
        var followCount = 0
        /// The refusal after which it gives up.
        var conflictsAfter = Int.max
        var hasNothingToDo = false

        let isRetry = false
        var contention: any Error { Overtaken() }

        mutating func prepare() throws -> EncodedChangeSet? {
            prepareCount += 1
            if hasNothingToDo { return nil }
            let edit = library.edit(tag, [.data(Data([99]))])
            let set = try library.file.encode([edit], EditNote(base: library.revision))
            if prepareCount <= overtakings {
                try library.commit([library.edit(tag, [.data(Data([UInt8(prepareCount)]))])])
            }
            return set
        }

        mutating func follow(_ refusal: CommitRefusal) throws {
            followCount += 1
            guard case .objectChanged = refusal.reasons.first else { throw Overtaken() }
            if followCount == conflictsAfter { throw Conflict(count: followCount) }
        }
    }

    private func work(overtakings: Int) throws -> Work {
        let library = try Library()
        try library.commit([library.edit(ObjectKey(Number.tag, 1), [.data(Data())])])
        return Work(library: library, overtakings: overtakings)
    }

    @Test(arguments: [0, 1, 7])
    func workThatIsOvertakenIsPreparedAgain(overtakings: Int) throws {
        var work = try work(overtakings: overtakings)
        var preparation = Preparation(work.library.file)
        let commit = try #require(try preparation.run(&work))
        #expect(commit.revision == Revision(UInt64(overtakings + 2)))
        #expect(work.prepareCount == overtakings + 1)
        #expect(work.followCount == overtakings)
        #expect(
            try work.library.file.object(work.tag, asOf: .max)?.cells == [.bytes([99])])
    }

    @Test func workThatIsOvertakenEachTimeEndsWithItsError() throws {
        var work = try work(overtakings: Preparation.limit)
        var preparation = Preparation(work.library.file)
        #expect(throws: Overtaken.self) { try preparation.run(&work) }
        #expect(work.prepareCount == Preparation.limit)
        #expect(work.followCount == Preparation.limit)
        #expect(!preparation.mayContinue)
        #expect(try work.library.file.object(work.tag, asOf: .max)?.cells == [.bytes([8])])
    }

    @Test func aConflictEndsTheWork() throws {
        var work = try work(overtakings: 5)
        work.conflictsAfter = 2
        var preparation = Preparation(work.library.file)
        #expect(throws: Conflict(count: 2)) { try preparation.run(&work) }
        #expect(work.prepareCount == 2)
    }

    @Test func workWithNothingToWriteMakesNoCommit() throws {
        var work = try work(overtakings: 0)
        work.hasNothingToDo = true
        var preparation = Preparation(work.library.file)
        #expect(try preparation.run(&work) == nil)
        #expect(work.prepareCount == 1)
        #expect(try work.library.file.read { try $0.head().revision } == 1)
    }

    @Test(arguments: [0, 3])
    func theFormThatSuspendsDoesTheSame(overtakings: Int) async throws {
        var work = try work(overtakings: overtakings)
        var preparation = Preparation(work.library.file)
        let commit = try #require(try await preparation.run(&work))
        #expect(commit.revision == Revision(UInt64(overtakings + 2)))
        #expect(work.prepareCount == overtakings + 1)
    }

    @Test func cancelledWorkIsNotPrepared() async throws {
        let library = try Library()
        let file = library.file
        let isCancelled = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var work = UndoWork(
                file, .undo(UndoOwner(author: "a", scope: nil)), .fail, time: { 1 },
                violations: { _, _ in [] })
            do {
                _ = try await file.commit(&work)
                return false
            } catch is CancellationError {
                return true
            } catch {
                return false
            }
        }.value
        #expect(isCancelled)
    }
}
