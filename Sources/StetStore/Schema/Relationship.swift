/// The description of a to-many relationship: the place of its members, and its rules.
///
/// Members are not part of the owner's record: adding one changes the member's reference or a link.
public struct Relationship: Hashable, Sendable {
    /// The place where the members of an owner are found.
    public enum Members: Hashable, Sendable {
        /// The members are the objects whose property of this name refers to the owner.
        case references(property: String)
        /// The members are the targets of the owner's links of this type.
        case targets(ofLinks: String)
        /// The members are the sources of the owner's links of this type.
        case sources(ofLinks: String)
    }

    /// The name in the model.
    public let name: String
    /// The entity of the members.
    public let target: String
    /// The place where the members are found.
    public let members: Members
    /// True when the members have a stored order.
    public let isOrdered: Bool
    /// The effect on the members when the owner is deleted.
    public let deleteRule: DeleteRule
    /// The least number of members that an owner has when it is saved; nil for no bound.
    public let minimumCount: Int?
    /// The largest number of members that an owner has when it is saved; nil for no bound.
    public let maximumCount: Int?
    /// True when a member that is removed from its owner, and given to no other, is deleted.
    public let removesOrphans: Bool

    /// Creates a to-many relationship.
    public init(
        name: String, target: String, members: Members, isOrdered: Bool = false,
        deleteRule: DeleteRule = .nullify, minimumCount: Int? = nil, maximumCount: Int? = nil,
        removesOrphans: Bool = false
    ) {
        self.name = name
        self.target = target
        self.members = members
        self.isOrdered = isOrdered
        self.deleteRule = deleteRule
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
        self.removesOrphans = removesOrphans
    }
}

/// The effect of deleting an object on the objects at the other end of a relationship.
public enum DeleteRule: UInt8, Hashable, Sendable {
    /// Their references become nil.
    case nullify = 0
    /// They are deleted, too.
    case cascade = 1
    /// The deletion is refused while any of them exists that the same save does not delete; code
    /// 1600.
    case deny = 2
    /// Nothing happens: the caller must make sure that nothing refers to the object when it is
    /// saved; otherwise the save is refused.
    case none = 3
}

/// The description of a type of links: the pairs of a many-to-many relationship, or of one without
/// an inverse.
///
/// A link is a pair of objects, present or absent; the pair is its only identity.
public struct LinkType: Hashable, Sendable {
    /// The name, formed from the entity that owns the links and its relationship, such as
    /// "Article.tags".
    public let name: String
    /// The entity of the sources, which own the links.
    public let source: String
    /// The entity of the targets.
    public let target: String
    /// True when the targets of a source have an order.
    public let isOrdered: Bool

    /// Creates a type of links.
    public init(name: String, source: String, target: String, isOrdered: Bool = false) {
        self.name = name
        self.source = source
        self.target = target
        self.isOrdered = isOrdered
    }

    /// A placeholder for a type that a migration has removed: its number is never used again.
    package static let removed = LinkType(name: "", source: "", target: "")

    /// True for a placeholder of a removed type.
    package var isRemoved: Bool { name.isEmpty }
}

extension Schema {
    /// Returns the reason why an entity cannot have one of its relationships; nil when it can have
    /// all of them.
    func problem(ofRelationshipsOf entity: Entity) -> String? {
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

    /// The reason why the schema cannot have its links; nil when it can.
    var problemOfLinks: String? {
        if links.count > Limits.entityCount {
            return "\(links.count) types of links, the limit is \(Limits.entityCount)"
        }
        var names: Set<String> = []
        for link in links where !link.isRemoved {
            if link.name.utf8.count > 2 * Limits.nameByteCount + 1 {
                return "the name of the links \(link.name) is too long"
            }
            if !names.insert(link.name).inserted {
                return "two types of links are called \(link.name)"
            }
            for end in [link.source, link.target] where entity(named: end) == nil {
                return "the links \(link.name) connect \(end), which is not in the schema"
            }
            let members = Relationship.Members.targets(ofLinks: link.name)
            if entity(named: link.source)?.relationships.contains(where: { $0.members == members })
                != true
            {
                return "no relationship of \(link.source) has the links \(link.name)"
            }
        }
        return problemOfPositions
    }

    /// The reason why the positions of references are wrong; nil when a reference has positions
    /// exactly where one ordered relationship is its inverse.
    private var problemOfPositions: String? {
        var ordered: [MemberEnd: Int] = [:]
        for entity in entities {
            for relationship in entity.relationships where relationship.isOrdered {
                if let end = membersEnd(of: relationship) { ordered[end, default: 0] += 1 }
            }
        }
        for end in ends where end.isReference {
            let property = entities[end.member].properties[end.slot]
            if ordered[end, default: 0] == (property.hasPosition ? 1 : 0) { continue }
            return "\(entities[end.member].name).\(property.name) has positions exactly if one "
                + "ordered relationship is its inverse"
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
        switch relationship.members {
        case .references(let name):
            guard let slot = target.slot(of: name), target.properties[slot].target == owner.name
            else { return "is the inverse of \(target.name).\(name), which does not refer to it" }
            if relationship.removesOrphans, !target.properties[slot].isOptional {
                return "removes orphans, which there cannot be"
            }
        case .targets(let name), .sources(let name):
            let isSource = relationship.members == .targets(ofLinks: name)
            let ends = isSource ? [owner.name, target.name] : [target.name, owner.name]
            guard let link = links.first(where: { $0.name == name }),
                [link.source, link.target] == ends
            else { return "has links of \(name), which do not connect such objects" }
            if relationship.isOrdered != (link.isOrdered && isSource) {
                return "has another order than its links of \(name)"
            }
            if relationship.removesOrphans {
                return "removes orphans, but members may have several owners"
            }
        }
        return nil
    }
}

// MARK: - In the bytes of a schema

extension Relationship {
    private static let removesOrphansFlag: UInt8 = 1
    private static let isOrderedFlag: UInt8 = 2

    func encode(into buffer: inout ByteBuffer) {
        buffer.append(shortString: name)
        buffer.append(shortString: target)
        switch members {
        case .references(let property):
            buffer.append(UInt8(0))
            buffer.append(shortString: property)
        case .targets(let links):
            buffer.append(UInt8(1))
            buffer.append(shortString: links)
        case .sources(let links):
            buffer.append(UInt8(2))
            buffer.append(shortString: links)
        }
        buffer.append(deleteRule.rawValue)
        buffer.append(
            (removesOrphans ? Self.removesOrphansFlag : 0) | (isOrdered ? Self.isOrderedFlag : 0))
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
        case 1: members = .targets(ofLinks: place)
        case 2: members = .sources(ofLinks: place)
        default: throw DecodingFailure("a relationship of an unknown kind")
        }
        let deleteRule = try DeleteRule(decoding: &reader)
        let flags: UInt8 = try reader.read()
        guard flags & ~(Self.removesOrphansFlag | Self.isOrderedFlag) == 0 else {
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
            name: name, target: target, members: members,
            isOrdered: flags & Self.isOrderedFlag != 0, deleteRule: deleteRule,
            minimumCount: try bound(), maximumCount: try bound(),
            removesOrphans: flags & Self.removesOrphansFlag != 0)
    }
}

extension LinkType {
    func encode(into buffer: inout ByteBuffer) {
        for text in [name, source, target] { buffer.append(shortString: text) }
        buffer.append(UInt8(isOrdered ? 1 : 0))
    }

    init(decoding reader: inout ByteReader) throws {
        let name = try reader.readShortString()
        let source = try reader.readShortString()
        let target = try reader.readShortString()
        let isOrdered: UInt8 = try reader.read()
        guard isOrdered <= 1 else { throw DecodingFailure("links in an unknown order") }
        self.init(name: name, source: source, target: target, isOrdered: isOrdered == 1)
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
