/// All effects of one save, as plain values: those that a refused save would have had, or those of
/// a commit.
///
/// ```swift
/// let difference = try store.diff(from: 1, to: .latest)
/// for change in difference.changes(of: .update) {
///     names += change.properties.map(\.name)
/// }
/// ```
public struct ChangeSet: Sendable, Hashable, Codable {
    /// The changes of objects, in ascending order of entity and id.
    public var changes: [ObjectChange]

    /// Creates a set of changes.
    public init(changes: [ObjectChange] = []) {
        self.changes = changes
    }

    /// True when nothing changes.
    public var isEmpty: Bool { changes.isEmpty }

    /// Returns the changes of one kind.
    public func changes(of kind: ChangeKind) -> [ObjectChange] {
        changes.filter { $0.kind == kind }
    }
}

/// The effect of a save on one object.
///
/// Two changes are equal if they have equal parts, the properties and relationships in any order.
///
/// ```swift
/// for change in commit.changeSet.changes {
///     if let rating = change["rating"] { ratings.append((rating.old, rating.new)) }
/// }
/// ```
public struct ObjectChange: Sendable {
    /// The name of the object's entity.
    public var entity: String
    /// The id of the object.
    public var id: ObjectID
    /// The kind of the change.
    public var kind: ChangeKind
    /// The changed properties for an update; all properties for an insert or delete.
    public var properties: [PropertyChange]
    /// The changes of the members of its relationships, as far as links represent them.
    public var relationships: [RelationshipChange] = []
    /// The relationship whose delete rule has made the change, such as "Notebook.articles"; nil for
    /// other edits, and in commits, which do not record it.
    public var via: String?

    /// Creates a change of one object.
    public init(
        entity: String, id: ObjectID, kind: ChangeKind, properties: [PropertyChange],
        relationships: [RelationshipChange] = []
    ) {
        self.entity = entity
        self.id = id
        self.kind = kind
        self.properties = properties
        self.relationships = relationships
    }

    /// Returns the change of the property with a name; nil when it does not change.
    public subscript(_ name: String) -> PropertyChange? {
        properties.first { $0.name == name }
    }
}

/// The value of one property before and after a save.
public struct PropertyChange: Sendable, Hashable {
    /// The name of the property.
    public var name: String
    /// The value before; `.null` for an inserted object.
    public var old: Value
    /// The value after; `.null` for a deleted object.
    public var new: Value
    /// The sides whose value was redacted and is therefore `.null`.
    public var redacted = PropertyChange.RedactedSides()
    /// True for a property with the option `.hidden`, whose values stay out of texts and encodings.
    public var isHidden = false

    /// Creates a change of one property.
    public init(name: String, old: Value, new: Value) {
        self.name = name
        self.old = old
        self.new = new
    }

    package init(_ property: Property, old: Value, new: Value) {
        self.init(name: property.name, old: old, new: new)
        isHidden = property.isHidden
    }

    /// The sides of a property's change whose values are redacted.
    public struct RedactedSides: Sendable, Hashable {
        /// True when the value before is redacted.
        public var old = false
        /// True when the value after is redacted.
        public var new = false

        /// Creates a value with neither side redacted.
        public init() {}
    }
}

extension ObjectChange: Hashable {
    /// Returns whether both changes have equal parts.
    public static func == (one: ObjectChange, other: ObjectChange) -> Bool {
        one.entity == other.entity && one.id == other.id && one.kind == other.kind
            && one.via == other.via
            && (one.properties == other.properties
                || one.properties.sorted { $0.name < $1.name }
                    == other.properties.sorted { $0.name < $1.name })
            && (one.relationships == other.relationships
                || one.relationships.sorted { $0.name < $1.name }
                    == other.relationships.sorted { $0.name < $1.name })
    }

    /// Hashes the object and the kind of the change.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(kind)
    }
}

extension ObjectChange: CustomStringConvertible {
    /// One line with kind, entity and changed values.
    public var description: String {
        let values =
            properties.map { property in
                switch kind {
                case .insert: "\(property.name): \(property.newText)"
                case .delete: "\(property.name): \(property.oldText)"
                case .update: "\(property.name): \(property.oldText) → \(property.newText)"
                }
            } + relationships.map(\.description)
        return "\(kind) \(entity) (\(values.joined(separator: ", ")))"
    }
}

extension RelationshipChange: CustomStringConvertible {
    /// The numbers of added, removed and moved members, such as "tags: +2 −1".
    public var description: String {
        let counts = [("+", added.count), ("−", removed.count), ("~", moved.count)]
        let parts = counts.filter { $0.1 > 0 }.map { "\($0)\($1)" }
        return "\(name): \(parts.joined(separator: " "))"
    }
}

extension ObjectChange {
    package init(_ change: JournalChange, _ schema: Schema) throws {
        guard let entity = schema.entity(numbered: change.entity) else {
            throw DecodingFailure("a change of an unknown entity")
        }
        self.init(entity: entity.name, id: change.id, kind: change.kind, properties: [])
        if change.kind == .update {
            properties = try change.changedCells().map { cell in
                guard let property = entity.properties.element(at: cell.slot),
                    property.type == cell.type
                else { throw DecodingFailure("a changed cell that is not one of \(entity.name)") }
                return try PropertyChange(
                    PresentCell(
                        slot: cell.slot, before: cell.before, after: cell.after,
                        isBeforeRedacted: cell.isBeforeRedacted,
                        isAfterRedacted: cell.isAfterRedacted), of: property)
            }
        } else {
            properties = try Self.properties(
                of: RecordBody(change.payload, of: entity), kind: change.kind)
            for slot in change.redactedSlots where properties.indices.contains(slot.index) {
                properties[slot].markRedacted(change.kind)
            }
        }
        relationships = try schema.relationships(of: entity, try change.links(), change.entity)
    }

    /// Creates a change of an earlier schema with the names and types of the current one; parts
    /// that it cannot express are left out.
    package init(_ change: JournalChange, _ history: SchemaHistory, from revision: Int) throws {
        guard let upcast = try history.upcast(ofEntity: change.entity, from: revision) else {
            try self.init(change, history.current)
            return
        }
        self.init(entity: upcast.to.name, id: change.id, kind: change.kind, properties: [])
        try history.forEachCell(of: change, from: revision) { cell in
            properties.append(try PropertyChange(cell, of: upcast.to.properties[cell.slot]))
        }
        let links = try change.links().compactMap { link in
            history.current.link(numbered: link.key.link).flatMap { link.upcast(to: $0) }
        }
        relationships = try history.current.relationships(of: upcast.to, links, change.entity)
    }

    /// Returns the values of an inserted or deleted object as changes of its properties.
    static func properties(
        of body: RecordBody, kind: ChangeKind
    ) throws -> [PropertyChange] {
        try zip(body.entity.properties, body.cells()).map { property, cell in
            let value = try property.value(cell)
            return PropertyChange(
                property, old: kind == .insert ? .null : value,
                new: kind == .insert ? value : .null)
        }
    }
}

extension Schema {
    /// Returns changed links by the names of their source's relationships.
    ///
    /// - Throws: `DecodingFailure` when the entity has no such links.
    func relationships(
        of entity: Entity, _ links: some Collection<LinkChange>, _ number: EntityNumber
    ) throws(DecodingFailure) -> [RelationshipChange] {
        var changes: [RelationshipChange] = []
        var rest = links[...]
        while let link = rest.first?.key.link {
            let group = rest.prefix { $0.key.link == link }
            rest = rest[group.endIndex...]
            guard let type = self.link(numbered: link), ends(ofLink: link)?.targets.owner == number,
                let relationship = entity.relationships.first(where: {
                    $0.members == .targets(ofLinks: type.name)
                })
            else { throw DecodingFailure("changed links that \(entity.name) does not have") }
            var members: [RelationshipChange.Member] = []
            for change in group {
                guard change.fits(type) else {
                    throw DecodingFailure("changed links of \(type.name) in another order")
                }
                members.append(
                    RelationshipChange.Member(
                        id: change.key.target, old: change.before, new: change.after))
            }
            changes.append(RelationshipChange(name: relationship.name, members: members))
        }
        return changes
    }
}

extension LinkChange {
    /// Returns whether the members have positions exactly if the links are ordered.
    fileprivate func fits(_ type: LinkType) -> Bool {
        [before, after].allSatisfy { !$0.isPresent || ($0.position != nil) == type.isOrdered }
    }
}

extension Array {
    /// Returns the element at an index, or nil beyond the end.
    package func element(at index: Int) -> Element? {
        indices.contains(index) ? self[index] : nil
    }
}
