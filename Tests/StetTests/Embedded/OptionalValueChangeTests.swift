import Foundation
import StetTestSupport
import Testing

@testable import Stet

/// Changes of optional embedded values: merges, history, events, redactions, drafts.
@Suite struct OptionalValueChangeTests {
    private let works: Works
    private var store: Store { works.store }
    private var context: ManagedContext { works.context }
    private var mill: Plant { works.mill }

    init() throws { works = try Works() }

    private struct Contested: Error, Equatable {
        let property: String
        let base: Value
        let mine: Value
        let theirs: Value
        init(_ conflict: Conflict.Property) {
            property = conflict.property
            (base, mine, theirs) = (conflict.base, conflict.mine, conflict.theirs)
        }
    }

    /// Checks that what is stored is whole.
    private func finish() throws {
        #expect(try store.verify().problems == [])
    }

    // MARK: Merges

    @Test func editsOfDifferentMembersMerge() throws {
        context.mergePolicy = .custom { throw Contested($0) }
        try works.edit { $0.site?.code = "b" }
        mill.site?.city = "Chur"
        try context.save()
        #expect(mill.site == Site(street: "Mill street", city: "Chur", code: "b"))
        #expect(try works.stored()?.site == mill.site)
        try finish()
    }

    @Test func aRemovalAndAnEditOfAMemberAreAConflictOfTheValue() throws {
        try works.edit { $0.site?.city = "Genf" }
        mill.site = nil
        mill.note = "mine"
        context.mergePolicy = .custom { throw Contested($0) }
        let error = try #require(throws: Contested.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error.property == "site")
        #expect(error.base == Site.whole(city: "Bern"))
        #expect(error.mine == .null)
        #expect(error.theirs == Site.whole(city: "Genf"))
        context.mergePolicy = .mergeStoreWins
        try context.save()
        #expect(mill.site?.city == "Genf")
        #expect(mill.note == "mine")
        try finish()
    }

    @Test func anEditOfAMemberAndARemovalAreAConflictOfTheValue() throws {
        try works.edit { $0.site = nil }
        mill.site?.city = "Chur"
        context.mergePolicy = .fail
        let error = try #require(throws: ConflictError.self) {
            try context.save(onFailure: .keepPending)
        }
        let contested = error.conflicts.flatMap(\.properties).filter(\.isContested)
        #expect(contested.map(\.property) == ["site"])
        let other = store.context()
        let plant = try #require(try other.object(Plant.self, id: mill.id))
        plant.site = Site(city: "Zug")
        let since = try other.conflict(of: plant, since: 1)
        #expect(since?.properties.filter(\.isContested).map(\.property) == ["site"])
        #expect(since?.properties.first?.theirs == .null)
        context.mergePolicy = .mergeContextWins
        try context.save()
        #expect(try works.stored()?.site == Site(street: "Mill street", city: "Chur"))
        try finish()
    }

    @Test func aClosureDecidesAboutTheValue() throws {
        try works.edit { $0.site = nil }
        mill.site?.city = "Chur"
        let result = Site.whole(city: "Basel", street: "x")
        context.mergePolicy = .custom { conflict in
            if conflict.property != "site" { throw Contested(conflict) }
            return result
        }
        try context.save()
        #expect(mill.site == Site(street: "x", city: "Basel"))
        try finish()
    }

    @Test func twoValuesThatAreSetAreAConflictUnlessTheyAreEqual() throws {
        let theirs = Site(street: "a", city: "Genf")
        try works.edit { $0.site = nil }
        try context.refresh()
        try works.edit { $0.site = theirs }
        mill.site = Site(street: "a", city: "Chur")
        context.mergePolicy = .mergeStoreWins
        try context.save()
        #expect(mill.site == theirs)
        try works.edit { $0.site = nil }
        try context.refresh()
        try works.edit { $0.site = theirs }
        mill.site = theirs
        context.mergePolicy = .custom { throw Contested($0) }
        try context.save()
        #expect(try works.stored()?.site == theirs)
        try finish()
    }

    @Test func aChangeSetIsAppliedAsAWholeOrByMember() throws {
        mill.site?.city = "Chur"
        let member = context.changes
        context.rollback()
        mill.site = nil
        let removal = context.changes
        context.rollback()

        try works.edit { $0.site?.street = "Lane" }
        let other = store.context()
        other.mergePolicy = .mergeContextWins
        try other.apply(member)
        let plant = try #require(try other.object(Plant.self, id: mill.id))
        #expect(plant.site == Site(street: "Lane", city: "Chur"))
        other.rollback()
        try other.apply(removal)
        #expect(plant.site == nil)
        try other.save()
        #expect(throws: ConflictError.self) { try other.apply(member) }
        #expect(plant.site == nil)
        other.mergePolicy = .mergeStoreWins
        try other.apply(member)
        #expect(try other.save() == nil)
        try finish()
    }

    @Test func aChangeSetWithAPartOfAValueIsRefused() throws {
        mill.site = nil
        var removal = context.changes
        removal.changes[0].properties.removeAll { $0.name != "site" && $0.name != "site.city" }
        removal.changes[0].properties[1].new = .string("Genf")
        let first = try #require(throws: ChangeSetError.self) { try store.context().apply(removal) }
        #expect(first.problems.map(\.property) == ["site.city"])
        removal.changes[0].properties = [
            PropertyChange(name: "site", old: .bool(true), new: .bool(false))
        ]
        let second = try #require(throws: ChangeSetError.self) {
            try store.context().apply(removal)
        }
        #expect(second.problems.map(\.property) == ["site"])
    }

    // MARK: History

    @Test func historyNamesTheValueAndTheMember() throws {
        mill.site?.city = "Chur"
        try context.save()
        #expect(try store.blame(mill, \.site?.city)?.revision == 2)
        #expect(try store.blame(mill, \.site?.street)?.revision == 1)
        #expect(try store.blame(Plant.self, id: mill.id)["site"]?.revision == 1)
        try works.edit { $0.site = nil }
        let difference = try store.diff(from: .revision(2), to: .latest)
        #expect(difference.changes.first?["site"]?.new == .null)
        #expect(difference.changes.first?["site.city"]?.old == .string("Chur"))
    }

    @Test func aChangeHasTheValueWhereItIsKnown() throws {
        let site = mill.site
        mill.site?.city = "Chur"
        let edit = try #require(try context.save()?.changes(of: Plant.self).first)
        #expect(edit.new[\.site?.city] == "Chur")
        #expect((edit.new[\.site] as Site??) == nil)
        mill.site = nil
        let removal = try #require(try context.save()?.changes(of: Plant.self).first)
        let old = try #require(removal.old[\.site])
        #expect(old == Site(street: "Mill street", city: "Chur"))
        let new = try #require(removal.new[\.site])
        #expect(new == nil)
        mill.site = site
        let setting = try #require(try context.save()?.changes(of: Plant.self).first)
        #expect(try #require(setting.new[\.site]) == site)
        #expect(try #require(setting.old[\.site]) == nil)
    }

    @Test func anEventFollowsTheValueAndItsPresence() async throws {
        var changes = store.changes(of: Plant.self).properties(\.site).makeAsyncIterator()
        mill.note = "x"
        try await context.save()
        mill.site = nil
        try await context.save()
        mill.note = "y"
        try await context.save()
        mill.site = Site(city: "Chur")
        try await context.save()
        mill.site?.code = "c"
        try await context.save()
        let removal = try #require(try await changes.next()?.changes.first)
        #expect(removal.changedProperties.contains("site"))
        let setting = try #require(try await changes.next()?.changes.first)
        #expect(setting.new[\.site?.city] == "Chur")
        let code = try #require(try await changes.next()?.changes.first)
        #expect(code.changedProperties == ["site.code"])
    }

    @Test func aRedactionLeavesTheValueWithEmptyMembers() throws {
        mill.site = Site(street: "secret road", city: "secret town", code: "s")
        try context.save()
        mill.site = nil
        try context.save()
        try store.requestRedaction(of: Plant.self, id: mill.id, \.site?.city, \.site?.code)
            .confirm()
        let then = try #require(try store.view(asOf: 2).object(Plant.self, id: mill.id))
        #expect(then.site == Site(street: "secret road", city: ""))
        try store.requestRedaction(of: Plant.self, id: mill.id, \.site).confirm()
        let journal = try store.journal(from: .revision(2))[0].changes(of: Plant.self).first
        #expect(
            journal?.redactedProperties
                == ["site.street", "site.city", "site.code"])
        let redacted = try #require(journal)
        #expect((redacted.new[\.site] as Site??) == nil)
        #expect(try works.stored()?.site == nil)
        try finish()
    }

    @Test func aDraftKeepsTheValue() throws {
        mill.site = nil
        works.yard.site = Site(city: "Chur")
        try store.drafts.save(context, as: "d")
        context.rollback()
        let other = store.context()
        try other.apply(try store.drafts.changes("d"))
        #expect(try other.object(Plant.self, id: mill.id)?.site == nil)
        #expect(try other.object(Plant.self, id: works.yard.id)?.site?.city == "Chur")
    }
}
