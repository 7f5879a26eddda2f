import Foundation
import Stet
import StetTestSupport
import Testing

@Model final class Patient {
    var name: Sealed<String>
    var born: Sealed<Date>?
    init(name: String) { self.name = Sealed(name) }
}

@Model final class Visit {
    var room: String
    var patient: Patient?
    @Attribute(.sealed(by: \.patient)) var diagnosis: Sealed<String>?
    init(room: String, patient: Patient) {
        self.room = room
        self.patient = patient
    }
}

@Model final class Tenant {
    var name: String
    init(name: String) { self.name = name }
}

@Model final class Mailbox {
    var tenant: Tenant?
    @Attribute(.sealed(by: \.tenant), .indexed) var email: Sealed<String>
    init(_ email: String, of tenant: Tenant) {
        self.email = Sealed(email)
        self.tenant = tenant
    }
}

private enum Version1 {
    @Model final class Patient {
        var name: String
        init(name: String) { self.name = name }
    }
}

/// The code of SealedAttributes.md.
@Suite struct SealedAttributesTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }
    private var keyPath: String { directory.file("keys") }

    private func makeKey() {
        setenv("CLINIC_KEY", String(repeating: "0123456789abcdef", count: 4), 1)
    }

    @Test func aPersonIsErased() async throws {
        makeKey()
        let keys = try await KeyFile.open(at: keyPath, provider: .environment("CLINIC_KEY"))
        var configuration = Store.Configuration()
        configuration.keys = keys
        let store = try Store.open(
            at: path, for: Patient.self, Visit.self, configuration: configuration)

        func erase() throws -> Visit {
            let context = store.context()
            let ada = Patient(name: "Ada")
            let visit = Visit(room: "12", patient: ada)
            visit.diagnosis = Sealed("influenza")
            context.insert(visit)
            try context.save()
            print(try visit.diagnosis?.value ?? "none")  // influenza

            try keys.destroyKey(of: ada.id)
            print(visit.diagnosis?.isErased ?? false)  // true
            return visit
        }
        let visit = try erase()
        #expect(visit.diagnosis?.isErased == true)
        #expect(visit.room == "12")
    }

    @Test func aValueIsFoundAndSealedAnew() async throws {
        makeKey()
        let keys = try await KeyFile.open(at: keyPath, provider: .environment("CLINIC_KEY"))
        var configuration = Store.Configuration()
        configuration.keys = keys
        let store = try Store.open(
            at: path, for: Tenant.self, Mailbox.self, configuration: configuration)
        let context = store.context()
        let tenant = Tenant(name: "Hospital")
        context.insert(Mailbox("ada@example.org", of: tenant))
        try await context.save()

        func find() throws -> Mailbox? {
            let found = try context.fetch(Mailbox.self) {
                $0.email.isEqual(to: "ada@example.org", sealedBy: tenant)
            }.first()
            return found
        }
        let before = try #require(try find())
        let email = before.email
        try keys.rotateKey(of: tenant.id)
        try await store.sealAnew(by: tenant.id)
        try context.refresh()
        #expect(try find()?.id == before.id)
        #expect(before.email != email)
        #expect(try before.email.value == "ada@example.org")
    }

    @Test func aMigrationSeals() async throws {
        makeKey()
        let keys = try await KeyFile.open(at: keyPath, provider: .environment("CLINIC_KEY"))
        let old = try Store.open(at: path, for: Version1.Patient.self)
        try await old.edit { $0.insert(Version1.Patient(name: "Ada")) }
        old.close()
        let plan = MigrationPlan(
            .version(Version1.Patient.self),
            .version(Patient.self) { step in
                try step.forEach(Version1.Patient.self, Patient.self) { old, new in
                    new.name = Sealed(old.name)
                }
            })
        var configuration = Store.Configuration()
        configuration.keys = keys
        let store = try Store.open(at: path, migrating: plan, configuration: configuration)
        #expect(try store.context().fetch(Patient.self).first()?.name.value == "Ada")
    }
}
