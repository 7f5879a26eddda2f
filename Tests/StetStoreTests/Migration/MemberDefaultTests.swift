import StetStore
import Testing

/// The default values of members that several migrations give to objects with and without the
/// optional embedded value.
struct MemberDefaultTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private enum Form {
        case optional, plain
    }

    /// Opens the store with an embedded value of some members, and default values for them.
    private func open(
        _ form: Form, _ members: [(name: String, type: ValueType, isOptional: Bool)],
        defaults: [String: Value] = [:]
    ) throws -> StoreFile {
        let presence = Property(name: "e", type: .bool, isOptional: true)
        let properties = members.map { member in
            Property(
                name: "e.\(member.name)", type: member.type,
                isOptional: form == .optional || member.isOptional,
                rules: form == .optional && !member.isOptional ? [.required] : [])
        }
        let entity = Entity(
            name: "A", properties: (form == .optional ? [presence] : []) + properties)
        return try StoreFile.open(
            at: directory.file(), schema: try Schema(entities: [entity]),
            origins: SchemaOrigins(defaults: ["A": defaults]), .small())
    }

    /// Makes a store of an object that gets the value, and one that never has it.
    private func make() throws {
        let file = try open(.optional, [("s", .string, false)])
        defer { file.close() }
        _ = try file.commit([
            Edit(ObjectKey(1, 1), from: nil, to: [.null, .null]),
            Edit(ObjectKey(1, 2), from: nil, to: [.null, .null]),
        ])
        _ = try file.commit([
            Edit(ObjectKey(1, 1), from: [.null, .null], to: [.bool(true), .string("a")], base: 1)
        ])
    }

    /// Returns the changes of an object, each as the new values by name.
    private func changes(_ id: Int, in file: StoreFile) throws -> [[String: Value]] {
        try file.read { try $0.history(ofEntity: 1, .fixed(id)) }.reversed().map { change in
            Dictionary(uniqueKeysWithValues: change.change.properties.map { ($0.name, $0.new) })
        }
    }

    @Test func anObjectWithoutTheValueHasTheDefaultsOfTheMigrationThatGivesItOne() throws {
        try make()
        try open(
            .optional, [("s", .string, false), ("n", .int, false)], defaults: ["e.n": .int(1)]
        ).close()
        let file = try open(
            .plain, [("s", .string, false), ("n", .int, false)],
            defaults: ["e.s": .string("none"), "e.n": .int(2)])
        let (with, without) = ([Value.string("a"), .int(1)], [Value.string("none"), .int(2)])
        let head = try file.objects(asOf: 4)
        #expect(head[ObjectKey(1, 1)]?.cells == with.map(\.cell))
        #expect(head[ObjectKey(1, 2)]?.cells == without.map(\.cell))
        #expect(try file.object(ObjectKey(1, 1), asOf: 1)?.cells == without.map(\.cell))
        #expect(try file.object(ObjectKey(1, 1), asOf: 2)?.cells == with.map(\.cell))
        #expect(
            try changes(1, in: file) == [
                ["e.s": .string("none"), "e.n": .int(2)], ["e.s": .string("a"), "e.n": .int(1)],
            ])
        #expect(try file.verify().problems == [])
    }

    @Test func aMemberThatMayBeNilAgainAppearsWithItsFormerDefault() throws {
        try make()
        try open(
            .optional, [("s", .string, false), ("n", .int, false)], defaults: ["e.n": .int(1)]
        ).close()
        let file = try open(.optional, [("s", .string, false), ("n", .int, true)])
        let last: [Value] = [.bool(true), .string("a"), .int(1)]
        #expect(try file.object(ObjectKey(1, 1), asOf: 4)?.cells == last.map(\.cell))
        #expect(
            try changes(1, in: file) == [
                ["e": .null, "e.s": .null, "e.n": .null],
                ["e": .bool(true), "e.s": .string("a"), "e.n": .int(1)],
            ])
        #expect(try file.verify().problems == [])
    }
}
