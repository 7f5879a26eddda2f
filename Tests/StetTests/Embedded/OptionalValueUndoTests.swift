import StetTestSupport
import Testing

@testable import Stet

/// Undo of changes of optional embedded values, as a whole and by member.
@Suite struct OptionalValueUndoTests {
    private let works: Works
    private var store: Store { works.store }
    private var context: ManagedContext { works.context }
    private var mill: Plant { works.mill }

    init() throws { works = try Works() }

    private func names(_ commit: Commit?) -> [String] {
        commit?.changeSet.changes.flatMap { $0.properties.map(\.name) } ?? []
    }

    /// Checks that what is stored is whole.
    private func finish() throws {
        #expect(try store.verify().problems == [])
    }

    @Test func undoAndRedoSetAndRemoveTheValue() throws {
        let site = mill.site
        mill.site = nil
        try context.save()
        try works.edit { $0.note = "x" }
        try store.undo(author: "ann")
        #expect(try works.stored()?.site == site)
        #expect(try works.stored()?.note == "x")
        try store.redo(author: "ann")
        #expect(try works.stored()?.site == nil)
        try finish()
    }

    @Test func undoRestoresTheMembersThatTheCommitChanged() throws {
        mill.site?.city = "Chur"
        try context.save()
        try works.edit { $0.site?.street = "Lane" }
        #expect(names(try store.undo(author: "ann")) == ["site.city", "town"])
        #expect(try works.stored()?.site == Site(street: "Lane", city: "Bern"))
        try finish()
    }

    @Test func anUndoOfAMemberIsInConflictWithARemoval() throws {
        mill.site?.city = "Chur"
        mill.site?.code = "c"
        try context.save()
        try works.edit { $0.site = nil }
        let error = try #require(throws: UndoConflictError.self) { try store.undo(author: "ann") }
        #expect(error.conflicts.map(\.property) == ["site"])
        #expect(error.conflicts.map(\.before) == [Site.whole(city: "Bern")])
        #expect(error.conflicts.map(\.current) == [.null])
        #expect(error.conflicts.first?.later?.author == "bob")
        #expect(!"\(error)".contains("Bern"))
        try store.undo(author: "ann", policy: .skip)
        #expect(try works.stored()?.site == nil)
        try store.redo(author: "ann", policy: .skip)
        try finish()
    }

    @Test func anOverwritingUndoRestoresTheWholeValue() throws {
        let site = mill.site
        mill.site?.city = "Chur"
        try context.save()
        try works.edit { $0.site = nil }
        try store.undo(author: "ann", policy: .overwrite)
        #expect(try works.stored()?.site == site)
        try finish()
    }

    @Test func anUndoOfARemovalIsInConflictWithALaterValue() throws {
        mill.site = nil
        try context.save()
        try works.edit { $0.site = Site(city: "Genf") }
        let error = try #require(throws: UndoConflictError.self) { try store.undo(author: "ann") }
        #expect(error.conflicts.map(\.property) == ["site"])
        let value = Site.whole(city: "Basel", street: "x")
        try store.undo(author: "ann", policy: .resolve { _ in .set(["site": value]) })
        #expect(try works.stored()?.site == Site(street: "x", city: "Basel"))
        try finish()
    }

    @Test func anUndoOfAValueIsInConflictWithALaterMember() throws {
        try works.edit { $0.site = nil }
        try context.refresh()
        mill.site = Site(city: "Chur")
        try context.save()
        try works.edit { $0.site?.code = "b" }
        let error = try #require(throws: UndoConflictError.self) { try store.undo(author: "ann") }
        #expect(error.conflicts.map(\.property) == ["site"])
        #expect(error.conflicts.first?.later?.author == "bob")
        try store.undo(author: "ann", policy: .overwrite)
        #expect(try works.stored()?.site == nil)
        try finish()
    }

    @Test func anAnswerThatLeavesAPartOfAValueIsRefused() throws {
        mill.site = nil
        try context.save()
        try works.edit { $0.site = Site(city: "Genf") }
        for answer: [String: Value] in [
            ["site": .bool(true)], ["site": .dictionary([.string("city"): .int(1)])],
            ["site": .dictionary([:])],
        ] {
            #expect(throws: UndoConflictError.self) {
                try store.undo(author: "ann", policy: .resolve { _ in .set(answer) })
            }
        }
        try works.edit { $0.site = nil }
        try works.edit { $0.site = Site(city: "Zug") }
        try context.refresh()
        mill.note = "x"
        try context.save()
        try works.edit { plant in
            plant.note = "y"
            plant.site = nil
        }
        let error = try #require(throws: (any Error).self) {
            try store.undo(
                author: "ann", policy: .resolve { _ in .set(["site.city": .string("Thun")]) })
        }
        #expect(error is ValidationError, "\(error)")
        #expect(try works.stored()?.site == nil)
        try finish()
    }

    @Test func anUndoThatKeepsAUniqueMemberKeepsTheValue() throws {
        mill.site?.code = "a"
        try context.save()
        mill.site = nil
        try context.save()
        let yard = store.context()
        try #require(try yard.object(Plant.self, id: works.yard.id)).site = Site(
            city: "Chur", code: "a")
        try yard.save()
        try store.undo(author: "ann", policy: .skip)
        #expect(try works.stored()?.site == nil)
        try finish()
    }
}
