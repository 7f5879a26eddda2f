import Foundation
import StetLMDB
import StetStore
import Testing

/// A compacted copy has nothing but what is in use.
struct CompactionTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private static let schema: Schema = {
        do {
            return try Schema(entities: [
                Entity(
                    name: "Person",
                    properties: [
                        Property(name: "name", type: .string),
                        Property(name: "photo", type: .data, isOptional: true),
                        Property(name: "address", type: .codable, isOptional: true),
                    ], indexes: [EntityIndex(0)]),
                .tag,
            ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    private func open(_ name: String = "test.stet") throws -> StoreFile {
        try StoreFile.open(at: directory.file(name), schema: Self.schema, .small())
    }

    private func values(_ name: String, _ photo: String?, _ address: String?) -> [Value] {
        [
            .string(name), photo.map { .data(Data($0.utf8)) } ?? .null,
            address.map { .codable("{\"street\":\"\($0)\"}") } ?? .null,
        ]
    }

    /// Which of some texts stand anywhere in the bytes of a file.
    private func texts(_ texts: [String], in name: String) throws -> [String] {
        let bytes = try directory.bytes(name)
        return texts.filter { bytes.range(of: Data($0.utf8)) != nil }
    }

    /// All entries of a store but those by which LMDB finds its tables.
    private func contents(_ file: StoreFile) throws -> [String: [[UInt8]: [UInt8]]] {
        var dump = try file.dump()
        for name in dump.keys { dump[""]?[Array(name.utf8)] = nil }
        return dump
    }

    private let secrets = ["SecretName", "SecretPhoto", "SecretStreet"]
    private let person = ObjectKey(1, 1)

    /// A store with secrets in its history, and much beside them.
    private func fill(_ file: StoreFile) throws {
        for number in 0..<40 {
            let key = ObjectKey(1, 100 + number)
            _ = try file.commit([
                Edit(key, from: nil, to: values("other \(number)", "p", "s")),
                Edit(ObjectKey(2, 200 + number), from: nil, to: [.data(Data(count: 3_000))]),
            ])
        }
        let secret = values(
            secrets[0], secrets[1] + String(repeating: "x", count: 9_000), secrets[2])
        let open = values("public", nil, "here")
        _ = try file.commit([Edit(person, from: nil, to: secret)])
        _ = try file.commit([Edit(person, from: secret, to: open, base: 41)])
    }

    @Test func redactedValuesAreNotInTheBytesOfACompactedCopy() throws {
        let file = try open()
        try fill(file)
        #expect(try texts(secrets, in: "test.stet") == secrets)
        try file.redact(RedactionRequest(entity: 1, object: person.id, slots: [0, 1, 2]))
        let objects = try file.objects(asOf: .max)
        let hash = try file.verify().hash
        let copy = try file.copy(to: directory.file("copy.stet"))
        #expect(copy.report.problems == [])
        #expect(copy.report.hash == hash)
        #expect(try texts(secrets, in: "copy.stet") == [])
        #expect(try texts(["public", "here", "other 7"], in: "copy.stet").count == 3)
        let opened = try open("copy.stet")
        #expect(opened.storeID == file.storeID)
        #expect(try opened.objects(asOf: .max) == objects)
        #expect(try contents(opened) == contents(file))
        #expect(try opened.overview().freeByteCount == 0)
        #expect(directory.names == ["copy.stet", "copy.stet-lock", "test.stet", "test.stet-lock"])
    }

    @Test func trimmedAndDeletedValuesAreNotInTheBytesOfACompactedCopy() throws {
        let file = try open()
        try fill(file)
        try file.trim(through: 42)
        let before = try directory.bytes("test.stet").count
        let copy = try file.copy(to: directory.file("copy.stet"))
        #expect(try texts(secrets, in: "copy.stet") == [])
        #expect(copy.byteCount < before)
        #expect(copy.report.problems == [])
        let opened = try open("copy.stet")
        #expect(try contents(opened) == contents(file))
        #expect(try opened.read { try $0.floor() } == 42)
        _ = try opened.commit([
            Edit(person, from: values("public", nil, "here"), to: nil, base: 42)
        ])
        #expect(try opened.verify().problems == [])
    }

    @Test func aFileThatIsThereIsRefusedAndAnEmptyStoreCompacts() throws {
        let file = try open()
        try directory.write(Data([1]), to: "taken")
        let error = thrown(StoreError.self) { try file.copy(to: directory.file("taken")) }
        #expect(error?.code == .alreadyExists)
        #expect(try file.copy(to: directory.file("copy.stet")).report.problems == [])
        #expect(try contents(try open("copy.stet")) == contents(file))
        #expect(
            directory.names == [
                "copy.stet", "copy.stet-lock", "taken", "test.stet", "test.stet-lock",
            ])
    }

    @Test func copiesHaveFloorAndRedactions() throws {
        let file = try open()
        try fill(file)
        try file.redact(RedactionRequest(entity: 1, object: person.id, slots: [0, 1, 2]))
        try file.trim(through: 20)
        #expect(try file.copy(to: directory.file("copy.stet")).report.isClean)
        #expect(try contents(try open("copy.stet")) == contents(file))
    }
}
