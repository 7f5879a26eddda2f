import FoundationEssentials
import StetStore

// Step 5 of the save sequence: everything that is wrong with the change set.

extension ManagedContext {
    /// What is wrong with the net changes; what validators look up is noted in them.
    ///
    /// Of stored objects with values that must be unique, those that were changed after `horizon`
    /// are let through.
    func violations(of net: inout NetChanges, _ horizon: Revision?) throws -> [Violation] {
        let messages = store.configuration.messages
        var violations = misuse + (try net.violations(messages)) + (try deniedDeletions())
        violations += unconfirmedDeletions(of: net)
        for chain in store.configuration.chains {
            violations += try chain.violations(of: net, messages)
        }
        let view = PendingStore(self)
        violations += validate(net, failed: Set(violations.compactMap(\.object)), view)
        violations += try violationsOfUniqueness(net, horizon)
        violations += try violationsOfCounts(net, horizon)
        violations += try validateChangeSet(net, isInvalid: !violations.isEmpty, view)
        net.lookups = view.lookups
        return violations.inTotalOrder()
    }

    /// What the validators of the models report.
    private func validate(
        _ net: borrowing NetChanges, failed: Set<ObjectID>, _ view: PendingStore
    ) -> [Violation] {
        var violations: [Violation] = []
        var start = 0
        while start < net.items.count {
            let entity = net.items[start].entity
            let end = net.items[start...].firstIndex { $0.entity != entity } ?? net.items.count
            if let type = store.modelTypes[entity - 1] {
                violations += validate(net.items[start..<end], of: type, failed, view)
            }
            start = end
        }
        return violations
    }

    private func validate<M: Model>(
        _ items: ArraySlice<NetChanges.Item>, of type: M.Type, _ failed: Set<ObjectID>,
        _ view: PendingStore
    ) -> [Violation] {
        let validators = M.validators
        if validators.isEmpty { return [] }
        var violations: [Violation] = []
        for item in items {
            let entry = pending[item.position]
            let object = unsafeDowncast(entry.object, to: M.self)
            let old =
                item.kind == .insert
                ? nil : unsafeDowncast(entry.base, to: Memento<M.Snapshot>.self).snapshot
            violations += validators.violations(
                of: object, item.kind, old: old, isInvalid: failed.contains(item.id), view,
                store.configuration.messages)
        }
        return violations
    }

    private func violationsOfUniqueness(
        _ net: borrowing NetChanges, _ horizon: Revision?
    ) throws -> [Violation] {
        guard let changes = net.indexChanges, changes.hasClaims else { return [] }
        let conflicts = try store.file.read {
            try $0.conflicts(with: changes, through: horizon)
        }
        if conflicts.isEmpty { return [] }
        let kinds = net.kinds
        return net.schema.violations(conflicts, store.configuration.messages) { kinds[$0] }
    }

    private func violationsOfCounts(
        _ net: borrowing NetChanges, _ horizon: Revision?
    ) throws -> [Violation] {
        let miscounts = try store.file.read { reader in
            // As with unique values.
            let isAhead = try horizon.map { try reader.head().revision > $0 } ?? false
            return isAhead ? [] : try reader.miscounts(of: net)
        }
        if miscounts.isEmpty { return [] }
        let kinds = net.kinds
        return net.schema.violations(miscounts, store.configuration.messages) { kinds[$0] }
    }

    private func validateChangeSet(
        _ net: borrowing NetChanges, isInvalid: Bool, _ view: PendingStore
    ) throws -> [Violation] {
        let validators = store.configuration.changeSetValidators
        if validators.isEmpty || isInvalid || net.items.isEmpty { return [] }
        var validation = ChangeSetValidation(changes: try net.changeSet(), store: view)
        for validator in validators { validator(&validation) }
        return validation.violations(store.configuration.messages)
    }
}

extension Validators {
    /// What the validators report of one object.
    func violations(
        of object: M, _ operation: ChangeKind, old: M.Snapshot?, isInvalid: Bool,
        _ view: PendingStore, _ messages: MessageTable
    ) -> [Violation] {
        var violations: [Violation] = []
        let new = operation == .delete ? nil : object._$snapshot
        var isInvalid = isInvalid
        func tell(_ report: Report, _ slot: Int?) {
            violations.append(
                report.violation(
                    M._$description.entity, operation, object.id, slot,
                    operation == .delete ? nil : slot.flatMap { object._$value(slot: $0) },
                    messages))
        }
        if let new, !isPlanted("A1") {
            for validator in properties {
                for report in validator.check(new, operation) {
                    tell(report, validator.slot)
                    isInvalid = true
                }
            }
        }
        let asked = objects.filter { $0.concerns(operation, isInvalid: isInvalid) }
        if asked.isEmpty { return violations }
        var validation = Validation<M>(
            operation: operation, old: old, new: new, id: object.id, store: view)
        for validator in asked { validator.body(&validation) }
        for report in validation.reports { tell(report, report.slot) }
        return violations
    }
}

extension NetChanges {
    /// What happens to each object.
    fileprivate var kinds: [ObjectID: ChangeKind] {
        Dictionary(items.map { ($0.id, $0.kind) }, uniquingKeysWith: { first, _ in first })
    }
}

extension Report {
    /// The violation that a validator has reported.
    func violation(
        _ entity: Entity, _ operation: ChangeKind?, _ object: ObjectID?, _ slot: Int?,
        _ value: Value?, _ messages: MessageTable
    ) -> Violation {
        Violation(
            code: isPlanted("A5") ? .custom : code, operation: operation, entity: entity.name,
            object: object,
            property: slot.map { entity.properties[$0].name }, slot: slot, value: value,
            ruleIndex: Violation.validatorRuleIndex, sentence,
            reason: isPlanted("E3") ? nil : reason, messages: messages)
    }
}

extension Model {
    /// The value in a slot now; nil when it has no stored form.
    func _$value(slot: Int) -> Value? {
        let entity = Self._$description.entity
        var net = NetChanges(schema: Schema(alone: entity))
        let range = net.encode(entity: 1) { _$encode(into: &$0) }
        return try? RecordBody(net.body(range), of: entity).value(slot)
    }
}

// MARK: - Change sets

/// What a validator sees of all changes of a save, and where it reports; see
/// `StoreConfiguration.changeSetValidators`.
public struct ChangeSetValidation {
    /// Everything that would be saved.
    public let changes: ChangeSet
    /// The store as it will be.
    public let store: PendingStore
    private var reports: [(report: Report, entity: String, object: ObjectID?)] = []

    fileprivate init(changes: ChangeSet, store: PendingStore) {
        self.changes = changes
        self.store = store
    }

    /// Says that the changes do not go together.
    ///
    /// - Parameters:
    ///   - message: what is wrong, as a sentence for people.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    ///   - change: the one that is to blame; nil when it is all of them.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil,
        on change: ObjectChange? = nil
    ) {
        let report = Report(sentence: Sentence(message), code: code, reason: reason)
        reports.append((report, change?.entity ?? "", change?.id))
    }

    fileprivate func violations(_ messages: MessageTable) -> [Violation] {
        reports.map { report, entity, object in
            let kind = changes.changes.first { $0.entity == entity && $0.id == object }?.kind
            return report.violation(
                Entity(name: entity, properties: []), kind, object, nil, nil, messages)
        }
    }
}
