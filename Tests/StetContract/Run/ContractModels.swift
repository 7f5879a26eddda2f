import Foundation
import Stet

/// The properties that every model of the checker has, besides its relationships.
@ModelProtocol protocol Thing: Model, Deletable {
    var name: String { get set }
    var key: String? { get set }
    var number: Int { get set }
    var count: Int { get set }
    var stamp: Date? { get }
    var file: LargeData? { get set }
    var secret: Sealed<Int>? { get set }
    var parts: [Piece] { get set }
    var trail: [Mark] { get set }
    var spot: Place { get set }
    var pose: Place? { get set }
    /// A number that is derived from others, see `World.total(of:)`.
    var total: Int { get }
    init(name: String)
}

/// The element that a `Part` describes.
@Embedded struct Piece: Identifiable {
    var id: Int
    var size: Int
    var note: Int?
}

/// An element without identity, which a `Spot` describes.
@Embedded struct Mark {
    @Attribute(.range(0...9)) var row: Int
    @Attribute(.trimmed) var mark: String?
}

/// The value that a `Spot` describes.
@Embedded struct Place: Hashable {
    @Attribute(.range(0...9)) var row: Int = 0
    @Attribute(.trimmed, .searchable) var mark: String?
}

extension Place {
    init(_ spot: Spot) { self.init(row: spot.row, mark: spot.mark) }

    var spot: Spot { Spot(row: row, mark: mark) }
}

extension Part {
    /// Reads an element as a commit has it.
    init?(stored element: Value) {
        guard case .dictionary(let members) = element,
            case .int(let id)? = members[.string("id")],
            case .int(let size)? = members[.string("size")]
        else { return nil }
        self.init(id: id, size: size)
        if case .int(let number)? = members[.string("note")] { note = number }
    }
}

extension Spot {
    /// Reads an element as a commit has it.
    init?(stored element: Value) {
        guard case .dictionary(let members) = element,
            case .int(let row)? = members[.string("row")]
        else { return nil }
        self.init(row: row)
        if case .string(let text)? = members[.string("mark")] { mark = text }
    }
}

/// The owner of lists of every kind.
@Model final class Box: Thing {
    @Attribute(.trimmed, .length(0...12), .searchable) var name: String
    @Attribute(.unique) var key: String?
    @Attribute(.range(0...9)) var number: Int = 0
    @Attribute(.counter, .range(-9...9)) var count: Int = 0
    @Attribute(.stamped(.update)) var stamp: Date?
    var file: LargeData?
    @Attribute(.indexed) var secret: Sealed<Int>?
    var parts: [Piece] = []
    var trail: [Mark] = []
    var spot: Place = Place()
    var pose: Place?
    @Derived var total: Int { number + (boss?.number ?? 0) }
    @Relationship(deleteRule: .cascade, inverse: \Item.box) var items: ToMany<Item>
    @Relationship(.count(...2), deleteRule: .deny, inverse: \Item.guarded) var guards: ToMany<Item>
    @Relationship(inverse: \Item.shelf) var shelf: OrderedToMany<Item>
    @Relationship(deleteRule: .none, inverse: \Item.keeper) var kept: ToMany<Item>
    @Relationship(.orphanRemoval, deleteRule: .cascade, inverse: \Leaf.box) var leaves: ToMany<Leaf>
    @Relationship(.orphanRemoval, inverse: \Leaf.stack) var stack: OrderedToMany<Leaf>
    var pins: OrderedToMany<Item>
    var marks: ToMany<Item>
    @Relationship(deleteRule: .cascade) var badges: ToMany<Tag>
    var boss: Box?

    init(name: String) { self.name = name }
}

@Model final class Item: Thing {
    @Attribute(.trimmed, .length(0...12), .searchable) var name: String
    @Attribute(.unique) var key: String?
    @Attribute(.range(0...9)) var number: Int = 0
    @Attribute(.counter, .range(-9...9)) var count: Int = 0
    @Attribute(.stamped(.update)) var stamp: Date?
    var file: LargeData?
    @Attribute(.sealed(by: \.box), .indexed) var secret: Sealed<Int>?
    var parts: [Piece] = []
    var trail: [Mark] = []
    var spot: Place = Place()
    var pose: Place?
    @Attribute(.indexed) @Derived var total: Int { box?.boss?.number ?? number }
    var box: Box?
    var guarded: Box?
    var shelf: Box?
    var keeper: Box?
    @Relationship(deleteRule: .cascade) var next: Item?
    @Relationship(deleteRule: .deny) var ally: Item?
    @Relationship(inverse: \Tag.items) var tags: ToMany<Tag>
    @Relationship(inverse: \Tag.course) var course: OrderedToMany<Tag>

    init(name: String) { self.name = name }
}

@Model final class Tag: Thing {
    #Unique<Tag>(\.key, where: { $0.number < 5 })
    #Index<Tag>(\.count, \.name, where: { $0.count > 0 || $0.key != nil })
    @Attribute(.trimmed, .length(0...12), .searchable) var name: String
    var key: String?
    @Attribute(.range(0...9)) var number: Int = 0
    @Attribute(.counter, .range(-9...9)) var count: Int = 0
    @Attribute(.stamped(.update)) var stamp: Date?
    var file: LargeData?
    var secret: Sealed<Int>?
    var parts: [Piece] = []
    var trail: [Mark] = []
    var spot: Place = Place()
    var pose: Place?
    @Attribute(.indexed) @Derived var total: Int { number + (pose?.row ?? 0) }
    var items: ToMany<Item>
    var course: ToMany<Item>
    @Relationship(deleteRule: .deny) var holders: ToMany<Item>

    init(name: String) { self.name = name }
}

@Model final class Leaf: Thing {
    #Unique<Leaf>(\.key, \.number)
    @Attribute(.trimmed, .length(0...12), .searchable, .indexed(.substring)) var name: String
    var key: String?
    @Attribute(.range(0...9)) var number: Int = 0
    @Attribute(.counter, .range(-9...9)) var count: Int = 0
    @Attribute(.stamped(.update)) var stamp: Date?
    var file: LargeData?
    var secret: Sealed<Int>?
    var parts: [Piece] = []
    var trail: [Mark] = []
    var spot: Place = Place()
    var pose: Place?
    @Attribute(.indexed) @Derived var total: Int { (stack?.spot.row ?? -1) + number }
    var box: Box?
    var stack: Box?

    init(name: String) { self.name = name }
}
