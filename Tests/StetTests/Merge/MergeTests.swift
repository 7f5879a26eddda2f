import Foundation
@testable import Stet
import StetTestModels
import Testing

/// The effect of merge policies on objects that two contexts have changed.
@Suite struct MergeTests {
    @Test(arguments: [MergePolicy.mergeStoreWins, .mergeContextWins, .custom { _ in .null }])
    func disjointPropertiesOfOneObjectAreBothSaved(policy: MergePolicy) throws {
        let both = try TwoContexts(policy)
        both.theirs.rating = 4
        both.theirs.notebook = nil
        try both.other.save()
        both.mine.title = "mine"
        let commit = try #require(try both.context.save())
        #expect(commit.revision == 3)
        #expect(both.context.revision == 3)
        #expect(commit.changeSet.changes.map { $0.properties.map(\.name) } == [["title"]])
        let stored = try #require(try both.stored())
        #expect(stored.title == "mine")
        #expect(stored.rating == 4)
        #expect(stored.notebook == nil)
        #expect(both.mine.snapshot == stored)
        #expect(!both.mine.hasChanges)
    }

    @Test func disjointPropertiesAreAConflictUnderFail() throws {
        let both = try TwoContexts(.fail)
        both.theirs.rating = 4
        try both.other.save()
        both.mine.title = "mine"
        let error = try #require(throws: ConflictError.self) { try both.context.save() }
        let properties = try #require(error.conflicts.first).properties
        #expect(properties.map(\.property) == ["title", "rating"])
        #expect(properties.allSatisfy { !$0.isContested })
        #expect(properties.map(\.base) == [.string("Macros"), .int(0)])
        #expect(properties.map(\.mine) == [.string("mine"), .int(0)])
        #expect(properties.map(\.theirs) == [.string("Macros"), .int(4)])
        #expect(both.mine.title == "Macros")
        #expect(both.mine.rating == 0)
        #expect(try both.stored()?.title == "Macros")
    }

    @Test func aContestedPropertyIsDecidedByThePolicy() throws {
        let policies: [(MergePolicy, String)] = [
            (.mergeStoreWins, "theirs"), (.mergeContextWins, "mine"),
            (
                .custom { conflict in
                    .string("\(conflict.base)+\(conflict.mine)+\(conflict.theirs)")
                }, "\"Macros\"+\"mine\"+\"theirs\""
            ),
            (
                .mergeStoreWins.merging(
                    Article.self, \.title, by: MergePolicy.Reducer { $0 + $1 + $2 }),
                "Macrosminetheirs"
            ),
        ]
        for (policy, expected) in policies {
            let both = try TwoContexts(policy)
            both.theirs.title = "theirs"
            both.theirs.rating = 1
            try both.other.save()
            both.mine.title = "mine"
            both.mine.body = "body"
            try both.context.save()
            let stored = try #require(try both.stored())
            #expect(stored.title == expected)
            #expect(stored.rating == 1)
            #expect(stored.body == "body")
            #expect(both.mine.snapshot == stored)
        }
    }

    @Test func whatAClosureThrowsRefusesTheSaveAndPutsBack() throws {
        struct Refusal: Error {}
        let both = try TwoContexts(.custom { _ in throw Refusal() })
        both.theirs.title = "theirs"
        try both.other.save()
        both.mine.title = "mine"
        #expect(throws: Refusal.self) { try both.context.save() }
        #expect(both.mine.title == "Macros")
        #expect(!both.context.hasChanges)
        #expect(try both.scratch.store.revision() == 2)
    }

    @Test func reducersMakeOneValueOfThree() throws {
        let cases: [(MergePolicy.Reducer<Int>, base: Int, mine: Int, theirs: Int, result: Int)] = [
            (.sum, 1, 2, 3, 4), (.sum, 3, 1, 4, 2), (.max, 1, 2, 4, 4), (.min, 3, 2, 4, 2),
        ]
        for (reducer, base, mine, theirs, result) in cases {
            let both = try TwoContexts(
                .mergeStoreWins.merging(Article.self, \.rating, by: reducer))
            both.theirs.rating = base
            try both.other.save()
            try both.context.refresh()
            both.theirs.rating = theirs
            try both.other.save()
            both.mine.rating = mine
            try both.context.save()
            #expect(try both.stored()?.rating == result)
        }
    }

    @Test func sumsThatTheTypeCannotHoldEndAtItsBounds() {
        let sum = MergePolicy.Reducer<Int8>.sum
        #expect(sum.merge(0, 100, 100) == .max)
        #expect(sum.merge(0, -100, -100) == .min)
        #expect(sum.merge(-5, 127, -10) == 122)
        #expect(MergePolicy.Reducer<UInt8>.sum.merge(9, 2, 3) == 0)
        #expect(
            MergePolicy.Reducer<[Int]>.union.merge([1, 2, 3], [1, 3, 4], [2, 3, 5]) == [3, 5, 4])
        #expect(MergePolicy.Reducer<Int>.sum.merge(.min, .max, .min) == .max)
        #expect(MergePolicy.Reducer<Double>.sum.merge(1, 2.5, 10) == 11.5)
    }

    @Test func theMergeIsValidatedAgain() throws {
        // They rate it 5, and we remove the body. Each change is valid by itself.
        let both = try TwoContexts(.mergeContextWins)
        both.theirs.body = "body"
        try both.other.save()
        try both.context.refresh()
        both.theirs.rating = 5
        try both.other.save()
        both.mine.body = nil
        let error = try #require(throws: ValidationError.self) { try both.context.save() }
        #expect(error.violations.map(\.message) == ["an article rated 5 needs a body"])
        #expect(try both.stored()?.body == "body")
        // The rollback shows the stored values at the revision to which the merge has moved.
        #expect(both.mine.rating == 5)
        #expect(both.mine.body == "body")
        #expect(!both.context.hasChanges)
    }

    @Test func keptChangesAreThoseFromBeforeTheMergeAndMergeAgain() throws {
        let both = try TwoContexts(.mergeContextWins)
        both.theirs.rating = 5
        both.theirs.body = "theirs"
        try both.other.save()
        both.mine.body = "mine"
        both.mine.title = ""
        #expect(throws: ValidationError.self) {
            try both.context.save(onFailure: .keepPending)
        }
        // The broken rule is found before the save reaches the writer.
        #expect(both.context.revision == 1)
        let observation = both.context.willCommit { _ in
            if both.context.revision > 1 { throw CancellationError() }
        }
        both.mine.title = "mine"
        #expect(throws: CancellationError.self) {
            try both.context.save(onFailure: .keepPending)
        }
        #expect(both.mine.title == "mine")
        #expect(both.mine.body == "mine")
        #expect(both.mine.rating == 0)
        #expect(both.mine.hasChanges)
        #expect(both.context.revision == 1)
        observation.cancel()
        try both.other.save()
        try both.context.save()
        let stored = try #require(try both.stored())
        #expect(stored.title == "mine")
        #expect(stored.body == "mine")
        #expect(stored.rating == 5)
        #expect(both.mine.snapshot == stored)
    }

    @Test func anEditThatFailsAfterAMergePutsItsBeginningBack() throws {
        let both = try TwoContexts(.mergeStoreWins)
        both.mine.body = "pending"
        both.theirs.rating = 3
        try both.other.save()
        var saves = 0
        let observation = both.context.willCommit { _ in
            saves += 1
            if saves == 2 { throw CancellationError() }
        }
        #expect(throws: CancellationError.self) {
            try both.context.edit { both.mine.title = "edit" }
        }
        observation.cancel()
        #expect(saves == 2)
        #expect(both.mine.title == "Macros")
        #expect(both.mine.body == "pending")
        #expect(both.mine.hasChanges)
        try both.context.save()
        let stored = try #require(try both.stored())
        #expect(stored.title == "Macros")
        #expect(stored.body == "pending")
        #expect(stored.rating == 3)
        #expect(both.mine.snapshot == stored)
    }

    @Test func refreshRebasesPendingChanges() throws {
        let both = try TwoContexts(.mergeStoreWins)
        both.theirs.title = "theirs"
        both.theirs.rating = 2
        try both.other.save()
        both.mine.title = "mine"
        both.mine.body = "mine"
        try both.context.refresh()
        #expect(both.mine.title == "theirs")
        #expect(both.mine.body == "mine")
        #expect(both.mine.rating == 2)
        #expect(both.mine.hasChanges)
        #expect(both.context.revision == 2)
        #expect(
            both.context.changes.changes.map { $0.properties.map(\.name) } == [["body"]])
        both.context.rollback()
        #expect(both.mine.body == nil)
        #expect(both.mine.title == "theirs")
        #expect(both.mine.rating == 2)
    }

    @Test func refreshMovesNothingWhenOneObjectCannotBeMerged() throws {
        struct Refusal: Error {}
        let both = try TwoContexts(
            .custom { conflict in
                if conflict.property == "name" { throw Refusal() }
                return conflict.mine
            })
        let notebook = try #require(both.mine.notebook)
        both.theirs.title = "theirs"
        try #require(both.theirs.notebook).name = "theirs"
        try both.other.save()
        both.mine.title = "mine"
        notebook.name = "mine"
        let before = both.context.changes
        #expect(throws: Refusal.self) { try both.context.refresh() }
        #expect(both.context.revision == 1)
        #expect(both.context.changes == before)
        #expect(both.mine.title == "mine")
        #expect(notebook.name == "mine")
    }

    @Test func aReferenceToAnUninsertedObjectSurvivesAMerge() throws {
        let both = try TwoContexts(.mergeStoreWins)
        both.theirs.rating = 1
        try both.other.save()
        both.mine.notebook = Notebook(name: "new")
        try both.context.save()
        #expect(both.mine.notebook?.name == "new")
        #expect(both.mine.rating == 1)
        #expect(try both.scratch.store.context().fetch(Notebook.self).count() == 2)
    }

    @Test func propertiesThatAreStampedAreNeverInConflict() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        context.mergePolicy = .custom { _ in throw CancellationError() }
        let other = scratch.store.context()
        scratch.now += 10
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
        try other.save()
        scratch.now += 10
        notebook.created = scratch.now
        try context.save()
        #expect(notebook.name == "theirs")
        #expect(notebook.updated == scratch.now)
    }

    @Test func aSaveThatNeverCatchesUpEndsAfterEightPreparations() throws {
        let both = try TwoContexts(.mergeContextWins)
        var rating = 0
        var preparations = 0
        let observation = both.context.willCommit { _ in
            preparations += 1
            rating = (rating + 1) % 5
            both.theirs.rating = rating
            try both.other.save()
        }
        both.mine.title = "mine"
        let error = try #require(throws: ConflictError.self) { try both.context.save() }
        observation.cancel()
        #expect(error.reason == .contention)
        #expect(preparations == 8)
        #expect(both.mine.title == "Macros")
        #expect(both.mine.rating == rating)
        try both.context.refresh()
        #expect(both.mine.rating == rating)
    }

    @Test func anAwaitedSaveMergesToo() async throws {
        let both = try TwoContexts(.mergeStoreWins)
        both.theirs.rating = 4
        _ = try await both.other.save()
        both.mine.title = "mine"
        let commit = try #require(try await both.context.save())
        #expect(commit.revision == 3)
        let stored = try #require(try both.stored())
        #expect(stored.title == "mine")
        #expect(stored.rating == 4)
    }
}
