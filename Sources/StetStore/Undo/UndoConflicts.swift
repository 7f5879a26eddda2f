/// The conflicts of an undo, and the policy's decision about each.
struct UndoConflicts {
    private let policy: UndoPolicy
    private let schema: Schema
    private(set) var failed: [UndoConflict] = []
    private(set) var skipped: [UndoConflict] = []
    /// The conflicts that the policy was asked about.
    private var answers: [Question: Decision] = [:]

    /// The decision about a conflict.
    enum Decision {
        case failed, keep, restore
        case set([Slot: Value])
    }

    /// An answer to a conflict beside `.fail`.
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

    /// Asks the policy about a conflict that it was not asked about before.
    mutating func decide(
        _ conflict: UndoConflict, allows allowed: Set<Answer>, subject: Revision
    ) -> Decision {
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

    /// Notes that an answer has not helped.
    mutating func fail(_ conflict: UndoConflict) {
        if !failed.contains(conflict) { failed.append(conflict) }
    }

    /// Reports a value that the present schema has no place for.
    mutating func skip(_ conflict: UndoConflict) { skipped.append(conflict) }

    /// Values by slot; nil when one does not fit its property.
    private func slots(_ values: [String: Value], _ name: String) -> [Slot: Value]? {
        guard let entity = schema.entity(named: name) else { return nil }
        var slots: [Slot: Value] = [:]
        for (name, value) in values {
            // An answer names an owner, and need not name a position.
            guard let slot = entity.slot(of: name),
                entity.properties[slot].accepts(value)
                    || entity.properties[slot].withPosition(false).accepts(value),
                (try? EncodedBody([value])) != nil
            else { return nil }
            slots[slot] = value
        }
        return slots
    }
}
