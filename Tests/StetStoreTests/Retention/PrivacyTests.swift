import Foundation
import StetLMDB
import StetStore
import Synchronization
import Testing

/// A copy of a store has no byte of what was trimmed, redacted or removed.
struct PrivacyTests {
    private struct Interruption: Error {}

    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private static let secret = Property(name: "secret", type: .string)
    private static let photo = Property(name: "photo", type: .data, isOptional: true)

    private func open(
        _ entities: [Entity], at name: String = "test.stet", origins: SchemaOrigins = .init(),
        _ progress: (@Sendable (String, Int, Int) throws -> Void)? = nil
    ) throws -> StoreFile {
        var configuration = StoreFile.Configuration.small()
        configuration.progress = progress
        return try StoreFile.open(
            at: directory.file(name), schema: try Schema(entities: entities), origins: origins,
            configuration)
    }

    /// Which of some texts are anywhere in the bytes of a file.
    private func texts(_ texts: [String], in name: String) throws -> [String] {
        let bytes = try directory.bytes(name)
        return texts.filter { bytes.range(of: Data($0.utf8)) != nil }
    }

    // MARK: Removed attributes

    private static let whole = note(.title, secret, photo, indexes: [EntityIndex(1)])
    private static let reduced = note(.title)
    private static let later = note(.rating, .title)
    private static let origins = SchemaOrigins(defaults: ["Note": ["rating": .int(3)]])
    private let secrets = ["SecretText", "SecretPhoto"]

    /// Objects with secrets, some of them changed after these were removed with their attributes.
    private func removeAttributes() throws -> StoreFile {
        var file = try open([Self.whole])
        for number in 1...20 {
            let values: [Value] = [
                .string("title \(number)"), .string("\(secrets[0]) \(number)"),
                .data(Data("\(secrets[1]) \(number)".utf8)),
            ]
            _ = try file.commit([Edit(ObjectKey(1, number), from: nil, to: values)])
        }
        file.close()
        file = try open([Self.reduced])
        _ = try file.commit([
            Edit(
                ObjectKey(1, 3), from: [.string("title 3")], to: [.string("changed")], base: 3),
            Edit(ObjectKey(1, 4), from: [.string("title 4")], to: nil, base: 4),
        ])
        return file
    }

    @Test func theValuesOfRemovedAttributesAreNotInACopyOnceTheirCommitsAreTrimmed() throws {
        let file = try removeAttributes()
        try file.trim(through: 20)
        #expect(try texts(secrets, in: "test.stet") == secrets)
        let objects = try file.objects(asOf: .max)
        #expect(try file.copy(to: directory.file("copy.stet")).report == file.verify())
        #expect(try texts(secrets, in: "copy.stet") == [])
        #expect(try texts(["title 7", "changed"], in: "copy.stet").count == 2)
        let copy = try open([Self.reduced], at: "copy.stet")
        #expect(try copy.objects(asOf: .max) == objects)
        #expect(try copy.objects(asOf: 21) == file.objects(asOf: 21))
        _ = try copy.commit([
            Edit(ObjectKey(1, 5), from: [.string("title 5")], to: [.string("next")], base: 5)
        ])
        #expect(try copy.verify().problems == [])
    }

    @Test(arguments: [0, 10, 22] as [Revision])
    func aCopyThatIsMigratedAgainVerifies(floor: Revision) throws {
        let file = try removeAttributes()
        try file.trim(through: floor)
        _ = try file.copy(to: directory.file("copy.stet"))
        let copy = try open([Self.later], at: "copy.stet", origins: Self.origins)
        let report = try copy.verify()
        #expect(report.problems == [])
        #expect(copy.schema.revision == 3)
        file.close()
        let original = try open([Self.later], origins: Self.origins)
        for number in max(floor.number, 1)...23 {
            let revision = Revision(number)
            #expect(try copy.objects(asOf: revision) == original.objects(asOf: revision))
        }
        _ = try copy.copy(to: directory.file("again.stet"))
        let again = try open([Self.later], at: "again.stet")
        #expect(try again.verify() == report)
    }

    @Test(arguments: [0, 22] as [Revision])
    func aRecordOfACopyThatIsOfAnotherSchemaThanItsBytesIsFound(floor: Revision) throws {
        let file = try removeAttributes()
        try file.trim(through: floor)
        _ = try file.copy(to: directory.file("copy.stet"))
        let copy = try open([Self.reduced], at: "copy.stet")
        for (key, record) in try #require(try copy.dump()["records.1"]) {
            let id = key.withUnsafeBytes { ObjectID(bytes: $0) }
            var changed = record
            try changed.withUnsafeMutableBytes { bytes in
                var header = try RecordHeader(decoding: UnsafeRawBufferPointer(bytes))
                header.schemaRevision = 1
                let body = UnsafeRawBufferPointer(rebasing: bytes[RecordLayout.headerByteCount...])
                let hash = RecordHeader.bodyHash(body, of: id)
                header.store(bodyHash: hash, to: try #require(bytes.baseAddress))
            }
            try copy.tamper("records.1", key, changed)
            // A deleted object leaves nothing but a tombstone.
            let isTombstone = record.count == RecordLayout.headerByteCount
            #expect((try? copy.verify().problems.isEmpty) != true || isTombstone && floor == 22)
            try copy.tamper("records.1", key, record)
        }
        #expect(try copy.verify().problems == [])
    }

    // MARK: Indexes

    @Test func whatAnInterruptedBuildOfAnIndexHasLeftIsNotInACopy() throws {
        let plain = note(.title, .rating, indexes: [EntityIndex(1)])
        let key = ObjectKey(1, 7)
        var file = try open([plain])
        _ = try file.commit(
            (1...12_000).map { number in
                let title = number == 7 ? secrets[0] : "title \(number)"
                return Edit(
                    ObjectKey(1, number), from: nil, to: [.string(title), .int(number)])
            })
        file.close()
        let indexed = note(.title, .rating, indexes: [EntityIndex(1), EntityIndex(0)])
        #expect(throws: Interruption.self) {
            try open([indexed]) { _, _, _ in throw Interruption() }
        }
        file = try open([plain])
        #expect(try file.dump()[""]?[Array("building".utf8)] != nil)
        _ = try file.commit([
            Edit(
                key, from: [.string(secrets[0]), .int(7)], to: [.string("open"), .int(7)], base: 1)
        ])
        try file.redact(RedactionRequest(entity: 1, object: key.id, slots: [0]))
        _ = try file.copy(to: directory.file("copy.stet"))
        #expect(try texts(secrets, in: "copy.stet") == [])
        let copy = try open([plain], at: "copy.stet")
        let dump = try copy.dump()
        #expect(dump[""]?[Array("building".utf8)] == nil)
        #expect(dump["indexes"]?.count == 12_000)
        #expect(try copy.verify() == file.verify())
        copy.close()
        let built = try open([indexed], at: "copy.stet")
        #expect(try built.verify().problems == [])
        #expect(try built.objects(EntityIndex(0), [.string("open")]) == [.fixed(7)])
    }

    // MARK: Authors

    @Test func theAuthorsOfTrimmedCommitsAreNotInACopy() throws {
        let file = try open([Self.reduced])
        let names = ["SecretAuthor", "SecretScope", "author 2"]
        for number in 1...6 {
            var author = EditNote(author: number < 4 ? names[0] : names[2], label: "l")
            author.scope = number == 2 ? names[1] : nil
            author.token = UInt64(number)
            let values: [Value] = [.string("title \(number)")]
            _ = try file.commit([Edit(ObjectKey(1, number), from: nil, to: values)], author)
        }
        let stacks = try ([2, 4, 6] as [Revision]).map { floor in
            try file.trim(through: floor)
            let copy = directory.file("\(floor.number).stet")
            _ = try file.copy(to: copy)
            return try texts(names, in: "\(floor.number).stet")
        }
        #expect(stacks == [[names[0], names[2]], [names[2]], []])
        let copy = try open([Self.reduced], at: "4.stet")
        let owner = UndoOwner(author: names[2], scope: nil)
        #expect(try copy.read { try $0.heads(of: owner).undo } == 6)
        #expect(try copy.verify().problems == [])
    }

    // MARK: Free pages

    @Test func aBackupHasNoFreePages() throws {
        let plain = note(.title, Self.photo)
        let file = try open([plain])
        let photo = Data((secrets[1] + String(repeating: "x", count: 9_000)).utf8)
        let (first, second): ([Value], [Value]) = (
            [.string(secrets[0]), .data(photo)], [.string("open"), .null]
        )
        _ = try file.commit([Edit(ObjectKey(1, 1), from: nil, to: first)])
        _ = try file.commit([Edit(ObjectKey(1, 1), from: first, to: second, base: 1)])
        try file.redact(RedactionRequest(entity: 1, object: .fixed(1), slots: [0, 1]))
        #expect(try texts(secrets, in: "test.stet") == secrets)
        _ = try file.copy(to: directory.file("copy.stet"))
        #expect(try texts(secrets, in: "copy.stet") == [])
        #expect(try StoreInspection.inspect(directory.file("copy.stet")).freePageCount == 0)
    }
}
