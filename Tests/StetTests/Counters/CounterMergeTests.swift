import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Counters that two contexts have incremented.
@Suite struct CounterMergeTests {
    private static let policies: [MergePolicy] = [
        .fail, .mergeStoreWins, .mergeContextWins, .custom { _ in throw Refusal() },
        .mergeContextWins.merging(Tally.self, \.count, by: .max),
    ]
    private struct Refusal: Error {}

    @Test(arguments: policies)
    func incrementsOfBothSidesAreAddedUp(policy: MergePolicy) throws {
        let both = try TwoTallies(policy)
        both.theirs.count += 1
        try both.other.save()
        both.mine.count += 1
        let commit = try #require(try both.context.save())
        let change = try #require(commit.changeSet.changes.first?["count"])
        #expect(change.old == .int(1))
        #expect(change.new == .int(2))
        #expect(both.mine.count == 2)
        #expect(!both.mine.hasChanges)
        #expect(try both.stored()?.count == 2)
    }

    @Test(arguments: policies)
    func anAssignmentIsAnIncrementByTheDifference(policy: MergePolicy) throws {
        let both = try TwoTallies(policy)
        both.theirs.count = 40
        try both.other.save()
        both.mine.count = 7
        both.mine.count = -3
        try both.context.save()
        #expect(try both.stored()?.count == 37)
    }

    @Test func aRefreshShowsThePendingIncrementOnTopOfTheOthers() throws {
        let both = try TwoTallies()
        both.theirs.count += 5
        try both.other.save()
        both.mine.count += 1
        try both.context.refresh()
        #expect(both.mine.count == 6)
        #expect(both.mine.hasChanges)
        both.context.rollback()
        #expect(both.mine.count == 5)
    }

    @Test func anIncrementThatIsUndoneByAnotherIsNoChange() throws {
        let both = try TwoTallies()
        both.theirs.count += 5
        try both.other.save()
        both.mine.count += 1
        both.mine.count -= 1
        #expect(try both.context.save() == nil)
        #expect(try both.stored()?.count == 5)
    }

    // MARK: Beside other changes

    @Test(arguments: [true, false])
    func underFailAnObjectIsMergedOfWhichOneSideHasOnlyCounted(countsMine: Bool) throws {
        let both = try TwoTallies()
        let (counted, edited) = countsMine ? (both.mine, both.theirs) : (both.theirs, both.mine)
        counted.count += 1
        edited.title = "edited"
        edited.count += 2
        try both.other.save()
        try both.context.save()
        let stored = try #require(try both.stored())
        #expect(stored.title == "edited")
        #expect(stored.count == 3)
    }

    @Test func underFailOtherChangesOfBothSidesAreAConflictAndNothingIsCounted() throws {
        let both = try TwoTallies()
        both.theirs.title = "theirs"
        both.theirs.count += 1
        try both.other.save()
        both.mine.level += 1
        both.mine.title = "mine"
        let error = try #require(throws: ConflictError.self) {
            try both.context.save(onFailure: .keepPending)
        }
        #expect(error.reason == .changed)
        #expect(both.mine.level == 1)
        #expect(both.mine.count == 0)
        #expect(both.mine.title == "mine")
        let stored = try #require(try both.stored())
        #expect(stored.count == 1)
        #expect(stored.level == 0)
    }

    @Test func theOtherPropertiesFollowThePolicy() throws {
        for (policy, title) in [
            (MergePolicy.mergeStoreWins, "theirs"), (.mergeContextWins, "mine"),
        ] {
            let both = try TwoTallies(policy)
            both.theirs.title = "theirs"
            both.theirs.count += 5
            try both.other.save()
            both.mine.title = "mine"
            both.mine.count += 1
            try both.context.save()
            let stored = try #require(try both.stored())
            #expect(stored.title == title)
            #expect(stored.count == 6)
        }
    }

    @Test func anIncrementOfADeletedObjectFollowsThePolicy() throws {
        let both = try TwoTallies()
        both.other.delete(both.theirs)
        try both.other.save()
        both.mine.count += 1
        #expect(throws: ConflictError.self) { try both.context.save() }
        let revived = try TwoTallies(.mergeContextWins)
        revived.other.delete(revived.theirs)
        try revived.other.save()
        revived.mine.count += 1
        try revived.context.save()
        #expect(try revived.stored()?.count == 1)
    }

    // MARK: Sums that are not valid

    @Test func aSumThatBreaksARuleIsAViolationAndNothingIsSaved() throws {
        let both = try TwoTallies()
        both.theirs.count = 600_000
        try both.other.save()
        both.mine.count = 600_000
        let error = try #require(throws: ValidationError.self) {
            try both.context.save(onFailure: .keepPending)
        }
        #expect(error.violations.map(\.code) == [.tooLarge])
        #expect(error.violations.map(\.property) == ["count"])
        #expect(both.mine.count == 600_000)
        #expect(both.mine.hasChanges)
        #expect(try both.stored()?.count == 600_000)
    }

    @Test(arguments: policies)
    func aSumOutsideTheTypeIsAConflictUnderEveryPolicy(policy: MergePolicy) throws {
        let both = try TwoTallies(policy)
        both.theirs.level = 100
        try both.other.save()
        both.mine.level = 100
        both.mine.title = "mine"
        let error = try #require(throws: ConflictError.self) {
            try both.context.save(onFailure: .keepPending)
        }
        #expect(error.reason == .overflow)
        #expect(error.errorCode == "conflict.overflow")
        let conflict = try #require(
            error.conflicts.first?.properties.first { $0.property == "level" })
        #expect(conflict.base == .int(0))
        #expect(conflict.mine == .int(100))
        #expect(conflict.theirs == .int(100))
        #expect(error.rejected.changes.first?["level"]?.new == .int(100))
        // Nothing is lost on either side.
        #expect(both.mine.level == 100)
        #expect(both.mine.title == "mine")
        #expect(try both.stored()?.level == 100)
        #expect(try both.stored()?.title == "")
        both.mine.level = 27
        try both.context.save()
        #expect(try both.stored()?.level == 127)
    }

    // MARK: Change sets

    @Test func anAppliedChangeSetAddsItsIncrements() throws {
        let both = try TwoTallies()
        both.theirs.count += 1
        try both.other.save()
        both.mine.count += 1
        both.mine.level = 100
        let rejected = both.context.changes
        both.context.rollback()
        try both.context.refresh()
        try both.context.apply(rejected)
        #expect(both.mine.count == 2)
        #expect(both.mine.level == 100)
        let error = try #require(throws: ConflictError.self) { try both.context.apply(rejected) }
        #expect(error.reason == .overflow)
        #expect(both.mine.count == 2)
        #expect(both.mine.level == 100)
        try both.context.save()
        #expect(try both.stored()?.count == 2)
    }

    // MARK: Asynchronous saves

    @MainActor @Test func laterIncrementsAreAddedToTheSaveThatWasPreparedAgain() async throws {
        let both = try TwoTallies()
        both.theirs.count += 10
        both.theirs.level = 100
        try both.saveOther()
        both.mine.count += 1
        let (context, mine) = (both.context, both.mine)
        let hold = HeldWriter(both.store.file.environment)
        let save = Task { @MainActor in try await context.save("flight") }
        await until { context.core.saves.inFlight != nil }
        mine.count += 1
        hold.release()
        _ = try await save.value
        #expect(mine.count == 12)
        #expect(mine.hasChanges)
        try await context.save("later")
        #expect(try both.stored()?.count == 12)
    }

    @MainActor @Test func laterIncrementsThatOverflowAreReportedAndNotSaved() async throws {
        let both = try TwoTallies()
        both.theirs.level = 100
        try both.saveOther()
        both.mine.level += 10
        let (context, mine) = (both.context, both.mine)
        let hold = HeldWriter(both.store.file.environment)
        let save = Task { @MainActor in try await context.save("flight") }
        await until { context.core.saves.inFlight != nil }
        mine.level += 20
        hold.release()
        _ = try await save.value
        let error = await #expect(throws: ConflictError.self) { try await context.save("later") }
        #expect(error?.reason == .overflow)
        #expect(error?.rejected.changes.first?["level"]?.new == .int(30))
        context.rollback()
        #expect(mine.level == 110)
        #expect(try both.stored()?.level == 110)
    }
}
