import Foundation
import StetStore
import StetTestSupport
import Testing

/// A store of shelves, books and tags: references, ordered members, links with and without an
/// order, rules, unique values, stamps and a value of every type.
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

    /// The members that an object gets by links.
    typealias Links = (name: String, source: Int, targets: [Int])

    /// Commits new objects with values by name; what is not named is nil.
    func insert(
        _ objects: [(entity: String, id: Int, values: [String: Value])], links: [Links] = [],
        time: Double = 0
    ) throws {
        var changes = ChangeSetBuilder(schema: file.schema)
        for object in objects {
            let number = try #require(file.schema.number(ofEntity: object.entity))
            let entity = file.schema.entities[number]
            let body = changes.encode(entity: number) { writer in
                writer.write(entity.properties.map { object.values[$0.name] ?? .null })
            }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: .insert, entity: number, id: .fixed(object.id), base: .zero,
                    before: 0..<0, after: body))
        }
        for links in links {
            let link = try #require(file.schema.number(ofLink: links.name))
            let isOrdered = file.schema.links[link - 1].isOrdered
            for (target, position) in zip(links.targets, Self.positions) {
                let key = LinkKey(link: link, source: .fixed(links.source), target: .fixed(target))
                changes.append(
                    LinkChange(
                        key, before: .absent, after: .present(isOrdered ? position : nil),
                        previous: .zero))
            }
        }
        changes.sort()
        _ = try file.commit(
            changes.encoded(
                attributes: CommitAttributes(), base: .zero, token: .random(in: .min ... .max),
                time: time))
    }

    /// Positions in ascending order.
    static let positions = ListPosition.spread(8, between: nil, and: nil) ?? []

    /// Two shelves with four books and two tags.
    func fill() throws {
        func book(
            _ id: Int, _ title: String, _ pages: Int?, shelf: (id: Int, place: Int)?,
            price: Double? = nil,
            isLent: Bool = false, read: Double? = nil
        ) -> (String, Int, [String: Value]) {
            (
                "Book", id,
                [
                    "title": .string(title), "pages": pages.map { .int($0) } ?? .null,
                    "shelf":
                        shelf.map { .placed(.fixed($0.id), Self.positions[$0.place]) } ?? .null,
                    "price": price.map { .double($0) } ?? .null, "isLent": .bool(isLent),
                    "read": read.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null,
                    "made": .date(Date(timeIntervalSinceReferenceDate: 1)),
                ]
            )
        }
        try insert(
            [
                ("Shelf", 1, ["name": .string("north")]), ("Shelf", 2, ["name": .string("south")]),
                ("Tag", 31, ["name": .string("maths")]), ("Tag", 32, ["name": .string("poems")]),
                book(11, "Élan vital", 100, shelf: (1, 1), price: 9.5, read: 0),
                book(12, "elan", 250, shelf: (1, 0), price: .nan, isLent: true),
                book(13, "Zen \"and\" \n so on", nil, shelf: (2, 0), read: 86_400.5),
                book(14, "loose", -3, shelf: nil, price: -0.0),
            ],
            links: [
                ("Book.tags", 11, [31, 32]), ("Book.tags", 12, [32]),
                ("Book.sequels", 13, [14, 11, 12]),
            ])
    }

    /// Inserts an object for each value that the tests of exact texts have, in a commit of its own.
    func insertEverything(except excluded: ValueType? = nil) throws {
        for (index, entry) in ExactTextTests.values.enumerated()
        where entry.0 != excluded
            && file.schema.entity(named: "Everything")?.properties
                .first(where: { $0.type == entry.0 })?.elements == entry.1
        {
            var value = entry.2
            if case .reference = value { value = .reference(.fixed(100)) }
            try insert([("Everything", 100 + index, ["\(entry.0)": value])])
        }
    }

    /// The bodies of all objects, by entity and id.
    func bodies() throws -> [String: [UInt8]] {
        var bodies: [String: [UInt8]] = [:]
        try file.read { reader in
            for (number, entity) in file.schema.entities.numbered {
                try reader.forEachRecord(ofEntity: number, asOf: .max) { id, record in
                    bodies["\(entity.name) \(id)"] = Array(record.body)
                    return true
                }
            }
        }
        return bodies
    }
}

extension Library {
    /// The numbers of the members of an object, in order, as of a revision.
    func members(
        _ name: String, of owner: Int, isSource: Bool = true, asOf revision: Revision = .max
    ) throws -> [UInt64] {
        let link = try #require(file.schema.number(ofLink: name))
        let ends = try #require(file.schema.ends(ofLink: link))
        return try members(isSource ? ends.targets : ends.sources, of: owner, asOf: revision)
    }

    /// The numbers of the books of a shelf, in order.
    func books(ofShelf shelf: Int) throws -> [UInt64] {
        let book = try #require(file.schema.number(ofEntity: "Book"))
        let slot = try #require(file.schema.entities[book].slot(of: "shelf"))
        return try members(
            try #require(file.schema.end(ofEntity: book, slot: slot)), of: shelf, asOf: .max)
    }

    private func members(
        _ end: MemberEnd, of owner: Int, asOf revision: Revision
    ) throws -> [UInt64] {
        try file.read { reader in
            let state = WorkingState(file.schema, at: min(revision, try reader.head().revision))
            return try state.members(of: .fixed(owner), at: end, reader).map { $0.id.low & 0xff }
        }
    }

    /// The members of all objects by links, each list in its order.
    func links() throws -> [String: [ObjectID]] {
        var links: [String: [ObjectID]] = [:]
        try file.read { reader in
            for (number, entity) in file.schema.entities.numbered {
                for end in file.schema.ends(ofOwner: number) where !end.isReference {
                    try reader.forEachRecord(ofEntity: number, asOf: .max) { id, _ in
                        let members = try reader.linkedMembers(of: id, at: end, asOf: .max)
                        if !members.isEmpty {
                            links["\(entity.name) \(id) \(end.source)"] = members.map(\.id)
                        }
                        return true
                    }
                }
            }
        }
        return links
    }
}

extension Schema {
    /// The entities of the library.
    static let library: Schema = {
        do {
            return try Schema(
                entities: [
                    book, shelf, tag, Entity(name: "Everything", properties: everything),
                ],
                links: [
                    LinkType(name: "Book.tags", source: "Book", target: "Tag"),
                    LinkType(
                        name: "Book.sequels", source: "Book", target: "Book", isOrdered: true),
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
            Property(
                name: "shelf", type: .reference, isOptional: true, target: "Shelf",
                hasPosition: true),
        ],
        indexes: [EntityIndex([EntityIndex.Part(slot: 1)], isUnique: false)],
        relationships: [
            Relationship(name: "tags", target: "Tag", members: .targets(ofLinks: "Book.tags")),
            Relationship(
                name: "sequels", target: "Book", members: .targets(ofLinks: "Book.sequels"),
                isOrdered: true),
        ])

    private static let tag = Entity(
        name: "Tag",
        properties: [
            Property(
                name: "name", type: .string, rules: [.notEmpty],
                normalizers: [.trimmed, .lowercased])
        ],
        indexes: [EntityIndex([EntityIndex.Part(slot: 0)], isUnique: true)],
        relationships: [
            Relationship(
                name: "books", target: "Book", members: .sources(ofLinks: "Book.tags"),
                maximumCount: 3)
        ])

    private static let shelf = Entity(
        name: "Shelf", properties: [Property(name: "name", type: .string)],
        relationships: [
            Relationship(
                name: "books", target: "Book", members: .references(property: "shelf"),
                isOrdered: true, maximumCount: 3)
        ])

    /// An optional property of each type.
    private static let everything: [Property] = ValueType.allCases.filter {
        $0 != .embedded
    }.map { type in
        let elements: [ValueType] =
            type == .list ? [.double] : type == .dictionary ? [.string, .date] : []
        return Property(
            name: "\(type)", type: type, elements: elements, isOptional: true,
            target: type == .reference ? "Everything" : nil)
    }
}
