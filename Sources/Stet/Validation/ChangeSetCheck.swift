import StetStore

/// Finds everything that is wrong with the net changes of a save or an undo.
struct ChangeSetCheck {
    let store: Store
    /// The revision that the changes are based on.
    let revision: Revision
    /// The objects that will not exist, beside those that the changes delete.
    var deleted: Set<ObjectKey> = []
    /// The revision after which changed objects are not compared for unique values; nil compares
    /// all of them.
    ///
    /// Objects that were changed after it cannot be seen yet: they are left to the writer, whose
    /// refusal makes the save follow the store.
    let horizon: Revision?
    /// The protected objects whose deletion was confirmed.
    let confirmed: Set<ObjectKey>

    private var schema: Schema { store.file.schema }
    private var messages: MessageTable { store.configuration.messages }

    /// Returns what is wrong with the changes, besides known violations; records the look-ups of
    /// validators in the changes.
    mutating func violations(
        of net: inout ChangeSetBuilder, besides known: [Violation] = []
    ) throws -> [Violation] {
        var violations = try net.violations(messages)
        violations += unconfirmedDeletions(net)
        for chain in store.configuration.chains {
            violations += try chain.violations(of: net, messages)
        }
        let isAsked = asksCode(net)
        let failed = Set((known + violations).compactMap(\.object))
        let (reported, lookups) = try isAsked ? validate(net, failed: failed) : ([], Lookups())
        violations += reported
        violations += try violationsOfUniqueness(net)
        violations += try violationsOfCounts(net)
        net.lookups.formUnion(lookups)
        if !store.configuration.changeSetValidators.isEmpty, violations.isEmpty, known.isEmpty,
            !net.isEmpty
        {
            violations += try validateChangeSet(&net)
        }
        return violations
    }

    // MARK: Deletions

    /// Returns a violation for each deletion of a protected object that was not confirmed.
    private func unconfirmedDeletions(_ net: borrowing ChangeSetBuilder) -> [Violation] {
        net.items.filter { item in
            item.kind == .delete && schema.isProtected(item.entity)
                && !confirmed.contains(ObjectKey(item.entity, item.id))
        }.map { item in
            .unconfirmedDeletion(of: item.id, schema.entities[item.entity], messages)
        }
    }

    // MARK: Values that must be unique, and counts

    private func violationsOfUniqueness(_ net: borrowing ChangeSetBuilder) throws -> [Violation] {
        guard let changes = net.indexChanges, changes.hasClaims else { return [] }
        let conflicts = try store.file.read { try $0.conflicts(with: changes, through: horizon) }
        if conflicts.isEmpty { return [] }
        return try net.schema.violations(
            conflicts, messages, operation: { net.item($0)?.kind },
            value: { try net.value(of: $0, slot: $1) })
    }

    private func violationsOfCounts(_ net: borrowing ChangeSetBuilder) throws -> [Violation] {
        let miscounts = try store.file.read { reader in
            // The writer checks the counts if the store has moved, as with unique values.
            let isAhead = try horizon.map { try reader.head().revision > $0 } ?? false
            return isAhead ? [] : try reader.miscounts(of: net, deleted: deleted)
        }
        if miscounts.isEmpty { return [] }
        return net.schema.violations(miscounts, messages) { net.item($0)?.kind }
    }

    // MARK: Validators

    private func asksCode(_ net: borrowing ChangeSetBuilder) -> Bool {
        func hasValidators<M: Model>(_ type: M.Type) -> Bool { !M.validators.isEmpty }
        var entity: EntityNumber = 0
        for item in net.items where item.entity != entity {
            entity = item.entity
            if let type = store.modelTypes[entity], hasValidators(type) { return true }
        }
        return false
    }

    /// Returns the violations that the validators of the models report, and the validators'
    /// look-ups.
    private func validate(
        _ net: borrowing ChangeSetBuilder, failed: Set<ObjectID>
    ) throws -> ([Violation], Lookups) {
        try PendingStore.withStore(store, revision, net) { view in
            var violations: [Violation] = []
            var start = 0
            while start < net.items.count {
                let entity = net.items[start].entity
                let end = net.items[start...].firstIndex { $0.entity != entity } ?? net.items.count
                if let type = store.modelTypes[entity] {
                    violations += try validate(start..<end, net, of: type, failed, view)
                }
                start = end
            }
            return violations
        }
    }

    private func validate<M: Model>(
        _ range: Range<Int>, _ net: borrowing ChangeSetBuilder, of type: M.Type,
        _ failed: Set<ObjectID>,
        _ view: PendingStore
    ) throws -> [Violation] {
        let validators = M.validators
        if validators.isEmpty { return [] }
        var violations: [Violation] = []
        for index in range {
            let item = net.items[index]
            // A value without a stored form has no snapshot.
            if !net.unstorable(in: item.after, ofEntity: item.entity, item.id).isEmpty { continue }
            if try net.lacksDerivedValue(item) { continue }
            let old =
                item.kind == .insert ? nil : try M._$decode(item.id, net.body(item.before))
            let new = item.kind == .delete ? nil : try M._$decode(item.id, net.body(item.after))
            violations += try validators.violations(
                item.kind, item.id, old: old, new: new, isInvalid: failed.contains(item.id), view,
                messages
            ) { slot in
                let entity = schema.entities[item.entity]
                return item.kind == .delete
                    ? nil : try RecordBody(net.body(item.after), of: entity).value(slot)
            }
        }
        return violations
    }

    private func validateChangeSet(_ net: inout ChangeSetBuilder) throws -> [Violation] {
        let changes = try net.changeSet()
        let (violations, lookups) = try PendingStore.withStore(store, revision, net) {
            view -> [Violation] in
            var validation = ChangeSet.Validation(changes: changes, store: view)
            for validator in store.configuration.changeSetValidators { validator(&validation) }
            return validation.violations(messages)
        }
        net.lookups.formUnion(lookups)
        return violations
    }
}

extension Validators {
    /// Returns the violations that the validators report for one object.
    func violations(
        _ operation: ChangeKind, _ id: ObjectID, old: M.Snapshot?, new: M.Snapshot?,
        isInvalid: Bool, _ view: PendingStore, _ messages: MessageTable,
        value: (Slot) throws -> Value?
    ) throws -> [Violation] {
        var violations: [Violation] = []
        var isInvalid = isInvalid
        func tell(_ report: Report, _ slot: Slot?) throws {
            violations.append(
                report.violation(
                    M._$description.entity, operation, id, slot, try slot.flatMap(value), messages))
        }
        if let new {
            for validator in properties {
                for report in validator.check(new, operation) {
                    try tell(report, validator.slot)
                    isInvalid = true
                }
            }
        }
        let asked = objects.filter { $0.concerns(operation, isInvalid: isInvalid) }
        if asked.isEmpty { return violations }
        var validation = Validation<M>(
            operation: operation, old: old, new: new, id: id, store: view)
        for validator in asked { validator.body(&validation) }
        for report in validation.reports { try tell(report, report.slot) }
        return violations
    }
}

extension Report {
    /// Returns the violation for a validator's report.
    func violation(
        _ entity: Entity, _ operation: ChangeKind?, _ object: ObjectID?, _ slot: Slot?,
        _ value: Value?, _ messages: MessageTable
    ) -> Violation {
        let property = slot.map { entity.properties[$0] }
        return Violation(
            code: code, operation: operation, entity: entity.name, object: object,
            property: property?.name, slot: slot,
            value: property?.isHidden ?? false ? nil : value,
            ruleIndex: Violation.validatorRuleIndex, sentence, reason: reason, messages: messages)
    }
}
