import Foundation
import StetStore
import StetTestSupport
import Testing

struct SchemaTests {
    private static let rich: Schema = {
        let day = Date(timeIntervalSinceReferenceDate: 86_400)
        let entities = [
            Entity(
                name: "Notebook",
                properties: [
                    Property(
                        name: "name", type: .string,
                        rules: [.required, .notEmpty, .length(minimum: 1, maximum: 25)],
                        normalizers: [.trimmed]),
                    Property(name: "created", type: .date, stamp: .insert),
                    Property(
                        name: "updated", type: .date, isOptional: true,
                        rules: [.range(minimum: .date(day), maximum: nil)], stamp: .update),
                    Property(
                        name: "weight", type: .double,
                        rules: [.range(minimum: .double(-1.5), maximum: .double(.infinity))]),
                    Property(
                        name: "blob", type: .data, isOptional: true,
                        rules: [.length(minimum: nil, maximum: nil)]),
                    Property(
                        name: "parent", type: .reference, isOptional: true, target: "Notebook"),
                ]),
            Entity(
                name: "Überschrift",
                properties: ValueType.allCases.filter { ![.reference, .embedded].contains($0) }.map
                { type in
                    let elements: [ValueType] =
                        type == .list ? [.int8] : type == .dictionary ? [.string, .codable] : []
                    return Property(
                        name: "p\(type)", type: type, elements: elements, rules: [.required])
                }
                    + [
                        Property(
                            name: "price", type: .decimal,
                            rules: [.range(minimum: .decimal(-1.5), maximum: .decimal(.nan))]),
                        Property(
                            name: "width", type: .uint16,
                            rules: [.range(minimum: .uint(1), maximum: .uint(.max))]),
                    ]),
            Entity(name: "Empty", properties: []),
            Entity.patterned,
        ]
        do { return try Schema(revision: 3, entities: entities) } catch {
            preconditionFailure("\(error)")
        }
    }()

    private func decode(_ bytes: [UInt8]) throws -> Schema {
        try bytes.withUnsafeBytes { try Schema(decoding: $0) }
    }

    @Test func encodingBringsASchemaBack() throws {
        for schema in [Self.rich, .library, try Schema(entities: [])] {
            #expect(try decode(schema.encoded()) == schema)
        }
    }

    @Test func theOrderOfDeclarationOfEntitiesMakesNoDifference() throws {
        let one = try Schema(entities: [.tag, .notebook, .article])
        #expect(one == .library)
        #expect(one.encoded() == Schema.library.encoded())
        #expect(one.entities.map(\.name) == ["Article", "Notebook", "Tag"])
        #expect(one.number(ofEntity: "Notebook") == 2)
        #expect(one.entity(named: "Tag") == .tag)
        #expect(one.entity(numbered: 1) == .article)
        for name in ["", "A", "Noteboo", "Tagg", "Zebra"] {
            #expect(one.entity(named: name) == nil)
        }
        for number in [-1, 0, 4, EntityNumber(Int.max)] {
            #expect(one.entity(numbered: number) == nil)
        }
        #expect(Entity.article.slot(of: "next") == 9)
        #expect(Entity.article.slot(of: "x") == nil)
    }

    // MARK: Hostile bytes

    @Test func everyPrefixOfAnEncodedSchemaIsRefused() {
        let bytes = Self.rich.encoded()
        for count in 0..<bytes.count {
            let failure = thrown(DecodingFailure.self) { try decode(Array(bytes[..<count])) }
            #expect(failure != nil, "\(count) of \(bytes.count) bytes")
        }
        #expect(thrown(DecodingFailure.self) { try decode(bytes + [0]) } != nil)
    }

    @Test func randomlyDamagedSchemasAreRefusedOrAreOtherSchemas() {
        let seed: UInt64 = 0x57e7_2100
        var random = SeededGenerator(seed: seed)
        let bytes = Self.rich.encoded()
        for round in 0..<10_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                damaged[index] ^= UInt8.random(in: 1...255, using: &random)
            }
            do {
                let schema = try decode(damaged)
                // A decoded schema is usable: encoding it again traps nowhere and gives the same
                // bytes.
                let bytes = schema.encoded()
                #expect(try decode(bytes).encoded() == bytes, "seed \(seed), round \(round)")
            } catch {
                let isTyped = error is DecodingFailure || error is StoreError
                #expect(isTyped, "seed \(seed), round \(round): \(error)")
            }
        }
    }

    /// Equal schemas have equal bytes; so bytes that say the same in another way are damage.
    @Test func bytesThatNoSchemaEncodesToAreRefused() throws {
        let bytes = Self.rich.encoded()
        var accepted: [String] = []
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                guard let schema = try? decode(damaged), schema.encoded() != damaged else {
                    continue
                }
                accepted.append("byte \(index) bit \(bit)")
            }
        }
        #expect(accepted == [])
    }

    // MARK: Problems

    private func problem(_ entities: Entity...) -> String? {
        thrown(StoreError.self) { try Schema(entities: entities) }.map { error in
            error.code == .invalidSchema ? error.message : "\(error.code)"
        }
    }

    private func entity(_ name: String = "A", _ properties: Property...) -> Entity {
        Entity(name: name, properties: properties)
    }

    @Test func unusableSchemasAreRefusedWithTheNameOfTheCulprit() {
        func message(_ text: String) -> String { "The schema is not usable: \(text)." }
        let text = Property(name: "p", type: .string)
        #expect(problem(entity(), entity()) == message("two entities are called A"))
        #expect(problem(entity("")) == message("an entity's name needs 1 to 255 bytes"))
        #expect(
            problem(entity("A", text, text)) == message("A has two properties called p"))
        #expect(
            problem(entity("A", Property(name: "", type: .int)))
                == message("a property's name needs 1 to 255 bytes"))
        #expect(
            problem(entity("A", Property(name: "p", type: .reference)))
                == message("A.p must name its target exactly if it is a reference"))
        #expect(
            problem(entity("A", Property(name: "p", type: .int, target: "A")))
                == message("A.p must name its target exactly if it is a reference"))
        #expect(
            problem(entity("A", Property(name: "p", type: .reference, target: "B")))
                == message("A.p refers to B, which is not in the schema"))
        #expect(
            problem(entity("A", Property(name: "p", type: .int, rules: [.notEmpty])))
                == message(".notEmpty does not fit A.p, which is a int"))
        let range = Rule.range(minimum: .int(1), maximum: .double(2))
        #expect(
            problem(entity("A", Property(name: "p", type: .int, rules: [range])))
                == message(".range(1...2.0) does not fit A.p, which is a int"))
    }

    @Test func namesAndCountsAreLimited() {
        func names(_ byteCount: Int) -> String {
            String(repeating: "n", count: byteCount)
        }
        #expect(problem(entity(names(Limits.nameByteCount))) == nil)
        #expect(problem(entity(names(Limits.nameByteCount + 1))) != nil)
        // The limit counts bytes, not characters.
        #expect(problem(entity(String(repeating: "é", count: 128))) != nil)
        func entities(_ count: Int) -> [Entity] { (0..<count).map { entity("E\($0)") } }
        #expect(
            thrown(StoreError.self) { try Schema(entities: entities(Limits.entityCount)) } == nil)
        let tooMany = thrown(StoreError.self) {
            try Schema(entities: entities(Limits.entityCount + 1))
        }
        #expect(tooMany?.code == .invalidSchema)
        func wide(_ count: Int) -> Entity {
            Entity(name: "W", properties: (0..<count).map { Property(name: "p\($0)", type: .int) })
        }
        #expect(problem(wide(Limits.propertyCount)) == nil)
        #expect(problem(wide(Limits.propertyCount + 1)) != nil)
    }

    /// Each is refused by `Schema` or encoded; neither may end the process.
    @Test func schemasBeyondTheFieldsOfTheirEncodingAreRefused() async {
        await #expect(processExitsWith: .success) {
            let property = Property(
                name: "p", type: .int, rules: [Rule](repeating: .required, count: 256))
            _ = try? Schema(entities: [Entity(name: "A", properties: [property])]).encoded()
        }
        await #expect(processExitsWith: .success) {
            let property = Property(
                name: "p", type: .string,
                normalizers: [Normalizer](repeating: .trimmed, count: 256))
            _ = try? Schema(entities: [Entity(name: "A", properties: [property])]).encoded()
        }
        await #expect(processExitsWith: .success) {
            _ = try? Schema(revision: -1, entities: []).encoded()
        }
        await #expect(processExitsWith: .success) {
            _ = try? Schema(revision: .max, entities: []).encoded()
        }
    }

    // MARK: Differences

    @Test func rulesNormalizersAndStampsAreNoDifference() throws {
        let plain = Property(name: "at", type: .date)
        let ruled = Property(name: "at", type: .date, rules: [.required], stamp: .update)
        let one = try Schema(entities: [entity("A", plain)])
        let other = try Schema(entities: [entity("A", ruled)])
        #expect(one != other)
        #expect(one.encoded() != other.encoded())
        for (stored, declared) in [(one, other), (other, one)] {
            let comparison = try SchemaComparison(of: stored, with: declared)
            #expect(comparison.steps == [])
            #expect(comparison.problems == [])
            #expect(comparison.schema == declared)
        }
    }

    // MARK: Indexes

    @Test func indexesAreEncodedInOneOrderAndOnceEach() throws {
        let folded = EntityIndex(0, isUnique: true, folding: [.caseInsensitive])
        let one = try indexed(EntityIndex(1, 0), folded, EntityIndex(0), EntityIndex(4))
        let other = try indexed(
            EntityIndex(4), EntityIndex(0), EntityIndex(0), folded, EntityIndex(1, 0))
        #expect(one == other)
        #expect(one.encoded() == other.encoded())
        #expect(try decode(one.encoded()) == one)
        #expect(one.indexes.map(\.number) == [1, 2, 3, 4])
        // A unique index serves as a plain one, too.
        let unique = EntityIndex(1, isUnique: true)
        #expect(try indexed(EntityIndex(1), unique).indexes.map(\.index) == [unique])
    }

    @Test func indexesThatCannotBeAreRefused() throws {
        let fit = [EntityIndex(0), EntityIndex(4), EntityIndex(0, folding: .caseInsensitive)]
        for index in fit { #expect(throws: Never.self) { try indexed(index) } }
        let misfits = [
            EntityIndex([]), EntityIndex(5), EntityIndex(0, 0), EntityIndex(2), EntityIndex(3),
            EntityIndex(1, folding: .caseInsensitive),
            EntityIndex(0, folding: TextFolding(rawValue: 4)),
        ]
        for index in misfits {
            #expect(
                thrown(StoreError.self) { try indexed(index) }?.code == .invalidSchema, "\(index)")
        }
        func wide(_ count: Int) throws -> Schema {
            try Schema(entities: [
                Entity(
                    name: "A",
                    properties: (0..<65).map { Property(name: "p\($0)", type: .int) },
                    indexes: (0..<count).map { EntityIndex(Slot($0)) })
            ])
        }
        #expect(throws: Never.self) { try wide(Limits.indexCount) }
        #expect(throws: StoreError.self) { try wide(Limits.indexCount + 1) }
        let many = (0..<Limits.indexPropertyCount + 1).map { EntityIndex.Part(slot: Slot($0)) }
        let properties = many.map { Property(name: "p\($0.slot)", type: .int) }
        func compound(_ count: Int) throws -> Schema {
            let index = EntityIndex(Array(many.prefix(count)))
            return try Schema(entities: [
                Entity(name: "A", properties: properties, indexes: [index])
            ])
        }
        #expect(throws: Never.self) { try compound(Limits.indexPropertyCount) }
        #expect(throws: StoreError.self) { try compound(Limits.indexPropertyCount + 1) }
    }

    @Test func everyPrefixOfASchemaWithIndexesIsRefused() throws {
        let bytes = Schema.people.encoded()
        #expect(try decode(bytes) == .people)
        for count in 0..<bytes.count {
            #expect(
                thrown(DecodingFailure.self) { try decode(Array(bytes[..<count])) } != nil,
                "\(count) of \(bytes.count) bytes")
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                if let schema = try? decode(damaged) { #expect(schema.encoded() == damaged) }
            }
        }
    }
}
