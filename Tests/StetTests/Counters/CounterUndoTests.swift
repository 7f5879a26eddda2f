import Stet
import StetStore
import StetTestModels
import Testing

/// Undo, redo and revert of increments.
@Suite struct CounterUndoTests {
    private func increment(
        _ both: TwoTallies, by number: Int, label: String? = nil
    ) throws {
        both.mine.count += number
        try both.context.save(label)
        try both.other.refresh()
    }

    private func incrementElsewhere(_ both: TwoTallies, by number: Int) throws {
        both.theirs.count += number
        try both.other.save()
        try both.context.refresh()
    }

    @Test func anUndoTakesBackTheIncrementAndARedoAddsItAgain() throws {
        let both = try TwoTallies()
        try increment(both, by: 1)
        try incrementElsewhere(both, by: 5)
        try both.store.undo(author: "me")
        #expect(try both.stored()?.count == 5)
        try both.other.refresh()
        try incrementElsewhere(both, by: 10)
        try both.store.redo(author: "me")
        #expect(try both.stored()?.count == 16)
        try both.store.undo(author: "other")
        #expect(try both.stored()?.count == 6)
    }

    /// The value rule would find the former value, and do nothing.
    @Test func anUndoCountsAlsoWhenTheValueHappensToBeTheFormerOne() throws {
        let both = try TwoTallies()
        try increment(both, by: 3)
        try incrementElsewhere(both, by: -3)
        try both.store.undo(author: "me")
        #expect(try both.stored()?.count == -3)
    }

    @Test func aGroupIsTakenBackAsOne() throws {
        let both = try TwoTallies()
        both.context.undoGroup = UndoGroup()
        try increment(both, by: 1)
        try incrementElsewhere(both, by: 100)
        try increment(both, by: 2)
        try both.store.undo(author: "me")
        #expect(try both.stored()?.count == 100)
        try both.store.redo(author: "me")
        #expect(try both.stored()?.count == 103)
    }

    @Test func aRevertTakesBackOneCommitAndIsItselfAnIncrement() throws {
        let both = try TwoTallies()
        try incrementElsewhere(both, by: 5)
        let revision = try both.store.revision()
        try increment(both, by: 1)
        try both.store.revert(revision, author: "third")
        #expect(try both.stored()?.count == 1)
        try both.context.refresh()
        try increment(both, by: 1)
        try both.store.undo(author: "third")
        #expect(try both.stored()?.count == 7)
    }

    @Test func thePlanOfAnUndoShowsTheSum() throws {
        let both = try TwoTallies()
        try increment(both, by: 1)
        try incrementElsewhere(both, by: 5)
        let plan = try #require(try both.store.previewUndo(author: "me"))
        let change = try #require(plan.changes.changes.first?["count"])
        #expect(change.old == .int(6))
        #expect(change.new == .int(5))
        #expect(plan.conflicts == [])
    }

    @Test func otherPropertiesOfTheCommitConflictAsEver() throws {
        let both = try TwoTallies()
        both.mine.title = "mine"
        try increment(both, by: 1)
        both.theirs.title = "theirs"
        try incrementElsewhere(both, by: 5)
        let error = try #require(throws: UndoConflictError.self) {
            try both.store.undo(author: "me")
        }
        #expect(error.conflicts.map(\.property) == ["title"])
        #expect(try both.stored()?.count == 6)
        try both.store.undo(author: "me", policy: .skip)
        #expect(try both.stored()?.count == 5)
        #expect(try both.stored()?.title == "theirs")
    }

    // MARK: Insertions and deletions

    @Test func anInsertionThatOthersHaveCountedIsNotUndoneUnasked() throws {
        let both = try TwoTallies()
        try incrementElsewhere(both, by: 5)
        let error = try #require(throws: UndoConflictError.self) {
            try both.store.undo(author: "me")
        }
        #expect(error.conflicts.map(\.kind) == [.modified])
        try both.store.undo(author: "me", policy: .overwrite)
        #expect(try both.stored() == nil)
        try both.store.redo(author: "me")
        #expect(try both.stored()?.count == 5)
    }

    @Test func aDeletionThatOthersHaveRevertedLeavesTheCounter() throws {
        let both = try TwoTallies()
        try increment(both, by: 3)
        both.context.delete(both.mine)
        try both.context.save()
        let deletion = try both.store.revision()
        try both.store.revert(deletion, author: "other")
        let id = both.mine.id
        try both.store.edit("more", author: "other") { context in
            try context.object(Tally.self, id: id)?.count += 5
        }
        #expect(try both.store.undo(author: "me") == nil)
        #expect(try both.stored()?.count == 8)
    }

    // MARK: Sums that are not valid

    @Test func anUndoThatBreaksARuleIsRefused() throws {
        let both = try TwoTallies()
        try increment(both, by: -600_000)
        try incrementElsewhere(both, by: 1_000_000)
        try incrementElsewhere(both, by: 500_000)
        let error = try #require(throws: ValidationError.self) {
            try both.store.undo(author: "me")
        }
        #expect(error.violations.map(\.property) == ["count"])
        #expect(try both.stored()?.count == 900_000)
    }

    @Test func anUndoThatOverflowsIsAConflictThatCannotBeOverwritten() throws {
        for policy in [UndoPolicy.fail, .overwrite, .resolve { _ in .restore }] {
            let both = try counted(to: 100)
            let error = try #require(throws: UndoConflictError.self) {
                try both.store.undo(author: "me", policy: policy)
            }
            let conflict = try #require(error.conflicts.first)
            #expect(conflict.kind == .overflow)
            #expect(conflict.property == "level")
            #expect(conflict.current == .int(100))
            #expect(conflict.later?.author == "other")
            #expect(
                conflict.description
                    == "level of Tally \(both.mine.id) would leave the range of its type")
            #expect(try both.stored()?.level == 100)
        }
    }

    @Test func anUndoThatOverflowsCanBeSkippedOrAnswered() throws {
        let policies: [(UndoPolicy, Int8)] = [
            (.skip, 100), (.resolve { _ in .set(["level": .int(127)]) }, 127),
        ]
        for (policy, level) in policies {
            let both = try counted(to: 100)
            try both.store.undo(author: "me", policy: policy)
            #expect(try both.stored()?.level == level)
            #expect(try both.stored()?.title == "")
        }
    }

    /// A tally that one has given a title and counted down, and another one up from there.
    private func counted(to level: Int8) throws -> TwoTallies {
        let both = try TwoTallies()
        both.mine.title = "mine"
        both.mine.level = -100
        try both.context.save()
        try both.other.refresh()
        for level in [0, level] {
            both.theirs.level = level
            try both.other.save()
        }
        return both
    }
}
