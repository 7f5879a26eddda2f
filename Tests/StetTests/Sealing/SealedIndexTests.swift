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
        let (one, two) = try (office.tenant("one"), office.tenant("two"))
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
        try office.keys?.destroyKey(of: one.id)
        #expect(code("ada@example.org", of: one.id) == .erased)
        #expect(code("nobody@example.org", of: one.id) == .erased)
        #expect(code("ada@example.org", of: two.id) == nil)
        // An object that has sealed nothing has no key, and no values.
        #expect(code("ada@example.org", of: ObjectID()) == nil)
        #expect(try office.store.verify().problems == [])
        try await office.reopen(keyFile: "other.keys")
        #expect(code("ada@example.org", of: two.id) == .keyMissing)
        try await office.reopen(keyFile: nil)
        #expect(code("ada@example.org", of: two.id) == .keyFileNotOpen)
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
        let one = try office.tenant("one")
        try await office.reopen(keyFile: nil)
        office.store.close()
        let unindexed = try Store.open(at: office.path, for: Plain.Tenant.self, Plain.Member.self)
        unindexed.close()
        try await office.reopen()
        // The values keep the tokens, which an index that is added again contains.
        #expect(try office.members(of: one, "bob@example.org") == ["bob of one"])

        let path = office.directory.file("plain.stet")
        var configuration = Store.Configuration()
        configuration.keys = office.keys
        let plain = try Store.open(
            at: path, for: Plain.Tenant.self, Plain.Member.self, configuration: configuration)
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

    @Test func valuesOfAnEarlierNameAreFound() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        office.store.close()
        var configuration = Store.Configuration()
        configuration.keys = office.keys
        let store = try Store.open(
            at: office.path, for: Later.Tenant.self, Later.Member.self,
            configuration: configuration)
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

typealias Member = Office.Member
typealias Tenant = Office.Tenant

/// A store of tenants and their members, whose addresses are sealed by the tenants' keys and
/// indexed.
final class Office {
    @Model final class Tenant {
        @Attribute(.indexed) var name: Sealed<String>
        @Relationship(inverse: \Member.tenant) var members: ToMany<Member>
        init(name: String) { self.name = Sealed(name) }
    }

    @Model final class Member {
        var label: String
        var tenant: Tenant?
        @Attribute(.sealed(by: \.tenant), .indexed) var email: Sealed<String>
        @Attribute(.sealed(by: \.tenant)) var phone: Sealed<String>?
        var rank: Int
        init(_ label: String, of tenant: Tenant, _ email: String, _ rank: Int) {
            self.label = label
            self.tenant = tenant
            self.email = Sealed(email)
            self.rank = rank
        }
    }

    let directory = TemporaryDirectory()
    private(set) var keys: KeyFile?
    private(set) var store: Store
    private(set) lazy var context = store.context()

    var path: String { directory.file() }

    /// Makes two tenants with three members each.
    init() async throws {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        let keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
        self.keys = keys
        store = try Self.open(directory.file(), keys)
        for name in ["one", "two"] {
            let tenant = Tenant(name: name)
            context.insert(tenant)
            for (rank, member) in ["ada", "bob", "eve"].enumerated() {
                let email = member == "eve" ? "ada@example.org" : "\(member)@example.org"
                let added = Member("\(member) of \(name)", of: tenant, email, rank + 1)
                if member != "eve" { added.phone = Sealed("\(email) \(rank + 1)") }
                context.insert(added)
            }
        }
        try await context.save()
    }

    static func open(_ path: String, _ keys: KeyFile?) throws -> Store {
        var configuration = Store.Configuration()
        configuration.keys = keys
        return try Store.open(
            at: path, for: Tenant.self, Member.self, configuration: configuration)
    }

    /// Opens the store again with a key file, or without one.
    func reopen(keyFile: String? = "keys") async throws {
        store.close()
        keys = nil
        if let keyFile {
            keys = try await KeyFile.open(
                at: directory.file(keyFile), provider: .file(directory.file("key")))
        }
        store = try Self.open(path, keys)
        context = store.context()
    }

    func tenant(_ name: String) throws -> Tenant {
        let found = try context.fetch(Tenant.self).all().first { try $0.name.value == name }
        return try #require(found)
    }

    /// The labels of the members of a tenant with an address, in alphabetical order.
    func members(of tenant: Tenant, _ email: String) throws -> [String] {
        try context.fetch(Member.self) { $0.email.isEqual(to: email, sealedBy: tenant.id) }
            .all().map(\.label).sorted()
    }
}

/// The same models without indexes.
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

/// The same models after the address was renamed.
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
