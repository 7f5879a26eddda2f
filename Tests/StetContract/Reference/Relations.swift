import Stet

/// Names an object, in the reference and in the library, for as long as a run lasts.
typealias Label = Int

enum Kind: String, CaseIterable {
    case box = "Box"
    case item = "Item"
    case tag = "Tag"
    case leaf = "Leaf"

    var model: any Thing.Type {
        switch self {
        case .box: Box.self
        case .item: Item.self
        case .tag: Tag.self
        case .leaf: Leaf.self
        }
    }
}

/// What becomes of the other end when an object is deleted.
enum Rule { case nullify, cascade, deny, none }

/// A relationship: references from many sources to one target each, or links.
enum Relation: String, CaseIterable {
    // References, named by the property that refers.
    case box, guarded, shelf, keeper, next, ally, leafBox, stack, boss
    // Links, named by the property whose objects are the sources.
    case pins, marks, badges, tags, course, holders

    /// The relationships whose links have an order, at the source.
    static let links: [Relation] = [.pins, .marks, .badges, .tags, .course, .holders]
    static let references: [Relation] = allCases.filter { !links.contains($0) }

    var isLink: Bool { Self.links.contains(self) }

    /// The property that refers, or lists the targets.
    var property: String { self == .leafBox ? "box" : rawValue }

    var source: Kind {
        switch self {
        case .boss, .pins, .marks, .badges: .box
        case .box, .guarded, .shelf, .keeper, .next, .ally, .tags, .course: .item
        case .holders: .tag
        case .leafBox, .stack: .leaf
        }
    }

    var target: Kind {
        switch self {
        case .boss, .box, .guarded, .shelf, .keeper, .leafBox, .stack: .box
        case .next, .ally, .pins, .marks, .holders: .item
        case .badges, .tags, .course: .tag
        }
    }

    /// The rule of the source's own property.
    var sourceRule: Rule {
        switch self {
        case .next, .badges: .cascade
        case .ally, .holders: .deny
        default: .nullify
        }
    }

    /// The rule of the list of sources that a target has.
    var targetRule: Rule {
        switch self {
        case .box, .leafBox: .cascade
        case .guarded: .deny
        case .keeper: .none
        default: .nullify
        }
    }

    /// The property of the target that lists the sources.
    var inverse: String? {
        switch self {
        case .box: "items"
        case .guarded: "guards"
        case .shelf: "shelf"
        case .keeper: "kept"
        case .leafBox: "leaves"
        case .stack: "stack"
        case .tags: "items"
        case .course: "course"
        default: nil
        }
    }

    var isOrdered: Bool { [.shelf, .stack, .pins, .course].contains(self) }
    var removesOrphans: Bool { [.leafBox, .stack].contains(self) }
    var mostMembers: Int? { self == .guarded ? 2 : nil }

    /// Every reference or link property of a kind, by its name.
    static func named(_ property: String, of kind: Kind) -> Relation? {
        allCases.first { $0.source == kind && $0.property == property }
    }
}

/// One end of a relationship that lists members.
struct List: Hashable {
    let relation: Relation
    /// True where the owners are the sources of links.
    let isAtSource: Bool

    static let all: [List] = Relation.allCases.flatMap { relation -> [List] in
        (relation.isLink ? [List(relation: relation, isAtSource: true)] : [])
            + (relation.inverse == nil ? [] : [List(relation: relation, isAtSource: false)])
    }

    var owner: Kind { isAtSource ? relation.source : relation.target }
    var member: Kind { isAtSource ? relation.target : relation.source }
    var property: String { isAtSource ? relation.property : relation.inverse ?? "" }
    /// The order belongs to the sources of links, and to the targets of references.
    var isOrdered: Bool { relation.isOrdered && isAtSource == relation.isLink }
}
