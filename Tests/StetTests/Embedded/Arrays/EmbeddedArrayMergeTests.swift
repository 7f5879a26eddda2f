import Foundation
import Stet
import StetTestSupport
import Testing

/// Arrays of embedded values that two sides have changed: by element if elements have an identity.
@Suite struct EmbeddedArrayMergeTests {
    private let desk: OrderDesk
    private var order: PurchaseOrder { desk.order }

    init() throws {
        desk = try OrderDesk()
        desk.context.mergePolicy = .custom { throw Contested($0.property) }
    }

    private struct Contested: Error, Equatable {
        let property: String
        init(_ property: String) { self.property = property }
    }

    private var articles: [String] { order.lines.map(\.article) }

    private func saveMerged() throws {
        try desk.context.save(onFailure: .keepPending)
        #expect(try desk.stored()?.lines == order.lines)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func changesOfDifferentElementsMerge() throws {
        try desk.edit { $0.lines[0].amount = 9 }
        order.lines[2].note = "sharp"
        try saveMerged()
        #expect(order.lines.map(\.amount) == [9, 1, 1])
        #expect(order.lines.map(\.note) == [nil, nil, "sharp"])
    }

    @Test func changesOfDifferentMembersMerge() throws {
        try desk.edit { $0.lines[0].amount = 9 }
        order.lines[0].note = "sharp"
        try saveMerged()
        #expect(order.lines[0].amount == 9)
        #expect(order.lines[0].note == "sharp")
    }

    @Test func insertionsAndRemovalsMerge() throws {
        try desk.edit {
            $0.lines.insert(OrderLine(article: "key"), at: 1)
            $0.lines.removeLast()
        }
        order.lines.remove(at: 1)
        order.lines.append(OrderLine(article: "cap"))
        try saveMerged()
        #expect(articles == ["nut", "key", "cap"] || articles == ["nut", "cap", "key"])
    }

    @Test func theOrderOfTheSideThatMovedElementsCounts() throws {
        try desk.edit { $0.lines.append(OrderLine(article: "key")) }
        order.lines.reverse()
        try saveMerged()
        #expect(articles == ["saw", "key", "bolt", "nut"])
        try desk.edit { $0.lines.reverse() }
        order.lines[0].amount = 3
        try saveMerged()
        #expect(articles == ["nut", "bolt", "key", "saw"])
        #expect(order.lines[3].amount == 3)
    }

    @Test func aPolicyForTheStoreKeepsTheOrderOfTheOnlySideThatMovedElements() throws {
        desk.context.mergePolicy = .mergeStoreWins
        try desk.edit { $0.lines.append(OrderLine(article: "key")) }
        order.lines.reverse()
        try saveMerged()
        #expect(articles == ["saw", "key", "bolt", "nut"])
    }

    @Test func twoOrdersAreNoConflict() throws {
        try desk.edit { $0.lines.reverse() }
        order.lines.swapAt(0, 1)
        desk.context.mergePolicy = .mergeContextWins
        try saveMerged()
        #expect(articles == ["bolt", "nut", "saw"])
        try desk.edit { $0.lines.reverse() }
        order.lines.swapAt(0, 1)
        desk.context.mergePolicy = .mergeStoreWins
        try saveMerged()
        #expect(articles == ["saw", "nut", "bolt"])
    }

    @Test func aMemberThatBothSidesChangedIsContested() throws {
        try desk.edit {
            $0.lines[0].amount = 9
            $0.lines[1].note = "theirs"
        }
        order.lines[0].amount = 8
        order.lines[2].note = "mine"
        #expect(throws: Contested("lines")) {
            try desk.context.save(onFailure: .keepPending)
        }
        desk.context.mergePolicy = .mergeContextWins
        try saveMerged()
        #expect(order.lines.map(\.amount) == [8, 1, 1])
        #expect(order.lines.map(\.note) == [nil, "theirs", "mine"])
    }

    @Test func aRemovedElementThatTheOtherSideChangedIsContested() throws {
        try desk.edit { $0.lines.remove(at: 0) }
        order.lines[0].amount = 8
        order.lines[1].amount = 5
        #expect(throws: Contested("lines")) {
            try desk.context.save(onFailure: .keepPending)
        }
        desk.context.mergePolicy = .mergeStoreWins
        try saveMerged()
        #expect(articles == ["bolt", "saw"])
        #expect(order.lines.map(\.amount) == [5, 1])
    }

    @Test func elementsWithoutIdentityAreMergedAsAWhole() throws {
        try desk.edit { $0.weights = [Measurement(value: 1)] }
        order.weights = [Measurement(value: 2)]
        #expect(throws: Contested("weights")) {
            try desk.context.save(onFailure: .keepPending)
        }
        desk.context.mergePolicy = .mergeContextWins
        try desk.context.save()
        #expect(try desk.stored()?.weights == [Measurement(value: 2)])
    }

    @Test func twoElementsWithOneIdentityAreMergedAsAWhole() throws {
        try desk.edit { $0.lines[0].amount = 9 }
        order.lines.append(order.lines[2])
        #expect(throws: Contested("lines")) {
            try desk.context.save(onFailure: .keepPending)
        }
    }

    @Test func anAppliedChangeSetMergesByElement() throws {
        order.lines[1].note = "blue"
        let changes = desk.context.changes
        desk.context.rollback()
        try desk.edit { $0.lines[0].amount = 9 }
        try desk.context.refresh()
        try desk.context.apply(changes)
        try saveMerged()
        #expect(order.lines.map(\.amount) == [9, 1, 1])
        #expect(order.lines[1].note == "blue")
    }

    // MARK: Undo

    @Test func undoTakesBackTheElementsOfItsCommit() throws {
        order.lines[0].amount = 4
        order.lines.append(OrderLine(article: "cap"))
        let commit = try #require(try desk.context.save())
        try desk.edit {
            $0.lines[1].note = "later"
            $0.lines.insert(OrderLine(article: "key"), at: 0)
        }
        try desk.store.revert(commit.revision)
        let stored = try #require(try desk.stored())
        #expect(stored.lines.map(\.article) == ["key", "nut", "bolt", "saw"])
        #expect(stored.lines.map(\.amount) == [1, 1, 1, 1])
        #expect(stored.lines.map(\.note) == [nil, nil, "later", nil])
        #expect(try desk.store.verify().problems == [])
    }

    @Test func undoOfAnElementThatWasChangedSinceIsAConflict() throws {
        order.lines[0].amount = 4
        order.lines[2].amount = 6
        let commit = try #require(try desk.context.save())
        try desk.edit {
            $0.lines[0].amount = 5
            $0.lines[1].note = "later"
        }
        let error = try #require(throws: UndoConflictError.self) {
            try desk.store.revert(commit.revision)
        }
        #expect(error.conflicts.map(\.property) == ["lines"])
        try desk.store.revert(commit.revision, policy: .overwrite)
        let stored = try #require(try desk.stored())
        #expect(stored.lines.map(\.amount) == [1, 1, 1])
        #expect(stored.lines[1].note == "later")
    }
}
