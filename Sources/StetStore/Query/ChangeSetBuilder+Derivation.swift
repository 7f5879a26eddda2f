import StetLMDB

extension ChangeSetBuilder {
    /// Computes the derived attributes of the changed objects, and of the objects that read changed
    /// ones through references, which become changes, too.
    ///
    /// The reads are recorded as look-ups, so that the writer refuses values that were computed
    /// from what others have changed since. Sort the changes afterwards.
    ///
    /// - Parameters:
    ///   - reader: the store.
    ///   - revision: the revision that the changes are based on.
    ///   - correctsBefore: true when the bodies before the changes may contain other derived values
    ///     than the store.
    ///   - fillsMissing: true when an attribute that is not optional gets a placeholder where its
    ///     expression has no value.
    /// - Throws: the error of a read.
    /// - Complexity: O(changed objects + objects whose derived attributes read changed ones), with
    ///   a read for each of the latter, and for each object on the way of a reference.
    package mutating func derive(
        _ reader: borrowing StoreReader, at revision: Revision, correctsBefore: Bool = false,
        fillsMissing: Bool = false
    ) throws {
        if schema.derivedProperties.isEmpty || items.isEmpty { return }
        let derivation = try Derivation(self, reader, at: revision)
        derivation.fillsMissing = fillsMissing
        if correctsBefore { try derivation.correctBefore() }
        for property in schema.derivedProperties { try derivation.derive(property) }
        lookups.formUnion(derivation.lookups)
        take(derivation.objects)
    }

    /// Returns whether a derived attribute of an item that is not optional has no value, which a
    /// rule reports.
    package borrowing func lacksDerivedValue(_ item: Item) throws -> Bool {
        let entity = schema.entities[item.entity]
        if entity.derivedSlots.isEmpty || item.kind == .delete { return false }
        let body = try RecordBody(body(item.after), of: entity)
        return try entity.derivedSlots.contains { slot in
            try !entity.properties[slot].isOptional && body.cell(slot) == nil
        }
    }

    /// Replaces the bodies of objects that the derivation has changed, and adds its objects.
    private mutating func take(_ objects: [ObjectKey: Derivation.Object]) {
        if !objects.values.contains(where: \.isChanged) { return }
        var objects = objects
        var taken: [Item] = []
        taken.reserveCapacity(items.count)
        for item in items {
            let object = objects.removeValue(forKey: ObjectKey(item.entity, item.id))
            guard let object, object.isChanged else {
                taken.append(item)
                continue
            }
            if item.kind == .update, object.before == object.after { continue }
            taken.append(self.item(item.entity, item.id, object, position: item.position))
        }
        for (key, object) in objects where object.isChanged && object.before != object.after {
            taken.append(self.item(key.entity, key.id, object, position: -1))
        }
        replaceItems(with: taken)
    }

    private mutating func item(
        _ entity: EntityNumber, _ id: ObjectID, _ object: Derivation.Object, position: Int
    ) -> Item {
        let before = object.before.map { body in body.bytes.withUnsafeBytes { copy($0) } }
        let after = object.after.map { body in body.bytes.withUnsafeBytes { copy($0) } }
        return Item(
            kind: object.kind, entity: entity, id: id, base: object.base, before: before ?? 0..<0,
            after: after ?? 0..<0, position: position)
    }
}

/// The computation of derived attributes for one change set.
///
/// State: belongs to one call; it has no lock.
private final class Derivation {
    /// An object with its bodies before and after the changes; nil where it does not exist.
    struct Object {
        let kind: ChangeKind
        let base: Revision
        var before: EncodedBody?
        var after: EncodedBody?
        /// True when a body differs from the one of the change set.
        var isChanged = false
    }

    private let reader: StoreReader
    private let schema: Schema
    /// The store at the revision that the changes are based on.
    private let stored: WorkingState
    /// The store with the changes; equal to `stored` when no lists of members are read.
    private let changed: WorkingState
    /// The changed objects whose properties are derived or read by expressions.
    private(set) var objects: [ObjectKey: Object] = [:]
    private(set) var lookups = Lookups()
    var fillsMissing = false

    init(
        _ net: borrowing ChangeSetBuilder, _ reader: borrowing StoreReader, at revision: Revision
    ) throws {
        self.reader = reader.shared()
        let schema = net.schema
        self.schema = schema
        stored = WorkingState(schema, at: revision)
        lookups.revision = revision
        let reading = schema.derivedProperties.flatMap(\.inputs)
        let entities = Set(schema.derivedProperties.map(\.entity) + reading.map(\.entity))
        let isRead = Set(reading.lazy.filter { !$0.steps.isEmpty }.map(\.entity))
        let needsMembers = net.items.contains { $0.kind == .update && isRead.contains($0.entity) }
        changed =
            needsMembers ? try WorkingState(schema, at: revision, with: net) : stored
        for item in net.items where entities.contains(item.entity) {
            // A value without a stored form is a violation, and the body is not used.
            guard !net.isUnstorable(item) else { continue }
            objects[ObjectKey(item.entity, item.id)] = Object(
                kind: item.kind, base: item.base,
                before: item.kind == .insert ? nil : EncodedBody(net.body(item.before)),
                after: item.kind == .delete ? nil : EncodedBody(net.body(item.after)))
        }
    }

    /// Replaces the derived values in the bodies before the changes by those of the store.
    func correctBefore() throws {
        for (key, object) in objects {
            let entity = schema.entities[key.entity]
            guard !entity.derivedSlots.isEmpty, var before = object.before else { continue }
            let values = try reader.withRecord(
                ofEntity: key.entity, key.id, asOf: stored.revision
            ) { try RecordBody($0.body, of: entity).values() }
            guard let values else { continue }
            for slot in entity.derivedSlots {
                before = try before.replacing(values[slot], slot: slot, of: entity)
            }
            if before == object.before { continue }
            objects[key]?.before = before
            objects[key]?.isChanged = true
        }
    }

    /// Computes one attribute for all objects for which it may have changed.
    func derive(_ property: DerivedProperty) throws {
        let affected = try affected(by: property)
        if affected.isEmpty { return }
        let query = QueryState(
            reader, QueryState.View(changed, change: { [unowned self] in change(of: $0) }))
        let operand = QueryCompiler(schema, root: property.entity).operand(property.expression)
        var frame = QueryFrame(query)
        for id in affected {
            guard let row = try query.row(property.entity, id) else { continue }
            try noteTargets(of: row, property, query)
            frame.root = row
            try set(try operand.value(&frame), property, id)
        }
    }

    private func change(of key: ObjectKey) -> QueryState.PendingBody {
        guard let object = objects[key] else { return .unchanged }
        return object.after.map { .body($0) } ?? .deleted
    }

    // MARK: The objects that are affected

    /// Returns the objects that are changed, or that refer to one of which a property is changed
    /// that the expression reads.
    private func affected(by property: DerivedProperty) throws -> [ObjectID] {
        var affected = Set(
            objects.lazy.filter { $0.key.entity == property.entity && $0.value.after != nil }
                .map(\.key.id))
        for input in property.inputs where !input.steps.isEmpty {
            var read: Set<ObjectID> = []
            for (key, object) in objects
            where key.entity == input.entity && object.kind == .update {
                if try isChanged(input.slot, of: object, key) { read.insert(key.id) }
            }
            for step in input.steps.reversed() {
                read = try read.reduce(into: []) { $0.formUnion(try referrers(to: $1, step)) }
            }
            affected.formUnion(read)
        }
        return affected.sorted()
    }

    private func isChanged(_ slot: Slot, of object: Object, _ key: ObjectKey) throws -> Bool {
        guard let before = object.before, let after = object.after else { return true }
        let entity = schema.entities[key.entity]
        return try before.read(as: entity) { before in
            try after.read(as: entity) { after in
                !Cell.areEqual(try before.cell(slot), try after.cell(slot))
            }
        }
    }

    private func referrers(to id: ObjectID, _ step: DerivedProperty.Step) throws -> [ObjectID] {
        func members(_ state: WorkingState) throws -> [ObjectID] {
            try state.members(of: id, at: step.end, reader).map(\.id)
        }
        lookups.note(members: try members(stored), of: id, at: step.end)
        return try members(changed)
    }

    // MARK: Values

    /// Records the objects that an expression reads.
    private func noteTargets(
        of row: QueryState.Row, _ property: DerivedProperty, _ query: QueryState
    ) throws {
        for input in property.inputs where !input.steps.isEmpty {
            var row: QueryState.Row? = row
            for step in input.steps {
                guard let id = try row?.reference(step.slot) else { break }
                if objects[ObjectKey(step.entity, id)] == nil {
                    lookups.note(entity: step.entity, id)
                }
                row = try query.target(step.entity, id)
            }
        }
    }

    private func set(_ value: Value, _ derived: DerivedProperty, _ id: ObjectID) throws {
        let key = ObjectKey(derived.entity, id)
        let entity = schema.entities[derived.entity]
        let property = entity.properties[derived.slot]
        var value = property.accepts(value) ? value : .null
        if value == .null, fillsMissing, !property.isOptional {
            value = property.type.placeholder ?? .null
        }
        guard let object = try objects[key] ?? storedObject(key), let after = object.after else {
            return
        }
        let body: EncodedBody
        do {
            body = try after.replacing(value, slot: derived.slot, of: entity)
        } catch is EncodingFailure {
            body = try after.replacing(.null, slot: derived.slot, of: entity)
        }
        if body == after { return }
        objects[key] = object
        objects[key]?.after = body
        objects[key]?.isChanged = true
    }

    private func storedObject(_ key: ObjectKey) throws -> Object? {
        try reader.withRecord(ofEntity: key.entity, key.id, asOf: stored.revision) { record in
            let body = EncodedBody(record.body)
            return Object(kind: .update, base: record.revision, before: body, after: body)
        }
    }
}

extension ChangeSetBuilder {
    /// Returns whether a value of an item has no stored form.
    fileprivate borrowing func isUnstorable(_ item: Item) -> Bool {
        !failures.isEmpty
            && failures.contains {
                $0.start == item.before.lowerBound && !item.before.isEmpty
                    || $0.start == item.after.lowerBound && !item.after.isEmpty
            }
    }
}
