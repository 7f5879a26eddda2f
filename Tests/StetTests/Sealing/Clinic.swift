import Foundation
import Stet
import StetStore
import StetTestSupport

@Model final class Client {
    var name: Sealed<String>
    var born: Sealed<Date>?
    var ward: Int = 0

    init(name: String) { self.name = Sealed(name) }
}

@Model final class Treatment {
    var patient: Client?
    @Attribute(.sealed(by: \.patient), .indexed) var diagnosis: Sealed<String>?
    @Attribute(.sealed(by: \.patient)) var drugs: Sealed<[String]>?
    var room: String = ""

    init(patient: Client?) { self.patient = patient }
}

/// A store of patients and their visits, with a key file.
final class Clinic {
    let directory = TemporaryDirectory()
    private(set) var keys: KeyFile?
    private(set) var store: Store

    var path: String { directory.file() }
    var keyPath: String { directory.file("clinic.keys") }

    init() async throws {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        let keys = try await KeyFile.open(at: directory.file("clinic.keys"), provider: .file(key))
        self.keys = keys
        store = try Self.open(directory.file(), keys)
    }

    static func open(_ path: String, _ keys: KeyFile?) throws -> Store {
        var configuration = Store.Configuration()
        configuration.keys = keys
        return try Store.open(
            at: path, for: Client.self, Treatment.self, configuration: configuration)
    }

    /// Opens the store again, and lets go of the key file.
    func reopenWithoutKeys() throws {
        store.close()
        keys = nil
        store = try Self.open(path, nil)
    }

    /// Opens the store again with its key file.
    func reopen() async throws {
        store.close()
        keys = nil
        let keys = try await KeyFile.open(
            at: keyPath, provider: .file(directory.file("key")))
        self.keys = keys
        store = try Self.open(path, keys)
    }

    func destroyKey(of id: ObjectID) throws { try keys?.destroyKey(of: id) }

    /// A saved patient with a visit.
    func admit(
        _ name: String, _ diagnosis: String
    ) throws -> (context: ManagedContext, patient: Client, visit: Treatment) {
        let context = store.context(author: "doctor")
        let patient = Client(name: name)
        let visit = Treatment(patient: patient)
        visit.diagnosis = Sealed(diagnosis)
        visit.drugs = Sealed(["\(diagnosis) drug"])
        context.insert(visit)
        try context.save()
        return (context, patient, visit)
    }

    /// The ids of a saved client and its treatment, whose diagnosis was changed once.
    func admitted() throws -> (client: ObjectID, treatment: ObjectID) {
        let (context, client, treatment) = try admit("Ada", "flu")
        treatment.diagnosis = Sealed("measles")
        try context.save()
        return (client.id, treatment.id)
    }

    /// Returns whether any file in the directory contains a text.
    func contains(_ text: String) throws -> Bool {
        let root = URL(filePath: path).deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard let bytes = try? Data(contentsOf: file) else { continue }
            if bytes.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }
}

/// The code of the error that opening a value throws; nil when it opens.
func sealingCode<T>(_ value: Sealed<T>?) throws -> SealingError.Code? {
    do {
        _ = try value?.value
        return nil
    } catch {
        return error.code
    }
}
