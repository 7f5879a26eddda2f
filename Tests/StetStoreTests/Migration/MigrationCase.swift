import Foundation
import StetStore
import Testing

/// Two versions of a model, values of the first, and what they are in the second.
struct MigrationCase: Sendable, CustomTestStringConvertible {
    var name: String
    var old: [Entity]
    var new: [Entity]
    var origins = SchemaOrigins()
    /// The steps of the plan.
    var steps: [String]
    /// The objects, by entity number, before and after; after: nil where they are gone.
    var objects: [(key: ObjectKey, old: [Value], new: [Value]?)]

    var testDescription: String { name }

    init(
        _ name: String, _ old: [Entity], _ new: [Entity], origins: SchemaOrigins = .init(),
        steps: [String], objects: [(ObjectKey, [Value], [Value]?)]
    ) {
        self.name = name
        self.old = old
        self.new = new
        self.origins = origins
        self.steps = steps
        self.objects = objects
    }
}

extension SchemaOrigins {
    init(
        entities: [String: String] = [:], properties: [String: [String: String]] = [:],
        defaults: [String: [String: Value]] = [:]
    ) {
        self.init()
        entityNames = entities
        propertyNames = properties.mapValues { $0.mapValues { name in [name] } }
        self.defaults = defaults.mapValues { $0.mapValues { value in { value } } }
    }
}

extension Property {
    static let title = Property(name: "title", type: .string)
    static let optionalTitle = Property(name: "title", type: .string, isOptional: true)
    static let rating = Property(name: "rating", type: .int)
    static let next = Property(name: "next", type: .reference, isOptional: true, target: "Note")
    static let book = Property(name: "book", type: .reference, isOptional: true, target: "Book")
}

/// An entity that most cases have: number 2, behind `book`.
func note(_ properties: Property..., indexes: [EntityIndex] = []) -> Entity {
    Entity(name: "Note", properties: properties, indexes: indexes)
}

let book = Entity(name: "Book", properties: [Property(name: "name", type: .string)])

private func noteKey(_ number: Int) -> ObjectKey { ObjectKey(2, number) }
private let shelf = (ObjectKey(1, 1), [Value.string("shelf")], [Value.string("shelf")] as [Value]?)
private func to(_ key: ObjectKey) -> Value { .reference(key.id) }

extension MigrationCase {
    static let attributes = [
        MigrationCase(
            "optional attribute added", [book, note(.title)],
            [book, note(.title, Property(name: "body", type: .data, isOptional: true))],
            steps: ["adds Note.body, data?, as nil"],
            objects: [shelf, (noteKey(2), [.string("a")], [.string("a"), .null])]),
        MigrationCase(
            "attributes with defaults added", [book, note(.title)],
            [
                book,
                note(
                    .rating, .title, Property(name: "tags", type: .list, elements: [.string]),
                    Property(name: "price", type: .decimal, isOptional: true)),
            ],
            origins: SchemaOrigins(defaults: [
                "Note": [
                    "rating": .int(3), "tags": .list([.string("new")]), "price": .decimal(1.5),
                ]
            ]),
            steps: [
                "adds Note.rating, int, as 3", "adds Note.tags, [string], as [\"new\"]",
                "adds Note.price, decimal?, as 1.5",
            ],
            objects: [
                (
                    noteKey(2), [.string("a")],
                    [.int(3), .string("a"), .list([.string("new")]), .decimal(1.5)]
                )
            ]),
        MigrationCase(
            "attribute removed", [book, note(.rating, .title)], [book, note(.title)],
            steps: ["removes Note.rating with its values"],
            objects: [(noteKey(2), [.int(7), .string("a long title")], [.string("a long title")])]),
        MigrationCase(
            "attribute renamed", [book, note(.rating, .title)],
            [book, note(.rating, Property(name: "headline", type: .string))],
            origins: SchemaOrigins(properties: ["Note": ["headline": "title"]]),
            steps: ["renames Note.title to headline"],
            objects: [(noteKey(2), [.int(7), .string("a")], [.int(7), .string("a")])]),
        MigrationCase(
            "required to optional", [book, note(.title)], [book, note(.optionalTitle)],
            steps: ["lets Note.title be nil"],
            objects: [(noteKey(2), [.string("a")], [.string("a")])]),
        MigrationCase(
            "optional to required with default", [book, note(.optionalTitle)],
            [book, note(.title)],
            origins: SchemaOrigins(defaults: ["Note": ["title": .string("untitled")]]),
            steps: ["makes Note.title \"untitled\" where it is nil"],
            objects: [
                (noteKey(2), [.null], [.string("untitled")]),
                (noteKey(3), [.string("a")], [.string("a")]),
            ]),
        MigrationCase(
            "attributes in another order", [book, note(.title, .rating, .book, .next)],
            [book, note(.next, .rating, .title, .book)],
            steps: ["gives the properties of Note another order"],
            objects: [
                shelf,
                (
                    noteKey(2), [.string("a"), .int(1), to(ObjectKey(1, 1)), to(noteKey(3))],
                    [to(noteKey(3)), .int(1), .string("a"), to(ObjectKey(1, 1))]
                ),
                (
                    noteKey(3), [.string("b"), .int(2), .null, to(noteKey(3))],
                    [to(noteKey(3)), .int(2), .string("b"), .null]
                ),
            ]),
    ]

    static let entities = [
        MigrationCase(
            "entity added", [book, note(.title)],
            [book, note(.title, .book), Entity(name: "Author", properties: [.title])],
            steps: ["adds the entity Author", "adds Note.book, Book?, as nil"],
            objects: [shelf, (noteKey(2), [.string("a")], [.string("a"), .null])]),
        MigrationCase(
            "entity removed", [book, note(.title, .book, .next)],
            [note(.title, .next)],
            steps: [
                "removes the entity Book with all of its objects",
                "removes Note.book with its values",
            ],
            objects: [
                (ObjectKey(1, 1), [.string("shelf")], nil),
                (
                    noteKey(2), [.string("a"), to(ObjectKey(1, 1)), to(noteKey(2))],
                    [.string("a"), to(noteKey(2))]
                ),
            ]),
        MigrationCase(
            "entity renamed", [book, note(.title, .next, .book)],
            [
                Entity(name: "Zine", properties: [Property(name: "name", type: .string)]),
                Entity(
                    name: "Article",
                    properties: [
                        .title,
                        Property(
                            name: "next", type: .reference, isOptional: true, target: "Article"),
                        Property(
                            name: "book", type: .reference, isOptional: true, target: "Zine"),
                    ]),
            ],
            origins: SchemaOrigins(entities: ["Article": "Note", "Zine": "Book"]),
            steps: ["renames the entity Book to Zine", "renames the entity Note to Article"],
            objects: [
                shelf,
                (
                    noteKey(2), [.string("a"), to(noteKey(2)), to(ObjectKey(1, 1))],
                    [.string("a"), to(noteKey(2)), to(ObjectKey(1, 1))]
                ),
            ]),
    ]

    static let indexes = [
        MigrationCase(
            "index added", [book, note(.title)],
            [book, note(.title, indexes: [EntityIndex(0)])],
            steps: ["builds the index (title) of Note"],
            objects: [(noteKey(2), [.string("b")], [.string("b")])]),
        MigrationCase(
            "index removed", [book, note(.title, indexes: [EntityIndex(0)])],
            [book, note(.title)],
            steps: ["drops the index (title) of Note"],
            objects: [(noteKey(2), [.string("b")], [.string("b")])]),
        MigrationCase(
            "indexes kept, dropped, built",
            [
                Entity(
                    name: "Book", properties: [Property(name: "name", type: .string)],
                    indexes: [EntityIndex(0)]),
                note(.title, .rating, indexes: [EntityIndex(0), EntityIndex(1, 0)]),
            ],
            [
                book,
                note(
                    .rating, .title,
                    indexes: [EntityIndex(1, isUnique: true), EntityIndex(0, 1), EntityIndex(0)]),
            ],
            steps: [
                "gives the properties of Note another order", "drops the index (name) of Book",
                "builds the index (rating) of Note", "builds the unique index (title) of Note",
                "drops the index (title) of Note",
            ],
            objects: [
                shelf, (noteKey(2), [.string("b"), .int(1)], [.int(1), .string("b")]),
                (noteKey(3), [.string("a"), .int(1)], [.int(1), .string("a")]),
            ]),
        MigrationCase(
            "condition of an index kept",
            [book, note(.title, .rating, indexes: [EntityIndex(0).only(where: isAbove(1, 1))])],
            [book, note(.rating, .title, indexes: [EntityIndex(1).only(where: isAbove(1, 0))])],
            steps: ["gives the properties of Note another order"],
            objects: rated),
        MigrationCase(
            "condition of an index changed",
            [book, note(.title, .rating, indexes: [EntityIndex(0).only(where: isAbove(1, 1))])],
            [book, note(.rating, .title, indexes: [EntityIndex(1).only(where: isAbove(2, 0))])],
            steps: [
                "gives the properties of Note another order",
                "builds the index (title) where rating > 2 of Note",
                "drops the index (title) where rating > 1 of Note",
            ],
            objects: rated),
        MigrationCase(
            "condition of an index dropped",
            [book, note(.title, .rating, indexes: [EntityIndex(0).only(where: isAbove(1, 1))])],
            [book, note(.rating, .title, indexes: [EntityIndex(1)])],
            steps: [
                "gives the properties of Note another order", "builds the index (title) of Note",
                "drops the index (title) where rating > 1 of Note",
            ],
            objects: rated),
    ]

    private static func isAbove(_ number: Int, _ slot: Slot) -> QueryNode {
        .comparison(.greater, .property(.root, slot: slot), .constant(.int(number)))
    }

    private static let rated = (1...3).map { number in
        let (title, rating) = (Value.string("n\(number)"), Value.int(number))
        return (noteKey(number + 1), [title, rating], [rating, title] as [Value]?)
    }

    static let relationships = [
        MigrationCase(
            "relationship added", [book, note(.title)], [book, note(.book, .title, .next)],
            steps: ["adds Note.book, Book?, as nil", "adds Note.next, Note?, as nil"],
            objects: [shelf, (noteKey(2), [.string("a")], [.null, .string("a"), .null])]),
        MigrationCase(
            "relationship removed", [book, note(.book, .title, .next)],
            [book, note(.title, .next)],
            steps: ["removes Note.book with its values"],
            objects: [
                shelf,
                (
                    noteKey(2), [to(ObjectKey(1, 1)), .string("a"), to(noteKey(2))],
                    [.string("a"), to(noteKey(2))]
                ),
            ]),
    ]

    static let all = attributes + entities + indexes + relationships
}
