/// What becomes of the objects at the other end of a relationship when an object is deleted.
public enum DeleteRule: UInt8, Hashable, Sendable {
    /// They refer to nothing then.
    case nullify = 0
    /// They are deleted, too.
    case cascade = 1
    /// The deletion is refused while there are any that are not deleted by the same save; code
    /// 1600.
    case deny = 2
    /// Nothing: who deletes sees to it that nothing refers to the object when it is saved; else the
    /// save is refused.
    case none = 3
}

/// The description of a to-many relationship: where its members are found, and what is asked of
/// them.
///
/// Members are no part of the owner's record: adding one changes the member, or a link, only.
public struct Relationship: Hashable, Sendable {
    /// Where the members of an owner are found.
    public enum Members: Hashable, Sendable {
        /// They are the objects whose property of this name refers to the owner.
        case references(property: String)
        /// They stand at the other end of the links of this entity whose source is the owner.
        case sourceOf(links: String)
        /// They stand at the other end of the links of this entity whose target is the owner.
        case targetOf(links: String)
    }

    /// The name in the model.
    public let name: String
    /// The entity of the members.
    public let target: String
    /// Where the members are found.
    public let members: Members
    /// The entity of the links that hold the order of the members; nil when they have none of their
    /// own.
    public let order: String?
    /// What becomes of the members when the owner is deleted.
    public let deleteRule: DeleteRule
    /// An owner has at least so many members when it is saved; nil for no bound.
    public let minimumCount: Int?
    /// An owner has at most so many members when it is saved; nil for no bound.
    public let maximumCount: Int?
    /// True when a member that is taken from its owner, and given to no other, is deleted.
    public let removesOrphans: Bool

    /// A to-many relationship.
    public init(
        name: String, target: String, members: Members, order: String? = nil,
        deleteRule: DeleteRule = .nullify, minimumCount: Int? = nil, maximumCount: Int? = nil,
        removesOrphans: Bool = false
    ) {
        self.name = name
        self.target = target
        self.members = members
        self.order = order
        self.deleteRule = deleteRule
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
        self.removesOrphans = removesOrphans
    }
}

extension Entity {
    /// The slots of an entity of links: its two ends, and where the target stands among the members
    /// of the source.
    package enum LinkSlot {
        package static let source = 0
        package static let target = 1
        package static let position = 2
    }

    /// The entity of the links of a relationship from `source` to `target`.
    ///
    /// Two objects have one link at most; with `targetsAreExclusive` a target has one at most.
    public static func links(
        _ name: String, from source: String, to target: String, isOrdered: Bool,
        targetsAreExclusive: Bool = false
    ) -> Entity {
        let pair = [LinkSlot.source, LinkSlot.target].map { EntityIndex.Part(slot: $0) }
        let unique = EntityIndex(
            targetsAreExclusive ? [pair[1]] : pair, isUnique: true)
        let order = EntityIndex([pair[0], EntityIndex.Part(slot: LinkSlot.position)])
        return Entity(
            name: name,
            properties: [
                Property(name: "source", type: .reference, target: source),
                Property(name: "target", type: .reference, target: target),
            ] + (isOrdered ? [Property(name: "position", type: .data)] : []),
            indexes: isOrdered ? [unique, order] : [unique], isLink: true)
    }

    /// True when the properties are those of `links`.
    var hasPropertiesOfLinks: Bool {
        let names = ["source", "target", "position"]
        return (2...3).contains(properties.count)
            && zip(properties, names).allSatisfy { $0.name == $1 }
            && properties.prefix(2).allSatisfy { $0.type == .reference && !$0.isOptional }
            && properties.dropFirst(2).allSatisfy { $0.type == .data }
    }
}

extension Schema {
    /// Why an entity cannot have one of its relationships; nil when it can have all of them.
    func problem(ofRelationshipsOf entity: Entity) -> String? {
        if entity.isLink, !entity.hasPropertiesOfLinks || !entity.relationships.isEmpty {
            return "\(entity.name) has other properties than links have"
        }
        var names = Set(entity.properties.map(\.name))
        for relationship in entity.relationships {
            let label = "\(entity.name).\(relationship.name)"
            if relationship.name.isEmpty
                || relationship.name.utf8.count > Limits.nameByteCount
            {
                return "a relationship's name needs 1 to \(Limits.nameByteCount) bytes"
            }
            if !names.insert(relationship.name).inserted {
                return "\(entity.name) has two properties called \(relationship.name)"
            }
            guard let target = self.entity(named: relationship.target) else {
                return "\(label) refers to \(relationship.target), which is not in the schema"
            }
            if let problem = problem(of: relationship, entity, target) {
                return "\(label) \(problem)"
            }
        }
        return nil
    }

    private func problem(
        of relationship: Relationship, _ owner: Entity, _ target: Entity
    ) -> String? {
        let (minimum, maximum) = (relationship.minimumCount, relationship.maximumCount)
        if minimum.map({ $0 < 0 }) ?? false || maximum.map({ $0 < (minimum ?? 0) }) ?? false {
            return "has bounds of its count that no count can have"
        }
        func links(_ name: String) -> Entity? {
            entity(named: name).flatMap { $0.isLink ? $0 : nil }
        }
        switch relationship.members {
        case .references(let name):
            guard let slot = target.slot(of: name), target.properties[slot].target == owner.name
            else { return "is the inverse of \(target.name).\(name), which does not refer to it" }
            if relationship.removesOrphans, !target.properties[slot].isOptional {
                return "removes orphans, which there cannot be"
            }
        case .sourceOf(let name), .targetOf(let name):
            let isSource = relationship.members == .sourceOf(links: name)
            let ends = isSource ? [owner.name, target.name] : [target.name, owner.name]
            guard let entity = links(name), entity.properties.prefix(2).map(\.target) == ends else {
                return "has links of \(name), which are none between such objects"
            }
            if relationship.removesOrphans {
                return "removes orphans, but members may have several owners"
            }
        }
        guard let order = relationship.order else { return nil }
        guard let places = links(order), places.properties.count == 3,
            places.properties.prefix(2).map(\.target) == [owner.name, target.name]
        else { return "has its order in \(order), which is none of such objects" }
        return nil
    }
}

// MARK: - In the bytes of a schema

extension Relationship {
    private static let removesOrphansFlag: UInt8 = 1

    func encode(into buffer: inout ByteBuffer) {
        buffer.append(shortString: name)
        buffer.append(shortString: target)
        switch members {
        case .references(let property):
            buffer.append(UInt8(0))
            buffer.append(shortString: property)
        case .sourceOf(let links):
            buffer.append(UInt8(1))
            buffer.append(shortString: links)
        case .targetOf(let links):
            buffer.append(UInt8(2))
            buffer.append(shortString: links)
        }
        buffer.append(shortString: order ?? "")
        buffer.append(deleteRule.rawValue)
        buffer.append(removesOrphans ? Self.removesOrphansFlag : 0)
        for bound in [minimumCount, maximumCount] {
            buffer.append(bound.map(UInt64.init) ?? .max)
        }
    }

    init(decoding reader: inout ByteReader) throws {
        let name = try reader.readShortString()
        let target = try reader.readShortString()
        let kind: UInt8 = try reader.read()
        let place = try reader.readShortString()
        let members: Members
        switch kind {
        case 0: members = .references(property: place)
        case 1: members = .sourceOf(links: place)
        case 2: members = .targetOf(links: place)
        default: throw DecodingFailure("a relationship of an unknown kind")
        }
        let order = try reader.readShortString()
        let deleteRule = try DeleteRule(decoding: &reader)
        let flags: UInt8 = try reader.read()
        guard flags & ~Self.removesOrphansFlag == 0 else {
            throw DecodingFailure("a relationship of a later format")
        }
        func bound() throws -> Int? {
            let bound: UInt64 = try reader.read()
            if bound == .max { return nil }
            guard let count = Int(exactly: bound) else {
                throw DecodingFailure("a bound of a count that is too large")
            }
            return count
        }
        self.init(
            name: name, target: target, members: members, order: order.isEmpty ? nil : order,
            deleteRule: deleteRule, minimumCount: try bound(), maximumCount: try bound(),
            removesOrphans: flags == Self.removesOrphansFlag)
    }
}

extension DeleteRule {
    init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        guard let rule = DeleteRule(rawValue: try reader.read()) else {
            throw DecodingFailure("an unknown delete rule")
        }
        self = rule
    }
}
