/// The conflicts of an undo, and the policy's decision about each.
struct UndoConflicts {
    private let policy: UndoPolicy
    private let schema: Schema
    private(set) var failed: [UndoConflict] = []
    private(set) var skipped: [UndoConflict] = []
    /// The conflicts about which the policy has decided.
    private var answers: [Question: Decision] = [:]

    /// The decision about a conflict.
    enum Decision {
        case failed, keep, restore
        case set([Slot: Value])
    }

    /// An answer to a conflict other than `.fail`.
    enum Answer { case keep, restore, set }

    private struct Question: Hashable {
        let kind: UndoConflict.Kind
        let object: ObjectID
        let property: String?
        let before: Value
        let subject: Revision
    }

    init(_ policy: UndoPolicy, _ schema: Schema) {
        self.policy = policy
        self.schema = schema
    }

    /// Returns the policy's decision about a conflict; each conflict is decided once.
    mutating func decide(
        _ conflict: UndoConflict, allows allowed: Set<Answer>, subject: Revision
    ) -> Decision {
        let conflict = covered(conflict)
        let question = Question(
            kind: conflict.kind, object: conflict.object, property: conflict.property,
            before: conflict.before, subject: subject)
        if let known = answers[question] { return known }
        let decision: Decision
        switch policy.answer(conflict) {
        case .keep where allowed.contains(.keep): decision = .keep
        case .restore where allowed.contains(.restore): decision = .restore
        case .set(let values) where allowed.contains(.set):
            decision = slots(values, conflict.entity).map(Decision.set) ?? .failed
        default: decision = .failed
        }
        switch decision {
        case .failed: failed.append(conflict)
        case .keep: skipped.append(conflict)
        case .restore, .set: break
        }
        answers[question] = decision
        return decision
    }

    /// Records that an answer has not resolved a conflict.
    mutating func fail(_ conflict: UndoConflict) {
        let conflict = covered(conflict)
        if !failed.contains(conflict) { failed.append(conflict) }
    }

    /// Reports a value for which the current schema has no property.
    mutating func skip(_ conflict: UndoConflict) { skipped.append(conflict) }

    /// Returns a conflict that knows whether its values are hidden.
    private func covered(_ conflict: UndoConflict) -> UndoConflict {
        guard let names = conflict.property?.split(separator: ", ") else { return conflict }
        var conflict = conflict
        conflict.isHidden =
            schema.entity(named: conflict.entity)?.properties.contains { property in
                property.isHidden && names.contains { property.name.isPart(of: $0) }
            } ?? false
        return conflict
    }

    /// Returns values by slot; nil when one does not suit its property.
    private func slots(_ values: [String: Value], _ name: String) -> [Slot: Value]? {
        guard let entity = schema.entity(named: name) else { return nil }
        var slots: [Slot: Value] = [:]
        for (name, value) in values {
            // An answer names the owner; a position is optional.
            guard let slot = entity.slot(of: name) else { return nil }
            if let whole = entity.optionalValue(at: slot), whole.presence == slot {
                guard let members = entity.values(of: whole, whole: value) else { return nil }
                slots.merge(members) { $1 }
                continue
            }
            guard
                entity.properties[slot].accepts(value)
                    || entity.properties[slot].withPosition(false).accepts(value),
                (try? EncodedBody(
                    [value], of: Entity(name: "", properties: [entity.properties[slot]]))) != nil
            else { return nil }
            slots[slot] = value
        }
        return slots
    }
}
