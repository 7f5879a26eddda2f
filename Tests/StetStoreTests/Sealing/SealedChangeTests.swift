import Foundation
import StetTestSupport
import Testing

@testable import StetStore

/// Change sets with sealed attributes, whichever way they came.
@Suite struct SealedChangeTests {
    private static func schema(_ seal: Seal? = .own, rules: [Rule] = []) throws -> Schema {
        try Schema(
            revision: 1,
            entities: [
                Entity(
                    name: "Person",
                    properties: [
                        Property(
                            name: "name", type: .data, isOptional: true, rules: rules, seal: seal),
                        Property(name: "age", type: .int),
                        Property(
                            name: "other", type: .reference, isOptional: true, target: "Person"),
                    ])
            ])
    }

    private func changes(_ value: Value, of id: ObjectID) throws -> ChangeSetBuilder {
        var builder = ChangeSetBuilder(schema: try Self.schema())
        let range = builder.encode(entity: 1) { $0.write([value, .int(5), .null]) }
        builder.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: id, base: .zero, before: 0..<0, after: range))
        return builder
    }

    private func encode(_ value: Value, of id: ObjectID) throws {
        _ = try changes(value, of: id).encoded(
            attributes: CommitAttributes(), base: .zero, token: 1, time: 0)
    }

    @Test func nothingIsWrittenThatIsNotSealedForItsObject() async throws {
        let directory = TemporaryDirectory()
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        let keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
        let (id, other) = (ObjectID(), ObjectID())
        try keys.makeKeys(for: [id, other])
        func sealed(for object: ObjectID) throws -> Value {
            let place = SealedBytes.Place(owner: id, object: object, label: 1)
            return .data(Data(try SealedBytes([7], at: place, by: keys).bytes))
        }
        for value in [
            Value.data(Data("plain".utf8)), .data(Data(SealedBytes(unsaved: [7]).bytes)),
            try sealed(for: other), .data(Data([1])),
        ] {
            #expect(try changes(value, of: id).violations().map(\.code) == [.unsealable])
            let error = #expect(throws: SealingError.self) { try encode(value, of: id) }
            #expect(error?.code == .misplaced)
        }
        for value in [try sealed(for: id), .null] {
            #expect(try changes(value, of: id).violations() == [])
            try encode(value, of: id)
        }
        // A migration may still have to give a value.
        let waiting = Value.data(Data())
        #expect(try changes(waiting, of: id).violations().map(\.code) == [.unsealable])
        try encode(waiting, of: id)
    }

    @Test func aSchemaHasTheOwnerOfASealedAttribute() throws {
        for seal in [Seal.own, .reference("other"), nil] {
            let schema = try Self.schema(seal)
            let decoded = try schema.encoded().withUnsafeBytes { try Schema(decoding: $0) }
            #expect(decoded == schema)
            #expect(decoded.entities[0].properties[0].seal == seal)
            #expect(decoded.hasSealedAttributes == (seal != nil))
        }
    }

    @Test(arguments: ["age", "nobody"])
    func anOwnerThatIsNoRelationshipIsRefused(name: String) {
        let error = #expect(throws: StoreError.self) { try Self.schema(.reference(name)) }
        #expect(error?.code == .invalidSchema)
        #expect(
            error?.message.contains(
                "Person.name is sealed by \(name), which is no relationship to one of Person")
                == true)
    }

    @Test func aSealedAttributeIsIndexedButNotUnique() throws {
        func schema(isUnique: Bool) throws -> Schema {
            let person = Entity(
                name: "Person",
                properties: [
                    Property(name: "name", type: .data, seal: .own),
                    Property(name: "age", type: .int),
                ],
                indexes: [
                    EntityIndex([EntityIndex.Part(slot: 1), EntityIndex.Part(slot: 0)]),
                    EntityIndex([EntityIndex.Part(slot: 0)], isUnique: isUnique),
                ])
            return try Schema(revision: 1, entities: [person])
        }
        #expect(try schema(isUnique: false).indexes.count == 2)
        let error = #expect(throws: StoreError.self) { try schema(isUnique: true) }
        #expect(error?.message.contains("Person.name is sealed, and can't be unique") == true)
    }

    @Test func rulesAreRefused() {
        let error = #expect(throws: StoreError.self) { try Self.schema(rules: [.notEmpty]) }
        #expect(error?.message.contains("is sealed, and can't have rules") == true)
        #expect(throws: Never.self) { try Self.schema(rules: [.required]) }
    }
}
