import Foundation
import Stet
import StetTestSupport
import Testing

/// Changes of embedded values: merges, undo, history, events, redactions, drafts.
@Suite struct EmbeddedChangeTests {
    private let town: Village
    private var store: Store { town.store }
    private var ann: Resident { town.ann }

    init() throws { town = try Village() }

    private struct Contested: Error, Equatable {
        let property: String
        init(_ property: String) { self.property = property }
    }

    /// Edits the resident in another context, and saves.
    private func edit(_ author: String, _ body: (Resident) -> Void) throws {
        let context = store.context(author: author)
        body(try #require(try context.object(Resident.self, id: ann.id)))
        try context.save()
    }

    @Test func editsOfDifferentMembersMerge() throws {
        town.context.mergePolicy = .custom { conflict in throw Contested(conflict.property) }
        try edit("bob") { $0.address.zip = "3000" }
        ann.address.city = "Chur"
        let commit = try #require(try town.context.save())
        let names = commit.changeSet.changes.flatMap { $0.properties.map(\.name) }
        #expect(names == ["address.city"])
        #expect(ann.address.zip == "3000")
        #expect(ann.address.city == "Chur")
        #expect(try town.stored()?.address == ann.address)
        #expect(try store.verify().problems == [])
    }

    @Test func editsOfOneMemberConflict() throws {
        try edit("bob") { $0.address.city = "Genf" }
        ann.address.city = "Chur"
        ann.address.zip = "7000"
        #expect(throws: Contested("address.city")) {
            town.context.mergePolicy = .custom { throw Contested($0.property) }
            try town.context.save(onFailure: .keepPending)
        }
        town.context.mergePolicy = .mergeStoreWins
        try town.context.save()
        #expect(ann.address.city == "Genf")
        #expect(ann.address.zip == "7000")
    }

    @Test func aReducerDecidesAboutAMember() throws {
        let reducer = MergePolicy.Reducer<String> { _, mine, theirs in "\(theirs) and \(mine)" }
        town.context.mergePolicy = .mergeStoreWins.merging(
            Resident.self, \.address.city, by: reducer)
        try edit("bob") { $0.address.city = "Genf" }
        ann.address.city = "Chur"
        try town.context.save()
        #expect(try town.stored()?.address.city == "Genf and Chur")
    }

    @Test func countersInsideAddUp() throws {
        try edit("bob") { $0.contact.calls += 2 }
        ann.contact.calls += 3
        try town.context.save()
        #expect(ann.contact.calls == 5)
        #expect(try town.stored()?.contact.calls == 5)
    }

    @Test func undoRestoresTheMembersThatTheCommitChanged() throws {
        ann.address.city = "Chur"
        try town.context.save()
        try edit("bob") { $0.address.zip = "3000" }
        let commit = try #require(try store.undo(author: "ann"))
        let names = commit.changeSet.changes.flatMap { $0.properties.map(\.name) }
        #expect(names.contains("address.city"))
        #expect(!names.contains("address.zip"))
        #expect(try town.stored()?.address.city == "Bern")
        #expect(try town.stored()?.address.zip == "3000")
        try store.redo(author: "ann")
        #expect(try town.stored()?.address.city == "Chur")
    }

    @Test func historyNamesTheMember() throws {
        ann.address.city = "Chur"
        try town.context.save()
        try edit("bob") { $0.note = "x" }
        let city = try #require(try store.blame(ann, \.address.city))
        #expect(city.author == "ann")
        #expect(city.revision == 2)
        let address = try #require(try store.blame(ann, \.address))
        #expect(address.revision == 2)
        #expect(try store.blame(Resident.self, id: ann.id)["address.zip"]?.revision == 1)
        let difference = try store.diff(from: .revision(1), to: .latest)
        #expect(difference.changes.first?["address.city"]?.new == .string("Chur"))
    }

    @Test func anEventHasTheChangedMembers() async throws {
        var changes = store.changes(of: Resident.self).properties(\.address)
            .makeAsyncIterator()
        var whole = store.changes(of: Resident.self).properties(\.address.city).withSnapshots()
            .makeAsyncIterator()
        ann.note = "x"
        try await town.context.save()
        ann.address.zip = "3000"
        try await town.context.save()
        ann.address.city = "Chur"
        try await town.context.save()

        let zip = try #require(try await changes.next()?.changes.first)
        #expect(zip.changedProperties == ["address.zip"])
        #expect(zip.old[\.address.zip] == .some(nil))
        #expect(zip.new[\.address.zip] == "3000")
        #expect(zip.new[\.address.city] == nil)
        #expect(zip.new[\.address] == nil)
        let city = try #require(try await whole.next()?.changes.first)
        #expect(city.old[\.address]?.city == "Bern")
        #expect(city.new[\.address]?.city == "Chur")
        #expect(city.new[\.address] == ann.address)
    }

    @Test func aChangeOfAllMembersHasTheValue() throws {
        let old = ann.address
        ann.address = PostalAddress(street: "a", city: "b", zip: "c")
        let commit = try #require(try town.context.save())
        let change = try #require(commit.changes(of: Resident.self).first)
        #expect(change.old[\.address] == old)
        #expect(change.new[\.address] == ann.address)
    }

    @Test func aRedactionTakesAMemberOrAllOfThem() throws {
        ann.address = PostalAddress(street: "secret road", city: "secret town", zip: "secret")
        try town.context.save()
        ann.address = PostalAddress()
        try town.context.save()
        let one = try store.requestRedaction(of: Resident.self, id: ann.id, \.address.zip)
        try one.confirm()
        #expect(try redactedProperties(of: 2) == ["address.zip"])
        try store.requestRedaction(of: Resident.self, id: ann.id, \.address).confirm()
        #expect(
            try redactedProperties(of: 2) == ["address.street", "address.city", "address.zip"])
        #expect(try store.verify().problems == [])
    }

    private func redactedProperties(of revision: Revision) throws -> [String]? {
        try store.journal(from: .revision(revision))[0].changes(of: Resident.self).first?
            .redactedProperties
    }

    @Test func aDraftKeepsPendingMembers() throws {
        ann.address.city = "Chur"
        try store.drafts.save(town.context, as: "d")
        town.context.rollback()
        try edit("bob") { $0.address.zip = "3000" }
        let context = store.context()
        try context.apply(try store.drafts.changes("d"))
        let saved = try #require(try context.object(Resident.self, id: ann.id))
        #expect(saved.address.city == "Chur")
        #expect(saved.address.zip == "3000")
        try context.save()
        #expect(try town.stored()?.address.city == "Chur")
    }

    @Test func aChangeSetAsJSONIsApplied() throws {
        ann.address.city = "Chur"
        let commit = try #require(try town.context.save())
        let data = try JSONEncoder().encode(commit.changeSet)
        #expect(String(decoding: data, as: UTF8.self).contains("\"address.city\""))
        try store.undo(author: "ann")
        let context = store.context()
        try context.apply(try JSONDecoder().decode(ChangeSet.self, from: data))
        try context.save()
        #expect(try town.stored()?.address.city == "Chur")
    }
}
