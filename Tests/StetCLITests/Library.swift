import Foundation
import StetStore
import StetTestSupport
import Testing

/// A store of shelves, books and tags: references, ordered members, links, rules, unique values,
/// stamps and a value of every type.
final class Library {
    let directory = TemporaryDirectory()
    let file: StoreFile

    var path: String { file.path }

    init(_ name: String = "library.stet") throws {
        file = try StoreFile.open(at: directory.file(name), schema: .library)
    }

    deinit { file.close() }

    /// Writes text to a file of the test; its path.
    func write(_ text: String, to name: String) throws -> String {
        let path = directory.file(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Commits new objects with values by name; what is not named is nil.
    func insert(
        _ objects: [(entity: String, id: Int, values: [String: Value])], time: Double = 0
    ) throws {
        var changes = NetChanges(schema: file.schema)
        for object in objects {
            let number = try #require(file.schema.number(ofEntity: object.entity))
            let entity = file.schema.entities[number - 1]
            let body = changes.encode(entity: number) { writer in
                writer.write(entity.properties.map { object.values[$0.name] ?? .null })
            }
            changes.append(
                NetChanges.Item(
                    kind: .insert, entity: number, id: .fixed(object.id), base: .zero,
                    before: 0..<0, after: body))
        }
        changes.sort()
        _ = try file.commit(
            changes.encoded(
                attributes: CommitAttributes(), base: .zero, token: .random(in: .min ... .max),
                time: time))
    }

    /// Two shelves with four books and two tags.
    func fill() throws {
        func book(
            _ id: Int, _ title: String, _ pages: Int?, shelf: Int?, price: Double? = nil,
            isLent: Bool = false, read: Double? = nil
        ) -> (String, Int, [String: Value]) {
            (
                "Book", id,
                [
                    "title": .string(title), "pages": pages.map { .int($0) } ?? .null,
                    "shelf": shelf.map { .reference(.fixed($0)) } ?? .null,
                    "price": price.map { .double($0) } ?? .null, "isLent": .bool(isLent),
                    "read": read.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null,
                    "made": .date(Date(timeIntervalSinceReferenceDate: 1)),
                ]
            )
        }
        func link(_ id: Int, _ source: Int, _ target: Int, _ place: Int? = nil) -> (
            String, Int, [String: Value]
        ) {
            let ends: [String: Value] = [
                "source": .reference(.fixed(source)), "target": .reference(.fixed(target)),
            ]
            let position = place.map { ["position": Value.data(Data([128, UInt8($0)]))] } ?? [:]
            return (
                place == nil ? "Book_tags" : "Shelf_books", id,
                ends.merging(position) { one, _ in one }
            )
        }
        try insert([
            ("Shelf", 1, ["name": .string("north")]), ("Shelf", 2, ["name": .string("south")]),
            ("Tag", 31, ["name": .string("maths")]), ("Tag", 32, ["name": .string("poems")]),
            book(11, "Élan vital", 100, shelf: 1, price: 9.5, read: 0),
            book(12, "elan", 250, shelf: 1, price: .nan, isLent: true),
            book(13, "Zen \"and\" \n so on", nil, shelf: 2, read: 86_400.5),
            book(14, "loose", -3, shelf: nil, price: -0.0),
            link(41, 1, 12, 1), link(42, 1, 11, 2), link(43, 2, 13, 1),
            link(51, 11, 31), link(52, 11, 32), link(53, 12, 32),
        ])
    }

    /// The bodies of all objects, by entity and id.
    func bodies() throws -> [String: [UInt8]] {
        var bodies: [String: [UInt8]] = [:]
        try file.read { reader in
            for (index, entity) in file.schema.entities.enumerated() {
                try reader.forEachRecord(ofEntity: index + 1, asOf: .last) { id, record in
                    bodies["\(entity.name) \(id)"] = Array(record.body)
                    return true
                }
            }
        }
        return bodies
    }
}

extension Schema {
    /// The entities of the library.
    static let library: Schema = {
        do {
            return try Schema(entities: [
                book, shelf, .links("Book_tags", from: "Book", to: "Tag", isOrdered: false),
                .links("Shelf_books", from: "Shelf", to: "Book", isOrdered: true),
                Entity(
                    name: "Tag",
                    properties: [
                        Property(
                            name: "name", type: .string, rules: [.notEmpty],
                            normalizers: [.trimmed, .lowercased])
                    ],
                    indexes: [EntityIndex([EntityIndex.Part(slot: 0)], isUnique: true)]),
                Entity(name: "Everything", properties: everything),
            ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    private static let book = Entity(
        name: "Book",
        properties: [
            Property(name: "title", type: .string, rules: [.length(minimum: 1, maximum: 30)]),
            Property(
                name: "pages", type: .int16, isOptional: true,
                rules: [.range(minimum: .int(-10), maximum: .int(2_000))]),
            Property(name: "price", type: .double, isOptional: true),
            Property(name: "isLent", type: .bool),
            Property(name: "read", type: .date, isOptional: true),
            Property(name: "made", type: .date, stamp: .insert),
            Property(name: "shelf", type: .reference, isOptional: true, target: "Shelf"),
        ],
        indexes: [EntityIndex([EntityIndex.Part(slot: 1)], isUnique: false)],
        relationships: [
            Relationship(name: "tags", target: "Tag", members: .sourceOf(links: "Book_tags"))
        ])

    private static let shelf = Entity(
        name: "Shelf", properties: [Property(name: "name", type: .string)],
        relationships: [
            Relationship(
                name: "books", target: "Book", members: .references(property: "shelf"),
                order: "Shelf_books", maximumCount: 3)
        ])

    /// An optional property of each type.
    private static let everything: [Property] = ValueType.allCases.map { type in
        let elements: [ValueType] =
            type == .list ? [.double] : type == .dictionary ? [.string, .date] : []
        return Property(
            name: "\(type)", type: type, elements: elements, isOptional: true,
            target: type == .reference ? "Everything" : nil)
    }
}
