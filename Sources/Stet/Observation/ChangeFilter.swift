import StetStore

/// The filter of an observer: the changes of a model that it wants.
struct ChangeFilter<M: Model>: Sendable {
    /// The part of the filter that the headers of changes decide, by which feeds are routed.
    var interest: FeedInterest
    /// The names of the properties and relationships; nil for all.
    private var names: Set<String>?
    var condition: QueryNode?
    var side = ConditionSide.either
    var isWantedCause: @Sendable (Cause) -> Bool = { _ in true }
    var excluded: [OwnCommits] = []
    var wantsSnapshots = false

    init(_ store: Store) {
        let schema = store.file.schema
        guard let entity = schema.number(ofEntity: M._$name) else {
            trap("\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        interest = FeedInterest(inEntity: entity, of: schema)
    }

    /// Restricts the filter to changes of some properties, in addition to its earlier restrictions.
    mutating func narrow(to properties: [FeedProperty]) {
        let wanted = Set(properties.map(\.name))
        names = names?.intersection(wanted) ?? wanted
        let slots = Set(properties.compactMap(\.slot))
        interest.slots = interest.slots?.intersection(slots) ?? slots
        interest.links.formIntersection(properties.compactMap(\.link))
    }

    // MARK: Filtering

    /// Returns the wanted changes of a commit, in ascending order of id.
    func changes(of commit: Commit, in store: Store) throws -> [Change<M>] {
        guard isWantedCause(commit.cause), !excluded.contains(where: { $0.contains(commit) })
        else { return [] }
        let comparesSlots = commit.isOfPresentSchema
        var changes = try commit.changes(of: M.self) { change in
            try interest.includes(change, comparesSlots: comparesSlots)
        }
        store.file.feed.count { $0.decodedChanges += changes.count }
        changes.removeAll { !isWanted($0) }
        if changes.isEmpty || (condition == nil && !wantsSnapshots) { return changes }
        return try store.file.read { reader in
            let states = ChangeStates(
                old: states(asOf: commit.revision.previous ?? .zero, store, reader),
                new: states(asOf: commit.revision, store, reader))
            return try changes.compactMap { try complete($0, states) }
        }
    }

    private func states(
        asOf revision: Revision, _ store: Store, _ reader: borrowing StoreReader
    ) -> ObjectStates {
        ObjectStates(
            ofEntity: interest.entity, asOf: revision, reader, satisfying: condition ?? .everything,
            limit: store.configuration.maximumLag)
    }

    private func isWanted(_ change: Change<M>) -> Bool {
        guard interest.objects?.contains(change.id) ?? true else { return false }
        guard let names, change.kind == .update else { return true }
        return change.changedProperties.contains(where: names.contains)
            || change.relationships.contains { names.contains($0.name) }
    }

    /// Returns the change with the snapshots that the observer wants; nil when the condition is not
    /// satisfied.
    private func complete(_ change: Change<M>, _ states: ChangeStates) throws -> Change<M>? {
        guard
            try side.holds(
                old: { try change.kind != .insert && states.old.satisfies(change.id) },
                new: { try change.kind != .delete && states.new.satisfies(change.id) })
        else { return nil }
        guard wantsSnapshots, change.kind == .update else { return change }
        var change = change
        change.old.snapshot = try states.old.body(of: change.id) {
            try? M._$decode(change.id, $0)
        }?.flatMap { $0 }
        change.new.snapshot = try states.new.body(of: change.id) {
            try? M._$decode(change.id, $0)
        }?.flatMap { $0 }
        return change
    }
}

/// The states before and after a commit, within one read.
private struct ChangeStates {
    let old: ObjectStates
    let new: ObjectStates
}

/// A property as observers name it: an attribute, a reference, or a to-many relationship.
struct FeedProperty {
    let name: String
    /// The slot of an attribute or a reference; nil for a relationship.
    let slot: Slot?
    /// The end of the links that change a relationship; nil for an attribute or a reference.
    let link: FeedInterest.LinkEnd?

    /// Returns the property that a key path names, or the members of an embedded value.
    static func named<M: Model>(
        _ keyPath: PartialKeyPath<M.Fields>, of type: M.Type, in schema: Schema
    ) -> [FeedProperty] {
        let field = M.fields[keyPath: keyPath]
        guard let members = field as? any _EmbeddedFields, members._object.isRoot else {
            return [FeedProperty(type, keyPath, field, in: schema)]
        }
        let properties = M._$description.entity.properties
        return members.slots.map { slot in
            FeedProperty(name: properties[slot].name, slot: slot, link: nil)
        }
    }

    private init(name: String, slot: Slot?, link: FeedInterest.LinkEnd?) {
        self.name = name
        self.slot = slot
        self.link = link
    }

    private init<M: Model>(
        _ type: M.Type, _ keyPath: PartialKeyPath<M.Fields>, _ field: Any, in schema: Schema
    ) {
        let entity = M._$description.entity
        if let slot = Self.slot(of: field) {
            self.init(name: entity.properties[slot].name, slot: slot, link: nil)
            return
        }
        guard let field = field as? any RelationshipField,
            let relationship = schema.entity(named: entity.name)?.relationships
                .element(at: field.relationship)
        else { trap("\(keyPath) is not a property of \(M.self)") }
        let link: FeedInterest.LinkEnd
        switch schema.membersEnd(of: relationship)?.source {
        case .targets(let number)?: link = .init(link: number, isOfSources: true)
        case .sources(let number)?: link = .init(link: number, isOfSources: false)
        case .reference?, nil:
            trap(
                "\(M.self).\(relationship.name) is not changed by itself: its members refer to the "
                    + "object; observe that reference of \(relationship.target)")
        }
        self.init(name: relationship.name, slot: nil, link: link)
    }

    /// Returns the slot of an attribute or a reference of the object itself.
    private static func slot(of field: Any) -> Slot? {
        switch field {
        case let expression as any PropertyField: expression.propertySlot
        case let fields as any _ModelFields: fields._object.reference?.propertySlot
        default: nil
        }
    }
}

/// An expression that may be a property.
private protocol PropertyField {
    var propertySlot: Slot? { get }
}

extension QueryExpression: PropertyField {
    fileprivate var propertySlot: Slot? { node.propertySlot }
}

/// A to-many relationship, whatever the type of its members.
private protocol RelationshipField {
    var relationship: Int { get }
}

extension ToManyField: RelationshipField {}

extension QueryNode {
    /// The slot of a property of the queried object; nil for any other expression.
    fileprivate var propertySlot: Slot? {
        if case .property(.root, let slot) = self { slot } else { nil }
    }
}
