import StetStore

/// The entities of the queries campaign by number, and the indexes that a store can have.
enum QuerySchema {
    static let box: EntityNumber = 1
    static let sample: EntityNumber = 2
    /// The number of the links between samples.
    static let links = 1

    /// The slot of the property of samples that is unique.
    private static let uniqueSlot: Slot = 17
    private static let partsSlot: Slot = 20
    /// The slots of the texts whose words are searched.
    static let heading: Slot = 23
    static let phrase: Slot = 24
    /// The slot of the property of samples that is derived from their boxes.
    static let boxRank: Slot = 25

    /// Returns the schema with some of the indexes.
    static func schema(
        ofSamples samples: [EntityIndex], ofBoxes boxes: [EntityIndex]
    ) throws -> Schema {
        let box = Entity(
            name: "Box", properties: boxProperties, indexes: boxes,
            relationships: [
                Relationship(
                    name: "samples", target: "Sample", members: .references(property: "box"),
                    isOrdered: true),
                Relationship(
                    name: "children", target: "Box", members: .references(property: "parent")),
            ])
        let sample = Entity(
            name: "Sample", properties: sampleProperties,
            // Searches need the index of words.
            indexes: samples + [EntityIndex(words: [heading, phrase])],
            relationships: [
                Relationship(
                    name: "others", target: "Sample", members: .targets(ofLinks: "Sample.others")),
                Relationship(
                    name: "holders", target: "Sample", members: .sources(ofLinks: "Sample.others")),
                Relationship(
                    name: "followers", target: "Sample", members: .references(property: "next")),
            ])
        return try Schema(
            entities: [box, sample],
            links: [LinkType(name: "Sample.others", source: "Sample", target: "Sample")])
    }

    private static let boxProperties = [
        Property(name: "name", type: .string),
        Property(name: "rank", type: .int, isOptional: true),
        Property(name: "parent", type: .reference, isOptional: true, target: "Box"),
    ]

    private static let sampleProperties = [
        Property(name: "flag", type: .bool),
        Property(name: "number", type: .int),
        Property(name: "small", type: .int8),
        Property(name: "whole", type: .uint),
        Property(name: "ratio", type: .float),
        Property(name: "real", type: .double),
        Property(name: "price", type: .decimal),
        Property(name: "date", type: .date),
        Property(name: "text", type: .string),
        Property(name: "note", type: .string, isOptional: true),
        Property(name: "size", type: .int, isOptional: true),
        Property(name: "bytes", type: .data, isOptional: true),
        Property(name: "code", type: .uuid, isOptional: true),
        Property(name: "link", type: .url, isOptional: true),
        Property(name: "tags", type: .list, elements: [.string]),
        Property(name: "mark", type: .bool, isOptional: true),
        Property(name: "weight", type: .double, isOptional: true),
        Property(name: "key", type: .int),
        Property(
            name: "box", type: .reference, isOptional: true, target: "Box", hasPosition: true),
        Property(name: "next", type: .reference, isOptional: true, target: "Sample"),
        Property(name: "parts", type: .list, elements: [.embedded], isOptional: true)
            .array(of: Part.elements),
        Property(name: "file", type: .data, isOptional: true, isLarge: true),
        Property(name: "secret", type: .data, isOptional: true, seal: .reference("box")),
        Property(name: "heading", type: .string),
        Property(name: "phrase", type: .string, isOptional: true),
        Property(name: "boxRank", type: .int, isOptional: true)
            .derived(by: .property(.target(.root, slot: 18, entity: "Box"), slot: 1)),
        Property(name: "hits", type: .int, isCounter: true),
    ]

    static let secretLabel = SealedBytes.Place.label(ofProperty: "secret")

    // MARK: Indexes

    static let boxIndexes: [EntityIndex] = [
        EntityIndex([.init(slot: 0)]), EntityIndex([.init(slot: 1)]),
        EntityIndex([.init(slot: 2), .init(slot: 0)]),
        EntityIndex([.init(slot: 0, folding: .caseInsensitive)]),
        EntityIndex([.init(slot: 1), .init(slot: 0)]), EntityIndex(substringsOf: 0),
    ]

    private static func property(
        _ slot: Slot, _ comparison: QueryNode.Comparison, _ value: Value
    ) -> QueryNode {
        .comparison(comparison, .property(.root, slot: slot), .constant(value))
    }

    static let sampleIndexes: [EntityIndex] = {
        let both: TextFolding = [.caseInsensitive, .diacriticInsensitive]
        // An array of embedded values has no order for an index.
        let single = sampleProperties.slots.filter { $0 != partsSlot }.map { slot in
            EntityIndex([.init(slot: slot)], isUnique: slot == uniqueSlot)
        }
        let folded: [EntityIndex.Part] = [
            .init(slot: 8, folding: .caseInsensitive), .init(slot: 8, folding: both),
            .init(slot: 9, folding: .diacriticInsensitive), .init(slot: 9, folding: both),
        ]
        let compound: [[Slot]] = [
            [0, 1], [18, 1], [10, 5], [15, 8, 1], [1, 8], [6, 16], [8, 17], [14, 2], [4, 7, 3],
            [19, 9], [16, 10], [22, 1], [boxRank, 8], [26, boxRank],
        ]
        let partial: [([Slot], QueryNode)] = [
            ([1, 8], .property(.root, slot: 0)), ([5], property(10, .notEqual, .null)),
            ([8, 1], property(1, .greaterOrEqual, .int(0))), ([10], property(18, .equal, .null)),
            ([18, 1], .isIn(.property(.root, slot: 1), [.int(0), .int(1), .int(2), .int(3)])),
            ([2], .any([.property(.root, slot: 15), property(16, .greater, .double(0))])),
        ]
        return single + folded.map { EntityIndex([$0]) }
            + partial.map { slots, condition in
                EntityIndex(slots.map { EntityIndex.Part(slot: $0) }).only(where: condition)
            }
            + compound.map { slots in EntityIndex(slots.map { EntityIndex.Part(slot: $0) }) }
            + [
                EntityIndex([folded[0], .init(slot: 10)]),
                EntityIndex([.init(slot: 15), folded[3]]), EntityIndex(substringsOf: 8),
                EntityIndex(substringsOf: 9),
            ]
    }()
}
