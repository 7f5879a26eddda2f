import Foundation
import StetStore
import Testing

struct LightMigrationTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private func open(_ entities: [Entity], _ origins: SchemaOrigins = .init()) throws -> StoreFile
    {
        try StoreFile.open(
            at: directory.file(), schema: try Schema(entities: entities), origins: origins,
            .small())
    }

    private func shown(_ values: [Value]) -> Shown {
        Shown(revision: 1, cells: values.map(\.cell))
    }

    /// A store of the old version with the case's objects, all in commit 1.
    private func make(_ example: MigrationCase) throws -> StoreFile {
        let file = try open(example.old)
        _ = try file.commit(example.objects.map { Edit($0.key, from: nil, to: $0.old) })
        return file
    }

    @Test func aValueForNilStaysWhenThePropertyIsOptionalAgain() throws {
        func person(isOptional: Bool, index: EntityIndex? = nil) -> [Entity] {
            let name = Property(name: "name", type: .string, isOptional: isOptional)
            return [Entity(name: "Person", properties: [name], indexes: index.map { [$0] } ?? [])]
        }
        let key = ObjectKey(1, 1)
        let first = try open(person(isOptional: true))
        _ = try first.commit([Edit(key, from: nil, to: [.null])])
        first.close()
        var origins = SchemaOrigins()
        origins.defaults["Person"] = ["name": { .string("unknown") }]
        let second = try open(person(isOptional: false), origins)
        #expect(try second.objects(asOf: 2) == [key: shown([.string("unknown")])])
        second.close()
        // Models that are not those of the first version, which the store would refuse.
        let third = try open(person(isOptional: true, index: EntityIndex(0)))
        #expect(try third.objects(asOf: 3) == [key: shown([.string("unknown")])])
        _ = try third.commit([Edit(key, from: [.string("unknown")], to: [.null], base: 1)])
        #expect(try third.verify().problems == [])
        #expect(try third.objects(asOf: 4).values.map(\.cells) == [[nil]])
    }

    @Test(arguments: MigrationCase.all)
    func whatIsStoredIsThereInTheNewVersion(example: MigrationCase) throws {
        let old = try make(example)
        let hash = try old.read { try $0.head().hash }
        old.close()
        let file = try open(example.new, example.origins)
        var expected: [ObjectKey: Shown] = [:]
        var targets: Set<MembershipKey> = []
        for (key, _, new) in example.objects {
            guard let new else { continue }
            expected[key] = shown(new)
            for case (let slot, .reference(let target)) in new.slotted {
                targets.insert(file.schema.membership(of: key, in: target, slot: slot))
            }
        }
        #expect(try file.objects(asOf: 2) == expected)
        #expect(try file.objects(asOf: 1) == expected)
        #expect(try file.objects(asOf: 0) == [:])
        #expect(try file.references() == targets)
        #expect(try file.verify().problems == [])
        let head = try file.read { try $0.head() }
        #expect(head.revision == 2)
        #expect(head.schemaRevision == 2)
        let commit = try file.read { try $0.commit(2) }
        #expect(commit.cause == .migration)
        #expect(commit.changeCount == 0)
        #expect(commit.envelope.previousHash == hash)
        #expect(commit.envelope.hash == head.hash)
        #expect(commit.label == "migrate to schema 2")
    }

    @Test(arguments: MigrationCase.all)
    func thePlanSaysWhatIsDone(example: MigrationCase) throws {
        let stored = try Schema(entities: example.old)
        let comparison = try SchemaComparison(
            of: stored, with: try Schema(entities: example.new), example.origins)
        #expect(comparison.problems == [])
        #expect(comparison.steps == example.steps)
        let same = try SchemaComparison(
            of: comparison.schema, with: try Schema(entities: example.new), example.origins)
        #expect(same.steps == [])
        #expect(same.problems == [])
        #expect(same.schema == comparison.schema)
    }

    @Test(arguments: MigrationCase.all)
    func theMigratedStoreIsEditedReopenedAndProved(example: MigrationCase) throws {
        try make(example).close()
        var file = try open(example.new, example.origins)
        let live = example.objects.compactMap { object in
            object.new.map { (key: object.key, values: $0) }
        }
        var changed: [ObjectKey: Shown] = [:]
        for (index, object) in live.enumerated() {
            // Deletes the first object, and changes the first plain property of the others.
            var after: [Value]? = index == 0 && live.count > 1 ? nil : object.values
            if let slot = object.values.firstIndex(where: { value in
                if case .reference = value { false } else { value != .null }
            }) {
                after?[slot] =
                    switch object.values[slot] {
                    case .int(let number): .int(number + 100)
                    default: .string("changed \(index)")
                    }
            }
            if object.values.contains(.reference(live[0].key.id)), live.count > 1 { continue }
            let isReferred = live.contains { $0.values.contains(.reference(object.key.id)) }
            if after == nil, isReferred { continue }
            let commit = try file.commit([
                Edit(object.key, from: object.values, to: after, base: 1)
            ])
            changed[object.key] = after.map {
                Shown(revision: commit.revision, cells: $0.map(\.cell))
            }
            if after == nil {
                changed[object.key] = nil
                #expect(try file.object(object.key, asOf: commit.revision) == nil)
            }
        }
        for reopens in [false, true] {
            if reopens {
                file.close()
                file = try open(example.new, example.origins)
            }
            let head = try file.read { try $0.head().revision }
            let now = try file.objects(asOf: head)
            for (key, value) in changed { #expect(now[key] == value) }
            // Earlier revisions are unchanged by the migration and by later commits.
            var before: [ObjectKey: Shown] = [:]
            for object in live { before[object.key] = shown(object.values) }
            #expect(try file.objects(asOf: 2) == before)
            #expect(try file.objects(asOf: 1) == before)
            #expect(try file.verify().problems == [])
        }
    }

    @Test func numbersWiden() throws {
        let pairs: [(ValueType, ValueType, [(Value, Value)])] = [
            (.int8, .int16, [(.int(-128), .int(-128)), (.int(127), .int(127))]),
            (.int8, .int, [(.int(-1), .int(-1))]),
            (.int16, .int32, [(.int(-32_768), .int(-32_768))]),
            (.int32, .int, [(.int(.init(Int32.min)), .int(.init(Int32.min)))]),
            (.uint8, .uint16, [(.uint(255), .uint(255))]),
            (.uint8, .int16, [(.uint(255), .int(255))]),
            (.uint32, .int, [(.uint(.init(UInt32.max)), .int(.init(UInt32.max)))]),
            (.uint32, .uint, [(.uint(7), .uint(7))]), (.int16, .float, [(.int(-5), .float(-5))]),
            (.int32, .double, [(.int(.init(Int32.min)), .double(-2_147_483_648))]),
            (.uint32, .double, [(.uint(9), .double(9))]),
            (
                .float, .double,
                [(.float(0.1), .double(Double(Float(0.1)))), (.float(-0.0), .double(-0.0))]
            ),
        ]
        for (index, (old, new, values)) in pairs.enumerated() {
            let name = "numbers-\(index).stet"
            func schema(_ type: ValueType) throws -> Schema {
                try Schema(entities: [
                    Entity(
                        name: "A", properties: [Property(name: "n", type: type)],
                        indexes: [EntityIndex(0)])
                ])
            }
            var file = try directory.open(name, schema: try schema(old))
            _ = try file.commit(
                values.enumerated().map { Edit(ObjectKey(1, $0 + 1), from: nil, to: [$1.0]) })
            file.close()
            file = try directory.open(name, schema: try schema(new))
            for (number, (_, value)) in values.enumerated() {
                let key = ObjectKey(1, number + 1)
                #expect(try file.object(key, asOf: 2) == shown([value]), "\(old) → \(new)")
                _ = try file.commit([Edit(key, from: [value], to: nil, base: 1)])
                #expect(try file.object(key, asOf: 1) == shown([value]), "\(old) → \(new)")
            }
            #expect(try file.verify().problems == [], "\(old) → \(new)")
            file.close()
        }
    }

    @Test func narrowerAndOtherTypesAreRefused() throws {
        let types: [ValueType] = [
            .bool, .int, .int8, .int16, .int32, .uint, .uint8, .uint16, .uint32, .float, .double,
            .decimal, .string, .data, .date, .uuid, .url, .codable,
        ]
        var allowed: Set<String> = []
        for old in types {
            for new in types where new != old {
                func schema(_ type: ValueType) throws -> Schema {
                    try Schema(entities: [note(Property(name: "n", type: type))])
                }
                let comparison = try SchemaComparison(of: try schema(old), with: try schema(new))
                if comparison.problems.isEmpty {
                    allowed.insert("\(old)-\(new)")
                } else {
                    #expect(
                        comparison.problems
                            == ["Note.n is \(old) in the store and \(new) in the model"])
                }
            }
        }
        #expect(
            allowed == [
                "int8-int16", "int8-int32", "int8-int", "int8-float", "int8-double", "int16-int32",
                "int16-int", "int16-float", "int16-double", "int32-int", "int32-double",
                "uint8-uint16", "uint8-uint32", "uint8-uint", "uint8-int16", "uint8-int32",
                "uint8-int", "uint8-float", "uint8-double", "uint16-uint32", "uint16-uint",
                "uint16-int32", "uint16-int", "uint16-float", "uint16-double", "uint32-uint",
                "uint32-int", "uint32-double", "float-double",
            ])
    }

    @Test func earlierModelsAreRefusedAndNamed() throws {
        try open([book, note(.title)]).close()
        try open([book, note(.title, .next)]).close()
        let before = try directory.bytes()
        let error = thrown(StoreError.self) { try open([book, note(.title)]) }
        #expect(error?.code == .modelMismatch)
        #expect(
            error?.message == "The store was migrated from these models to later ones (it has "
                + "schema 2, and they are schema 1).")
        #expect(try directory.bytes() == before)
        let file = try open([book, note(.title, .next)])
        #expect(try file.verify().problems == [])
    }

    @Test func aUniqueIndexThatTheValuesDoNotAllowLeavesTheStoreAsItWas() throws {
        let long = String(repeating: "long ", count: 120)
        for (one, other) in [("a", "a"), (long, long)] {
            let example = MigrationCase(
                "", [book, note(.title)], [], steps: [],
                objects: [
                    (ObjectKey(2, 2), [.string(one)], nil), (ObjectKey(2, 3), [.string("b")], nil),
                    (ObjectKey(2, 4), [.string(other)], nil),
                    (ObjectKey(2, 5), [.string(long + "1")], nil),
                    (ObjectKey(2, 6), [.string(long + "2")], nil),
                ])
            let directory = try StoreDirectory()
            func open(_ indexes: [EntityIndex]) throws -> StoreFile {
                try directory.open(
                    schema: try Schema(entities: [book, note(.title, indexes: indexes)]))
            }
            var file = try open([])
            _ = try file.commit(example.objects.map { Edit($0.key, from: nil, to: $0.old) })
            let dump = try file.dump()
            file.close()
            let error = thrown(StoreError.self) { try open([EntityIndex(0, isUnique: true)]) }
            #expect(error?.code == .migrationFailed)
            #expect(
                error?.message == "The store can't be migrated: \(ObjectID.fixed(4)) and "
                    + "\(ObjectID.fixed(2)) have the same values of Note, unique (title).")
            file = try open([])
            #expect(try file.dump() == dump)
            #expect(try file.verify().problems == [])
        }
    }

    @Test func aNumberOfAnEntityIsNotUsedAgain() throws {
        try open([book, note(.title)]).close()
        try open([note(.title)]).close()
        try open([note(.title), Entity(name: "Author", properties: [.title])]).close()
        let file = try open([note(.title), book, Entity(name: "Author", properties: [.title])])
        #expect(file.schema.entities.map(\.name) == ["", "Note", "Author", "Book"])
        #expect(file.schema.number(ofEntity: "Book") == 4)
        #expect(file.schema.revision == 4)
        #expect(file.schema.number(ofEntity: "") == nil)
        #expect(file.schema.entity(numbered: 1) == nil)
        _ = try file.commit([Edit(ObjectKey(4, 1), from: nil, to: [.string("new")])])
        #expect(try file.verify().problems == [])
    }
}
