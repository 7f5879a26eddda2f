import FoundationEssentials
import StetStore

/// The schema that hostile bytes are read with: each type, each rule, wide and empty entities.
enum FuzzSchema {
    static let schema: Schema = {
        do {
            return try Schema(
                entities: [article, empty, notebook, wide, zone, zonePlace], links: links)
        } catch {
            preconditionFailure("the schema of the fuzzer: \(error)")
        }
    }()

    /// The schema history of a store that was never migrated.
    static let history: SchemaHistory = {
        do { return try SchemaHistory(schema) } catch {
            preconditionFailure("the schema of the fuzzer: \(error)")
        }
    }()

    private static let article = Entity(
        name: "Article",
        properties: [
            Property(
                name: "title", type: .string, rules: [.required, .length(minimum: 1, maximum: 9)],
                normalizers: [.trimmed]),
            Property(name: "rating", type: .int, rules: [.range(minimum: .int(0), maximum: nil)]),
            Property(name: "isDraft", type: .bool, isOptional: true),
            Property(
                name: "score", type: .double, isOptional: true,
                rules: [.range(minimum: .double(-1), maximum: .double(1))]),
            Property(
                name: "changed", type: .date, isOptional: true,
                rules: [.range(minimum: .date(.distantPast), maximum: .date(.distantFuture))],
                stamp: .update),
            Property(name: "cover", type: .data, isOptional: true, rules: [.notEmpty]),
            Property(name: "code", type: .uuid, isOptional: true),
            Property(name: "notebook", type: .reference, isOptional: true, target: "Notebook"),
            Property(name: "next", type: .reference, isOptional: true, target: "Article"),
        ],
        relationships: [
            Relationship(
                name: "notebooks", target: "Notebook",
                members: .targets(ofLinks: "Article.notebooks"), isOrdered: true)
        ])

    /// The types of links: one with an order, one without.
    private static let links = [
        LinkType(
            name: "Article.notebooks", source: "Article", target: "Notebook", isOrdered: true),
        LinkType(name: "Notebook.articles", source: "Notebook", target: "Article"),
    ]

    private static let empty = Entity(name: "Empty", properties: [])

    private static let notebook = Entity(
        name: "Notebook",
        properties: [
            Property(name: "name", type: .string, rules: [.notEmpty]),
            Property(name: "parent", type: .reference, isOptional: true, target: "Notebook"),
        ],
        relationships: [
            Relationship(
                name: "articles", target: "Article", members: .targets(ofLinks: "Notebook.articles")
            ),
            Relationship(
                name: "places", target: "ZonePlace", members: .references(property: "notebook"),
                isOrdered: true),
        ])

    /// More properties than a word of the null bitmap has bits.
    private static let wide = Entity(
        name: "Wide",
        properties: (0..<70).map { number in
            Property(
                name: "property\(number)", type: number % 2 == 0 ? .data : .int, isOptional: true)
        })

    /// The types that came later; last in the order of names, so that older inputs keep their
    /// meaning.
    private static let zone = Entity(
        name: "Zone",
        properties: [
            Property(
                name: "int8", type: .int8, rules: [.range(minimum: .int(-1), maximum: .int(9))]),
            Property(name: "int16", type: .int16), Property(name: "int32", type: .int32),
            Property(name: "uint", type: .uint), Property(name: "uint8", type: .uint8),
            Property(
                name: "uint16", type: .uint16, rules: [.range(minimum: .uint(1), maximum: nil)]),
            Property(name: "uint32", type: .uint32, isOptional: true),
            Property(
                name: "float", type: .float, rules: [.range(minimum: .float(0), maximum: nil)]),
            Property(
                name: "price", type: .decimal, isOptional: true,
                rules: [.range(minimum: .decimal(-1.5), maximum: .decimal(99))]),
            Property(name: "home", type: .url, isOptional: true),
            Property(
                name: "names", type: .list, elements: [.string],
                rules: [.notEmpty, .length(minimum: nil, maximum: 2)]),
            Property(name: "flags", type: .list, elements: [.bool], isOptional: true),
            Property(
                name: "counts", type: .dictionary, elements: [.string, .int],
                rules: [.length(minimum: 1, maximum: 2)]),
            Property(name: "address", type: .codable, isOptional: true),
        ])

    /// An entity whose objects have positions among those that refer to the same notebook.
    private static let zonePlace = Entity(
        name: "ZonePlace",
        properties: [
            Property(
                name: "notebook", type: .reference, isOptional: true, target: "Notebook",
                hasPosition: true)
        ])

    /// The object whose bytes are hostile.
    static let object = ObjectID(high: 0x0190_0000_0000_7000, low: 1 << 63 | 1)
    /// The store that it is in.
    static let store = ObjectID(high: 0x0190_0000_0000_7000, low: 1 << 63)

    /// The object with a number in the scratch store.
    static func id(_ number: Int) -> ObjectID {
        ObjectID(high: object.high, low: 1 << 63 | UInt64(number))
    }
}
