import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

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
