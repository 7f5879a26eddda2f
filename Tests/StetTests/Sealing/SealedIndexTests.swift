import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Queries that find sealed values by the objects whose keys have sealed them.
@Suite struct SealedIndexTests {
    @Test func aValueIsFoundByItsOwnerOnly() async throws {
        let office = try await Office()
        let (one, two) = try (office.tenant("one"), office.tenant("two"))
        let context = office.context
        #expect(try office.members(of: one, "ada@example.org") == ["ada of one", "eve of one"])
        #expect(try office.members(of: two, "ada@example.org") == ["ada of two", "eve of two"])
        #expect(try office.members(of: two, "nobody@example.org") == [])
        #expect(
            try context.fetch(Member.self) {
                $0.email.isEqual(to: "ada@example.org", sealedBy: one) && $0.rank > 1
            }.all().map(\.label) == ["eve of one"])
        #expect(
            try context.fetch(Member.self) {
                !$0.email.isEqual(to: "ada@example.org", sealedBy: one.id)
            }.count() == 4)
        #expect(
            try context.fetch(Tenant.self) { $0.name.isEqual(to: "one", sealedBy: one) }.ids()
                == [one.id])
        #expect(
            try context.fetch(Tenant.self) { $0.name.isEqual(to: "one", sealedBy: two) }.ids()
                == [])
        #expect(try office.store.verify().problems == [])
    }

    @Test func theIndexIsUsedAndShowsNoValue() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        let indexed = office.context.fetch(Member.self) {
            $0.email.isEqual(to: "ada@example.org", sealedBy: one) && $0.rank > 1
        }
        let text = try indexed.explain()
        #expect(
            text == """
                index (email): email equals a sealed value: 2 of Member
                test: email equals a value sealed by \(one.id) && rank > 1
                """)
        let either = office.context.fetch(Member.self) {
            $0.email.isEqual(to: "ada@example.org", sealedBy: one)
                || $0.email.isEqual(to: "bob@example.org", sealedBy: one)
        }
        #expect(try either.explain().hasPrefix("index (email): "))
        #expect(try either.count() == 3)
        let scanned = office.context.fetch(Member.self) {
            $0.phone.isEqual(to: "ada@example.org 1", sealedBy: one)
        }
        #expect(try scanned.explain().hasPrefix("look at all 6 records of Member"))
        #expect(try scanned.all().map(\.label) == ["ada of one"])
        #expect(try office.context.fetch(Member.self) { $0.phone == nil }.count() == 2)
    }

    @Test func conditionsOfMembersAndOfTargetsFindSealedValues() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        let tenants = office.context.fetch(Tenant.self) {
            $0.members.any { $0.email.isEqual(to: "bob@example.org", sealedBy: one) }
        }
        #expect(try tenants.ids() == [one.id])
        let members = office.context.fetch(Member.self) {
            $0.tenant?.name.isEqual(to: "one", sealedBy: one)
            $0.rank == 1
        }
        #expect(try members.all().map(\.label) == ["ada of one"])
    }

    @Test func pendingValuesAreFound() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        let context = office.context
        let new = Member("new", of: one, "new@example.org", 7)
        context.insert(new)
        let bob = try #require(try context.fetch(Member.self) { $0.label == "bob of one" }.first())
        bob.email = Sealed("ada@example.org")
        #expect(try office.members(of: one, "new@example.org") == ["new"])
        #expect(try office.members(of: one, "bob@example.org") == [])
        #expect(try office.members(of: one, "ada@example.org").count == 3)
        try await context.save()
        #expect(try office.members(of: one, "new@example.org") == ["new"])
        #expect(try office.members(of: one, "bob@example.org") == [])
        #expect(try office.members(of: one, "ada@example.org").count == 3)
    }

    @Test func aQueryOfAnErasedOwnerThrows() async throws {
        let office = try await Office()
        // An object would keep its store, and that its key file.
        let (one, two) = try (office.tenant("one").id, office.tenant("two").id)
        func code(_ value: String, of owner: ObjectID) -> SealingError.Code? {
            do {
                _ = try office.context.fetch(Member.self) {
                    $0.email.isEqual(to: value, sealedBy: owner)
                }.count()
                return nil
            } catch {
                return (error as? SealingError)?.code
            }
        }
        try office.keys?.destroyKey(of: one)
        #expect(code("ada@example.org", of: one) == .erased)
        #expect(code("nobody@example.org", of: one) == .erased)
        #expect(code("ada@example.org", of: two) == nil)
        // An object that has sealed nothing has no key, and no values.
        #expect(code("ada@example.org", of: ObjectID()) == nil)
        #expect(try office.store.verify().problems == [])
        try await office.reopen(keyFile: "other.keys")
        #expect(code("ada@example.org", of: two) == .keyFileNotOpen)
        try await office.reopen(keyFile: nil)
        #expect(code("ada@example.org", of: two) == .keyFileNotOpen)
    }

    @Test func historyUndoAndCopiesKeepTheTokens() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        let before = try office.store.revision()
        let context = office.store.context(author: "boss")
        let bob = try #require(try context.fetch(Member.self) { $0.label == "bob of one" }.first())
        bob.email = Sealed("bobby@example.org")
        try await context.save()
        func count(_ query: some ObjectQuery<Member>, _ value: String) throws -> Int {
            try query.filter { $0.email.isEqual(to: value, sealedBy: one) }.count()
        }
        let view = try office.store.view(asOf: before)
        for (value, past, now) in [("bob@example.org", 1, 0), ("bobby@example.org", 0, 1)] {
            #expect(try count(view.fetch(Member.self), value) == past)
            #expect(try count(office.store.fetch(Member.self), value) == now)
        }
        try await office.reopen(keyFile: nil)
        try await office.store.undo(author: "boss")
        #expect(try office.store.verify().problems == [])
        let copy = office.directory.file("copy.stet")
        try await office.store.backup(to: copy)
        try await office.reopen()
        #expect(try count(office.store.fetch(Member.self), "bob@example.org") == 1)
        #expect(try count(office.store.fetch(Member.self), "bobby@example.org") == 0)
        try await office.store.redo(author: "boss")
        #expect(try count(office.store.fetch(Member.self), "bobby@example.org") == 1)
        let copied = try Office.open(copy, office.keys)
        #expect(try count(copied.fetch(Member.self), "bob@example.org") == 1)
        #expect(try copied.verify().problems == [])
    }

    @Test func anIndexIsAddedToValuesThatHaveNoTokens() async throws {
        let office = try await Office()
        let path = office.directory.file("plain.stet")
        let plain = try Store.open(
            at: path, for: Plain.Tenant.self, Plain.Member.self,
            configuration: office.configuration)
        let owner = Plain.Tenant(name: Sealed("first"))
        let context = plain.context()
        context.insert(owner)
        for number in 0..<3 {
            context.insert(Plain.Member(owner, Sealed("\(number % 2)@example.org"), number))
        }
        try await context.save()
        plain.close()
        // Neither the migration nor the proof needs a key.
        try Office.open(path, nil).close()
        let store = try Office.open(path, office.keys)
        #expect(try store.verify().problems == [])
        let query = store.fetch(Member.self) {
            $0.email.isEqual(to: "0@example.org", sealedBy: owner.id)
        }
        #expect(try query.explain().hasPrefix("index (email): email equals a sealed value: 3 of"))
        #expect(try query.all().map(\.rank) == [0, 2])
        let later = store.context()
        for member in try later.fetch(Member.self).all() {
            member.email = Sealed(try member.email.value)
        }
        try await later.save()
        #expect(try query.explain().hasPrefix("index (email): email equals a sealed value: 2 of"))
        #expect(try query.all().map(\.rank) == [0, 2])
        #expect(try store.verify().problems == [])
    }

    @Test func anIndexThatIsAddedAgainContainsTheTokensOfBefore() async throws {
        let office = try await Office()
        let one = try office.tenant("one").id
        office.store.close()
        try Store.open(at: office.path, for: Plain.Tenant.self, Plain.Member.self).close()
        let store = try office.later()
        let query = store.fetch(Later.Member.self) {
            $0.address.isEqual(to: "bob@example.org", sealedBy: one)
        }
        #expect(try query.explain().hasPrefix("index (address): address equals a sealed value: 1"))
        #expect(try query.all().map(\.label) == ["bob of one"])
        #expect(try store.verify().problems == [])
    }

    @Test func valuesOfAnEarlierNameAreFound() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        office.store.close()
        let store = try office.later()
        func labels() throws -> [String] {
            try store.fetch(Later.Member.self) {
                $0.address.isEqual(to: "ada@example.org", sealedBy: one.id)
            }.all().map(\.label)
        }
        #expect(try labels() == ["ada of one", "eve of one"])
        let context = store.context()
        let bob = try #require(
            try context.fetch(Later.Member.self) { $0.label == "bob of one" }.first())
        bob.address = Sealed("ada@example.org")
        try await context.save()
        #expect(try labels() == ["ada of one", "bob of one", "eve of one"])
        #expect(try store.verify().problems == [])
    }
}

extension Office {
    fileprivate var configuration: Store.Configuration {
        var configuration = Store.Configuration()
        configuration.keys = keys
        return configuration
    }

    fileprivate func later() throws -> Store {
        try Store.open(
            at: path, for: Later.Tenant.self, Later.Member.self, configuration: configuration)
    }
}

/// Models like those of the office, without indexes.
private enum Plain {
    @Model final class Tenant {
        var name: Sealed<String>
        @Relationship(inverse: \Member.tenant) var members: ToMany<Member>
        init(name: Sealed<String>) { self.name = name }
    }

    @Model final class Member {
        var label: String = ""
        var tenant: Tenant?
        @Attribute(.sealed(by: \.tenant)) var email: Sealed<String>
        @Attribute(.sealed(by: \.tenant)) var phone: Sealed<String>?
        var rank: Int
        init(_ tenant: Tenant, _ email: Sealed<String>, _ rank: Int) {
            self.tenant = tenant
            self.email = email
            self.rank = rank
        }
    }
}

/// Models like those of the office, after the address was renamed.
private enum Later {
    @Model final class Tenant {
        @Attribute(.indexed) var name: Sealed<String>
        @Relationship(inverse: \Member.tenant) var members: ToMany<Member>
        init(name: Sealed<String>) { self.name = name }
    }

    @Model final class Member {
        var label: String = ""
        var tenant: Tenant?
        @Attribute(.sealed(by: \.tenant), .indexed, originalName: "email")
        var address: Sealed<String>
        @Attribute(.sealed(by: \.tenant)) var phone: Sealed<String>?
        var rank: Int = 0
        init(_ address: Sealed<String>) { self.address = address }
    }
}
