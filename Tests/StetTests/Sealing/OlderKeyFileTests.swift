import Foundation
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Key files that lack keys by which the values of a store are sealed.
@Suite struct OlderKeyFileTests {
    private let directory = TemporaryDirectory()

    private func keys(_ name: String) async throws -> KeyFile {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        return try await KeyFile.open(at: directory.file(name), provider: .file(key))
    }

    private func copy(_ name: String, to other: String) throws {
        try FileManager.default.copyItem(
            atPath: directory.file(name), toPath: directory.file(other))
    }

    /// Calls a closure with the store, which is open with a key file.
    private func withStore(
        keys name: String, journal: (any SharedJournal)? = nil, at path: String = "clinic.stet",
        _ body: (Store, KeyFile) throws -> Void
    ) async throws {
        let keys = try await keys(name)
        var configuration = Store.Configuration()
        configuration.keys = keys
        let path = directory.file(path)
        let store: Store
        if let journal {
            store = try Store.open(
                at: path, for: Client.self, Treatment.self, journal: journal,
                configuration: configuration)
        } else {
            store = try Clinic.open(path, keys)
        }
        defer { store.close() }
        try body(store, keys)
    }

    private func admit(_ name: String, to store: Store) throws -> Treatment {
        let context = store.context()
        let visit = Treatment(patient: Client(name: name))
        visit.diagnosis = Sealed("flu")
        context.insert(visit)
        try context.save()
        return visit
    }

    /// Edits a treatment, and returns the code of the save's error.
    private func edit(_ visit: ObjectID, in store: Store) throws -> SealingError.Code? {
        let context = store.context()
        let visit = try #require(try context.object(Treatment.self, id: visit))
        visit.drugs = Sealed(["new"])
        do {
            try context.save()
        } catch let error as SealingError {
            #expect(!context.hasChanges)
            return error.code
        }
        return nil
    }

    @Test func aCopyFromBeforeTheOwnerMakesNoSecondKey() async throws {
        var visit = ObjectID()
        try await withStore(keys: "new") { store, _ in
            _ = try admit("first", to: store)
            try copy("new", to: "old")
            visit = try admit("Ada", to: store).id
        }
        try await withStore(keys: "old") { store, _ in
            let before = try #require(try store.object(Treatment.self, id: visit))
            #expect(try sealingCode(before.diagnosis) == .keyMissing)
            #expect(try edit(visit, in: store) == .keyMissing)
            let query = store.fetch(Treatment.self) {
                $0.diagnosis.isEqual(to: "flu", sealedBy: before.patient ?? ObjectID())
            }
            let error = try #require(throws: SealingError.self) { try query.count() }
            #expect(error.code == .keyMissing)
            // Objects that are new are sealed by keys of this copy.
            let other = try admit("Eve", to: store)
            #expect(try other.diagnosis?.value == "flu")
        }
        try await withStore(keys: "new") { store, _ in
            #expect(try edit(visit, in: store) == nil)
            let after = try #require(try store.object(Treatment.self, id: visit))
            #expect(try after.diagnosis?.value == "flu")
            #expect(try after.drugs?.value == ["new"])
            #expect(try store.verify().problems == [])
        }
    }

    /// Only the history and an object that refers to nobody have values of the owner.
    @Test func aSecondKeyThatCannotBeNoticedOpensNothingWrongly() async throws {
        var (visit, ada) = (ObjectID(), ObjectID())
        try await withStore(keys: "new") { store, _ in
            _ = try admit("first", to: store)
            try copy("new", to: "old")
            let context = store.context()
            let client = Client(name: "Ada")
            client.name = Sealed("")
            let treatment = Treatment(patient: client)
            treatment.diagnosis = Sealed("flu")
            context.insert(treatment)
            try context.save()
            treatment.patient = nil
            try context.save()
            context.delete(client)
            try context.save()
            (visit, ada) = (treatment.id, client.id)
        }
        try await withStore(keys: "old") { store, keys in
            try keys.makeKeys(for: [ada])
            let left = try #require(try store.object(Treatment.self, id: visit))
            #expect(try sealingCode(left.diagnosis) == .keyMissing)
        }
        try await withStore(keys: "new") { store, _ in
            let left = try #require(try store.object(Treatment.self, id: visit))
            #expect(try left.diagnosis?.value == "flu")
        }
    }

    @Test func aRotationOfAnOlderCopyOpensNothingWrongly() async throws {
        var (visit, ada) = (ObjectID(), ObjectID())
        try await withStore(keys: "new") { store, keys in
            let treatment = try admit("Ada", to: store)
            (visit, ada) = (treatment.id, try #require(treatment.patient).id)
            try copy("new", to: "old")
            try keys.rotateKey(of: ada)
            treatment.diagnosis = Sealed("measles")
            try treatment.context?.save()
        }
        try await withStore(keys: "old") { store, keys in
            for _ in 0..<2 {
                let present = try #require(try store.object(Treatment.self, id: visit))
                #expect(try sealingCode(present.diagnosis) == .keyMissing)
                try keys.rotateKey(of: ada)
            }
        }
    }

    @Test func aNodeWithACopyFromBeforeTheOwnerIsRefused() async throws {
        let journal = MemoryJournal(isSilent: false)
        _ = try await keys("one")
        try copy("one", to: "two")
        var visit = ObjectID()
        try await withStore(keys: "one", journal: journal, at: "one.stet") { store, _ in
            visit = try admit("Ada", to: store).id
        }
        try await withStore(keys: "two", journal: journal, at: "two.stet") { store, _ in
            let code = try edit(visit, in: store)
            #expect(code == .keyMissing)
        }
        try await withStore(keys: "one", journal: journal, at: "one.stet") { store, _ in
            #expect(try edit(visit, in: store) == nil)
            let after = try #require(try store.object(Treatment.self, id: visit))
            #expect(try after.drugs?.value == ["new"])
        }
    }
}
