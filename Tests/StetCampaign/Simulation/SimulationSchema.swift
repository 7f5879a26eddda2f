import StetStore

extension Schema {
    /// The schema of the simulation: unique values, rules of deletion, needed references, links
    /// with and without an order, stamps.
    static let simulation: Schema = {
        do { return try Schema(entities: [box, item, label, related, steps]) } catch {
            preconditionFailure("the schema of the simulation: \(error)")
        }
    }()

    private static let box = Entity(
        name: "Box",
        properties: [
            Property(name: "name", type: .string, rules: [.notEmpty]),
            Property(name: "note", type: .string, isOptional: true),
        ],
        indexes: [EntityIndex([.init(slot: 0)], isUnique: true)],
        relationships: [
            Relationship(
                name: "items", target: "Item", members: .references(property: "box"),
                deleteRule: .cascade)
        ])

    private static let item = Entity(
        name: "Item",
        properties: [
            Property(name: "title", type: .string),
            Property(name: "rating", type: .int),
            Property(name: "changed", type: .date, isOptional: true, stamp: .update),
            Property(name: "box", type: .reference, isOptional: true, target: "Box"),
            Property(name: "next", type: .reference, isOptional: true, target: "Item"),
        ],
        indexes: [EntityIndex([.init(slot: 0)], isUnique: true), EntityIndex([.init(slot: 1)])],
        relationships: [
            Relationship(
                name: "related", target: "Item", members: .sourceOf(links: "Item.related")),
            Relationship(
                name: "steps", target: "Item", members: .sourceOf(links: "Item.steps"),
                order: "Item.steps"),
        ])

    private static let related = Entity.links(
        "Item.related", from: "Item", to: "Item", isOrdered: false)

    private static let steps = Entity.links(
        "Item.steps", from: "Item", to: "Item", isOrdered: true)

    private static let label = Entity(
        name: "Label",
        properties: [
            Property(name: "text", type: .string),
            Property(name: "item", type: .reference, target: "Item"),
        ])
}

/// The entities of the simulation by number.
enum SimulationEntity {
    static let box = 1
    static let item = 2
    static let related = 3
    static let steps = 4
    static let label = 5

    /// The entity that a reference points to, by entity and slot.
    static let references: [Int: [Int: Int]] = [
        item: [3: box, 4: item], related: [0: item, 1: item],
        steps: [0: item, 1: item], label: [1: item],
    ]
    /// The slots with values that no two objects share.
    static let unique: [Int: [Int]] = [box: [0], item: [0], related: [0, 1], steps: [0, 1]]
    /// Of an item's stamp.
    static let stamp = 2
    /// Of the place of a step among those of its source.
    static let position = 2

    static func isRequired(_ entity: Int, _ slot: Int) -> Bool {
        isLink(entity) || entity == label
    }

    static func isLink(_ entity: Int) -> Bool { entity == related || entity == steps }
}
