import FoundationEssentials
import StetStore

/// Brings the pending changes of a context into the state in which they would be saved, and checks
/// them; to be read from the top down.
struct SavePreparation {
    /// The maximum number of rounds of `willSave` and delete rules until nothing changes any more.
    static let roundLimit = 8

    private let core: ContextCore
    private var graph: ContextGraph

    init(_ core: ContextCore) {
        self.core = core
        graph = ContextGraph(core)
    }

    private var pending: PendingChanges { core.pending }

    /// Returns the changes that would be saved.
    ///
    /// Stored objects that were changed after `horizon` are not compared for unique values.
    ///
    /// - Throws: `ValidationError`, `StoreError`.
    mutating func prepare(
        _ time: Date, horizon: Revision?, isToBeCommitted: Bool = true
    ) throws -> PreparedSave {
        pending.insertReachable()
        defer { pending.watch(false) }
        let tracer = core.store.file.tracer
        try tracer.span("stet.save.settle") { try settle() }
        var sealing = SealingStep(core)
        try sealing.run()
        var changes = try core.netChanges(sealed: sealing.sealed)
        changes.sealRefusals = sealing.refusals
        let stamped = core.stampedObjects(changes)
        changes.stamp(time)
        try derive(&changes)
        changes.sort()
        var prepared = PreparedSave(
            changes: changes, deleteRulePaths: graph.deleteRulePaths, stamped: stamped,
            sealed: sealing.sealed)
        try prepared.changes.collectIndexChanges(isToBeCommitted: isToBeCommitted)
        var check = ChangeSetCheck(
            store: core.store, revision: core.revision, deleted: core.state.pending.deleted,
            horizon: horizon, confirmed: pending.confirmedDeletions)
        var violations = try pending.rejections + deniedDeletions()
        violations += try tracer.span("stet.save.validate") {
            try check.violations(of: &prepared.changes, besides: violations)
        }
        // A read in a hook may have failed. Its edits and these violations are then based on nil.
        try core.checkUsable()
        let edited = pending.watch(true)
        if !edited.isEmpty {
            for object in edited {
                core.note(.editedDuringCommit, object, "was edited by a validator")
            }
            violations = pending.rejections
        }
        guard violations.isEmpty else {
            throw ValidationError(
                violations: violations.inTotalOrder(), rejected: try prepared.changeSet())
        }
        return prepared
    }

    /// Computes the derived attributes of the changed objects, and of those that refer to them.
    private func derive(_ net: inout ChangeSetBuilder) throws {
        if core.schema.derivedProperties.isEmpty { return }
        try core.store.file.read { try net.derive($0, at: core.revision, correctsBefore: true) }
    }

    /// Returns a violation for each deletion that a delete rule forbids, also of objects that were
    /// never saved: their members would refer to nothing.
    private func deniedDeletions() throws -> [Violation] {
        try DeleteRules.denials(of: core.state.pending.deleted, in: graph).map { denial in
            Violation(
                code: .deleteDenied, operation: .delete,
                entity: core.schema.entities[denial.object.entity].name,
                object: denial.object.id, property: denial.property, slot: denial.slot,
                denial.isOfReference ? .deleteDeniedByOne : .deleteDenied,
                others: denial.blocking, messages: core.messages)
        }
    }

    // MARK: Settling

    /// Runs normalisers, delete rules and `willSave` until nothing changes any more.
    ///
    /// After that, every pending object is watched, until the end of the save resets its flags.
    mutating func settle() throws {
        // Of the first round, all pending objects: a list of them would have to retain each.
        var edited: [any Model]?
        for round in 1... {
            // What the rules make pending has its turn in the next round.
            let hooked = objectsWithHooks(among: edited)
            pending.forEachObject(of: edited) { normalize($0) }
            let before = captures(of: hooked)
            pending.watch(true)
            try removeOrphans(among: edited)
            try DeleteRules.propagate(deletedOwners(edited), in: &graph)
            callWillSave(of: hooked)
            pending.insertReachable()
            let objects = pending.watch(true).filter { isChanged($0, since: before) }
            if objects.isEmpty { return }
            if round == Self.roundLimit { throw unsettled(objects, before) }
            edited = objects
        }
    }

    /// Deletes the objects that were removed from their owner, where the relationship removes
    /// orphans; nil stands for all pending objects.
    private mutating func removeOrphans(among edited: [any Model]?) throws {
        guard core.store.relationships.removeOrphans else { return }
        try graph.removeOrphans(among: edited ?? pending.objects.map(\.object))
    }

    /// Returns the deleted objects whose rules are to be applied: those of edited objects, and
    /// those that edited objects refer to again; nil stands for all pending objects.
    private func deletedOwners(_ edited: [any Model]?) -> [ObjectKey] {
        if core.state.pending.deleted.isEmpty, edited == nil { return [] }
        var owners: [ObjectKey] = []
        pending.forEachObject(of: edited) { object in
            if object._$flags.contains(.deleted) {
                owners.append(object._$key)
            } else if edited != nil, let table = object._$table {
                for end in table.ends {
                    let owner = ObjectKey(end.owner, object._$reference(in: end.slot))
                    if core.state.isDeleted(owner) { owners.append(owner) }
                }
            }
        }
        return owners
    }

    /// Returns the objects whose `willSave` is to be called; nil stands for all pending objects.
    private func objectsWithHooks(among edited: [any Model]?) -> [any Model] {
        guard core.store.hasEditingHooks else { return [] }
        func hasWillSave<M: Model>(_ object: M) -> Bool { M._$hasWillSave }
        return (edited ?? pending.objects.map(\.object)).filter { hasWillSave($0) }
    }

    /// Returns the values of objects before delete rules and hooks change them, whose effects the
    /// next round follows.
    private func captures(of objects: [any Model]) -> [ObjectIdentifier: AnyObject] {
        var captures: [ObjectIdentifier: AnyObject] = [:]
        for object in objects where !object._$flags.contains(.deleted) {
            captures[ObjectIdentifier(object)] = object._$capture()
        }
        return captures
    }

    private func callWillSave(of objects: [any Model]) {
        func call<M: Model>(_ object: M) { object.willSave() }
        for object in objects where !object._$flags.contains(.deleted) { call(object) }
    }

    /// Normalises an object, and watches for its next edit.
    private func normalize<M: Model>(_ object: M) {
        object._$state.flags.insert(.watched)
        if object._$flags.contains(.deleted) { return }
        let pending = pending
        let index = Int(object._$pendingIndex)
        object._$normalize(
            sinceCapture: pending.objects[index].normalized
                ?? (object.isInserted ? nil : pending.objects[index].base))
        if M._$description.hasCustomNormalizers {
            pending.setNormalized(object._$capture(), at: index)
        }
    }

    /// Returns whether an object differs from its state before delete rules and hooks; one that
    /// they have reset is watched again.
    private func isChanged<M: Model>(
        _ object: M, since before: [ObjectIdentifier: AnyObject]
    ) -> Bool {
        guard let capture = before[ObjectIdentifier(object)], !object._$flags.contains(.deleted)
        else { return true }
        if let now = try? object._$body(), let old = try? M._$body(of: capture), now == old {
            object._$state.flags.insert(.watched)
            return false
        }
        return true
    }

    /// Returns an error that names, for each object, the first property that still changed in the
    /// last round.
    private func unsettled(
        _ objects: [any Model], _ before: [ObjectIdentifier: AnyObject]
    ) -> any Error {
        var violations: [Violation] = []
        for object in objects {
            if let capture = before[ObjectIdentifier(object)],
                let violation = changedProperty(of: object, since: capture)
            {
                violations.append(violation)
            }
        }
        if violations.isEmpty {
            // Each round touched different objects. The error names those of the last round.
            for object in objects {
                core.note(
                    .unsettled, object,
                    "was still touched by willSave in round \(Self.roundLimit)")
            }
            violations = pending.rejections
        }
        return ValidationError(
            violations: violations.inTotalOrder(), rejected: core.changes())
    }

    private func changedProperty<M: Model>(of object: M, since capture: AnyObject) -> Violation? {
        guard let entity = object._$table?.description,
            let old = try? M._$body(of: capture).values(of: entity),
            let new = try? object._$body().values(of: entity),
            let slot = entity.properties.slots.first(where: { old[$0] != new[$0] })
        else { return nil }
        return Violation(
            code: .unsettled, entity: M._$name, object: object.id,
            property: entity.properties[slot].name, slot: slot,
            Sentence("{property} was still changed by willSave in round \(Self.roundLimit)"),
            messages: core.messages)
    }
}

/// The changes of a save, encoded and checked.
struct PreparedSave: ~Copyable {
    var changes: ChangeSetBuilder
    /// The relationship by which a delete rule has changed an object, by the object's id.
    let deleteRulePaths: [ObjectID: String]
    /// The positions of the pending objects that get the time of the save.
    let stamped: [Int]
    /// The values that the save seals, by the positions of their objects.
    let sealed: [Int: [Slot: SealedBytes]]

    /// Returns the changes as plain values, each with the delete rule that made it.
    borrowing func changeSet() throws -> ChangeSet {
        var changeSet = try changes.changeSet()
        if deleteRulePaths.isEmpty { return changeSet }
        for index in changeSet.changes.indices {
            changeSet.changes[index].via = deleteRulePaths[changeSet.changes[index].id]
        }
        return changeSet
    }
}

// MARK: - Net changes

extension ContextCore {
    /// Returns the pending changes that alter stored bytes, with other sealed values for some
    /// positions.
    func netChanges(
        sealed: [Int: [Slot: SealedBytes]] = [:]
    ) throws -> ChangeSetBuilder {
        let pending = pending
        let objects = pending.objects
        var net = ChangeSetBuilder(schema: schema, expectedCount: objects.count)
        // A loop over the entries would copy them.
        for position in objects.indices {
            try append(
                objects[position].object, objects[position].base, position, sealed[position],
                to: &net)
        }
        if pending.links.isEmpty { return net }
        let changes = try store.file.read { reader in
            try pending.links.compactMap { try change(of: $0, to: $1.now, reader) }
        }
        for change in changes { net.append(change) }
        return net
    }

    private func append<M: Model>(
        _ object: M, _ base: AnyObject, _ position: Int, _ sealed: [Slot: SealedBytes]?,
        to net: inout ChangeSetBuilder
    ) throws {
        let entity = object._$table?.entity ?? 0
        let flags = object._$flags
        let kind: ChangeKind
        switch (flags.contains(.inserted), flags.contains(.deleted)) {
        case (true, true): return
        case (true, false): kind = .insert
        case (false, true): kind = .delete
        case (false, false): kind = .update
        }
        let before =
            kind == .insert
            ? 0..<0 : net.encode(entity: entity) { M._$encode(capture: base, into: &$0) }
        let after =
            kind == .delete
            ? 0..<0
            : try encode(object, entity: entity, sealed, isNew: kind == .insert, in: &net)
        if kind == .update, try net.areEqual(before, after, exceptDerivedOf: entity) { return }
        net.append(
            ChangeSetBuilder.Item(
                kind: kind, entity: entity, id: object.id, base: object._$revision,
                before: before, after: after, position: position))
    }

    private func encode<M: Model>(
        _ object: M, entity: EntityNumber, _ sealed: [Slot: SealedBytes]?, isNew: Bool,
        in net: inout ChangeSetBuilder
    ) throws -> Range<Int> {
        if let sealed {
            let body = try object._$body().replacing(sealed, of: schema.entities[entity])
            return body.bytes.withUnsafeBytes { net.copy($0) }
        }
        if !isNew { return net.encode(entity: entity) { object._$write(to: &$0) } }
        return net.encodeInsertion(of: object.id, entity: entity, base: object._$revision) {
            object._$write(to: &$0)
        }
    }

    private func change(
        of key: LinkKey, to now: Membership, _ reader: borrowing StoreReader
    ) throws -> LinkChange? {
        var below = (membership: Membership.absent, revision: Revision.zero)
        if let sent = saves.inFlight?.sent?.links[key] {
            below.membership = sent.now
        } else if let ends = schema.ends(ofLink: key.link),
            object(ObjectKey(ends.targets.owner, key.source))?._$isNew != true,
            object(ObjectKey(ends.sources.owner, key.target))?._$isNew != true
        {
            below = try reader.link(key, asOf: revision)
        }
        if below.membership == now { return nil }
        return LinkChange(key, before: below.membership, after: now, previous: below.revision)
    }

    /// Returns the net effect of the current pending changes, with other sealed values for some
    /// positions.
    func changes(sealed: [Int: [Slot: SealedBytes]] = [:]) -> ChangeSet {
        resolving(ChangeSet()) {
            var net = try netChanges(sealed: sealed)
            net.sort()
            return try net.changeSet()
        }
    }
}

extension PendingChanges {
    /// The objects whose deletion was confirmed.
    fileprivate var confirmedDeletions: Set<ObjectKey> {
        var keys: Set<ObjectKey> = []
        for index in objects.indices where objects[index].isDeletionConfirmed {
            keys.insert(objects[index].key)
        }
        return keys
    }

    /// Calls `body` for some objects; nil stands for all that are pending at the call.
    fileprivate func forEachObject(of some: [any Model]?, _ body: (any Model) -> Void) {
        if let some { return some.forEach(body) }
        for index in objects.indices { body(objects[index].object) }
    }
}
