import Foundation
import Observation
import StetTestSupport
import StetTesting
import Testing

@testable import Stet

/// Embedded values in one context: edits, rules, snapshots.
@Suite struct EmbeddedValueTests {
    private let town: Village
    private var context: ManagedContext { town.context }
    private var ann: Resident { town.ann }

    init() throws { town = try Village() }

    @Test func membersAreAttributesOfTheModelInPlace() throws {
        let entity = try #require(town.store.file.schema.entity(named: "Resident"))
        #expect(
            entity.properties.map(\.name) == [
                "name", "address.street", "address.city", "address.zip", "rank", "contact.mail",
                "contact.token", "contact.calls", "contact.changed", "contact.kind", "note",
                "landlord",
            ])
        #expect(entity.properties[1].rules.count == 1)
        #expect(entity.properties.filter(\.isCounter).map(\.name) == ["contact.calls"])
        #expect(entity.properties.filter { $0.target != nil }.map(\.name) == ["landlord"])
    }

    @Test func aValueIsEditedAsAWholeOrByMember() throws {
        ann.address.zip = "3000"
        ann.note = "after"
        ann.landlord = Resident("Bob")
        try context.save()
        let saved = try #require(try town.stored())
        #expect(saved.address.city == "Bern")
        #expect(saved.address.zip == "3000")
        #expect(saved.note == "after")
        #expect(saved.landlord == ann.landlord?.id)
        ann.address = PostalAddress(street: "Lane", city: "Basel")
        #expect(ann.address.line == "Lane, ? Basel")
        let commit = try #require(try context.save())
        let names = commit.changeSet.changes.flatMap { $0.properties.map(\.name) }
        #expect(
            names == ["address.street", "address.city", "address.zip"])
        #expect(try town.stored()?.address == PostalAddress(street: "Lane", city: "Basel"))
    }

    @Test func anEqualValueIsNoChange() throws {
        ann.address = PostalAddress(street: "Ann street", city: "Bern")
        #expect(try context.save() == nil)
    }

    @Test func aRollbackRestoresAllMembers() throws {
        let before = ann.address
        ann.address.city = "Genf"
        ann.address.zip = "1200"
        context.rollback()
        #expect(ann.address == before)
        #expect(!ann.hasChanges)
        #expect(throws: ValidationError.self) {
            try context.edit { ann.address.street = String(repeating: "x", count: 21) }
        }
        #expect(ann.address == before)
        #expect(!ann.hasChanges)
    }

    @Test func rulesAndNormalisersRunForEachMember() throws {
        ann.address.street = "  Gasse 1 "
        ann.contact.mail = "ANN@Example.org"
        try context.save()
        #expect(ann.address.street == "Gasse 1")
        #expect(ann.contact.mail == "ann@example.org")
        ann.address.street = String(repeating: "x", count: 21)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.property) == ["address.street"])
        #expect(error.violations.map(\.code) == [.tooLong])
        #expect(error.problem.errors.map(\.pointer) == ["#/address.street"])
        #expect(ann.address.street == "Gasse 1")
    }

    @Test func aValidatorInCodeNamesAMember() throws {
        #expect(try Resident.validate(" Weg ", for: \.address.street) == "Weg")
        #expect(throws: ValidationError.self) {
            try Resident.validate(String(repeating: "x", count: 21), for: \.address.street)
        }
        context.report(ann, \.address.city, "{property} is no town")
        let error = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(error.violations.map(\.property) == ["address.city"])
    }

    @Test func stampsAreSetInsideAnEmbeddedValue() throws {
        #expect(ann.contact.changed == town.clock.now)
        town.clock.advance(by: .seconds(60))
        ann.note = "x"
        try context.save()
        #expect(ann.contact.changed == town.clock.now)
        #expect(try town.stored()?.contact.changed == town.clock.now)
    }

    @Test func aUniqueMemberIsUniqueAmongObjects() throws {
        ann.contact.mail = "a@b.c"
        try context.save()
        let bob = Resident("Bob")
        bob.contact.mail = "A@b.C"
        context.insert(bob)
        let error = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error.violations.map(\.code) == [.notUnique])
        #expect(error.violations.map(\.property) == ["contact.mail"])
        bob.contact.mail = nil
        bob.address.street = "ANN STREET"
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        bob.note = "other"
        try context.save()
        #expect(
            try context.object(Resident.self, where: \.contact.mail, is: "a@b.c") == ann)
        #expect(try town.store.verify().problems == [])
    }

    @Test func aSnapshotHasTheStructAndNestsInJSON() throws {
        ann.address.zip = "3000"
        ann.contact.token = "secret"
        try context.save()
        let snapshot = ann.snapshot
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.dateEncodingStrategy = .secondsSince1970
        let text = String(decoding: try encoder.encode(snapshot), as: UTF8.self)
        let changed = Int(snapshot.contact.changed.timeIntervalSince1970)
        #expect(
            text == """
                {"address":{"city":"Bern","street":"Ann street","zip":"3000"},\
                "contact":{"calls":0,"changed":\(changed),"kind":"work"},\
                "id":"\(ann.id)","name":"Ann","note":"","rank":0}
                """)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        var decoded = try decoder.decode(Resident.Snapshot.self, from: Data(text.utf8))
        #expect(decoded != snapshot)
        #expect(decoded.contact.token == nil)
        decoded.contact.token = "secret"
        #expect(decoded == snapshot)
    }

    @Test func aHiddenMemberIsInNoText() throws {
        ann.contact.token = "hunter2"
        let commit = try #require(try context.save())
        var dumped = ""
        dump(ann.snapshot, to: &dumped)
        dump(ann.contact, to: &dumped)
        let encoded = String(decoding: try JSONEncoder().encode(commit.changeSet), as: UTF8.self)
        for text in ["\(ann.snapshot)", "\(ann.contact)", dumped, encoded] {
            #expect(text.contains("contact") || text.contains("Contact"), "\(text)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect(try town.stored()?.contact.token == "hunter2")
    }

    @Test func aHiddenValueHidesAllOfItsMembers() throws {
        let store = try Store.inMemory(for: Card.self)
        let context = store.context()
        let card = Card()
        card.address.city = "hunter2"
        context.insert(card)
        let commit = try #require(try context.save())
        let texts = [
            String(decoding: try JSONEncoder().encode(commit.changeSet), as: UTF8.self),
            String(decoding: try JSONEncoder().encode(card.snapshot), as: UTF8.self),
            "\(card.snapshot)",
        ]
        for text in texts {
            #expect(text.contains("shown"), "\(text)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect(
            store.file.schema.entity(named: "Card")?.properties.filter(\.isHidden).map(\.name)
                == ["address.street", "address.city", "address.zip"])
        #expect(try store.object(Card.self, id: card.id)?.address.city == "hunter2")
    }

    @Test func observersOfAValueAreNotifiedOfAnyMember() throws {
        let store = try Store.inMemory(for: WatchedHouse.self)
        let context = store.context()
        let watched = WatchedHouse()
        context.insert(watched)
        try context.save()
        let seen = Counter()
        func watch() {
            withObservationTracking({ _ = watched.address.city }, onChange: { seen.add() })
        }
        watch()
        watched.title = "x"
        #expect(seen.count == 0)
        watched.address.street = " y "
        #expect(seen.count == 1)
        watch()
        try context.save()
        #expect(seen.count == 2)
        #expect(watched.address.street == "y")
        watch()
        watched.title = "z"
        try context.save()
        context.rollback()
        #expect(seen.count == 2)
    }
}

@Model private final class Card {
    var title: String = "shown"
    @Attribute(.hidden) var address: PostalAddress = PostalAddress()
    init() {}
}

@Model(.observable) private final class WatchedHouse {
    var title: String = ""
    var address: PostalAddress = PostalAddress()
    init() {}
}

/// The number of notifications.
private final class Counter: @unchecked Sendable {  // used by one thread
    private(set) var count = 0
    func add() { count += 1 }
}
