import StetStore

extension Schema {
    /// The schema of the simulation: unique values, a counter, an optional embedded value,
    /// arrays of embedded values with and without an identity, derived attributes, a large value, a
    /// sealed one, delete rules, required references, links with and without an order, stamps.
    static let simulation: Schema = {
        do { return try Schema(entities: [box, item, label], links: [related, steps]) } catch {
            preconditionFailure("the schema of the simulation: \(error)")
        }
    }()

    private static let partMembers = [
        Property(name: "id", type: .int), Property(name: "text", type: .string),
        Property(name: "note", type: .string, isOptional: true),
    ]

    private static let box = Entity(
        name: "Box",
        properties: [
            Property(name: "name", type: .string, rules: [.notEmpty]),
            Property(name: "note", type: .string, isOptional: true),
            Property(name: "count", type: .int, isCounter: true),
            Property(name: "site", type: .bool, isOptional: true),
            Property(name: "site.city", type: .string, isOptional: true, rules: [.required]),
            Property(name: "site.size", type: .int, isOptional: true),
            Property(name: "parts", type: .list, elements: [.embedded]).array(
                of: EmbeddedElements(members: partMembers, identity: 0)),
        ],
        indexes: [
            EntityIndex([.init(slot: 0)], isUnique: true), EntityIndex([.init(slot: 4)]),
            EntityIndex(substringsOf: 4),
        ],
        relationships: [
            Relationship(
                name: "items", target: "Item", members: .references(property: "box"),
                isOrdered: true, deleteRule: .cascade)
        ])

    private static let item = Entity(
        name: "Item",
        properties: [
            Property(name: "title", type: .string),
            Property(name: "rating", type: .int),
            Property(name: "changed", type: .date, isOptional: true, stamp: .update),
            Property(
                name: "box", type: .reference, isOptional: true, target: "Box",
                hasPosition: true),
            Property(name: "next", type: .reference, isOptional: true, target: "Item"),
            Property(name: "boxName", type: .string, isOptional: true)
                .derived(by: .property(.target(.root, slot: 3, entity: "Box"), slot: 0)),
            Property(name: "file", type: .data, isOptional: true, isLarge: true),
            Property(name: "secret", type: .data, isOptional: true, seal: .reference("box")),
            Property(name: "marks", type: .list, elements: [.embedded]).array(
                of: EmbeddedElements(members: partMembers, identity: nil)),
            Property(name: "double", type: .int).derived(
                by: .arithmetic(.multiply, .property(.root, slot: 1), .constant(.int(2)))),
        ],
        indexes: [
            EntityIndex([.init(slot: 0)], isUnique: true), EntityIndex([.init(slot: 1)]),
            EntityIndex([.init(slot: 5)]), EntityIndex(words: [0, 5]),
            EntityIndex([.init(slot: 7)]),
            EntityIndex([.init(slot: 5), .init(slot: 1)]).only(
                where: .comparison(.greater, .property(.root, slot: 1), .constant(.int(2)))),
        ],
        relationships: [
            Relationship(
                name: "related", target: "Item", members: .targets(ofLinks: "Item.related")),
            Relationship(
                name: "steps", target: "Item", members: .targets(ofLinks: "Item.steps"),
                isOrdered: true),
        ])

    private static let related = LinkType(name: "Item.related", source: "Item", target: "Item")

    private static let steps = LinkType(
        name: "Item.steps", source: "Item", target: "Item", isOrdered: true)

    private static let label = Entity(
        name: "Label",
        properties: [
            Property(name: "text", type: .string),
            Property(name: "item", type: .reference, target: "Item"),
        ])
}

/// The entities and links of the simulation by number.
enum SimulationEntity {
    static let box: EntityNumber = 1
    static let item: EntityNumber = 2
    static let label: EntityNumber = 3

    /// The entity to which a reference points, by entity and slot.
    static let references: [EntityNumber: [Slot: EntityNumber]] = [
        item: [3: box, 4: item], label: [1: item],
    ]
    /// The slots whose values are unique.
    static let unique: [EntityNumber: [Slot]] = [box: [0], item: [0]]
    /// The slot of an item's stamp.
    static let stamp: Slot = 2
    /// The slot with which an item refers to its box, with its position among the items there.
    static let boxOfItem: Slot = 3

    /// The slot of the name of an item's box, which is derived.
    static let boxName: Slot = 5
    /// The slot of twice an item's rating, which is derived.
    static let double: Slot = 9
    static let derived: [Slot] = [boxName, double]
    /// The slot of an item's large value.
    static let file: Slot = 6
    /// The slot of an item's value that is sealed by the key of its box.
    static let secret: Slot = 7

    /// The slot of a box's counter.
    static let counter: Slot = 2
    /// The slots of a box's optional embedded value: that of its presence, of the city, which it
    /// always has, and of the size.
    static let site: [Slot] = [3, 4, 5]

    /// The slot of an item's array of embedded values, which have no identity.
    static let marks: Slot = 8
    /// The slot of a box's array of embedded values.
    static let parts: Slot = 6

    static func isRequired(_ entity: EntityNumber) -> Bool { entity == label }
}

/// The links of the simulation by number; all are between items.
enum SimulationLink {
    static let related = 1
    static let steps = 2
}
