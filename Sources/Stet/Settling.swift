import StetStore

// Steps 1 and 2 of the save sequence.

extension ManagedContext {
    /// How often `willSave` and the delete rules run until nothing changes any more.
    static let roundLimit = 8

    /// Runs normalisers, delete rules and `willSave` until nothing changes any more.
    func settle() throws {
        var objects = pending.map(\.object)
        for round in 1... {
            let before = round == Self.roundLimit ? objects.map { ($0, $0._$capture()) } : []
            beginSettling()
            try applyDeleteRules()
            for object in objects { object.willSave() }
            for object in objects { normalize(object) }
            objects = touched ?? []
            for object in objects { normalize(object) }
            insertReachable()
            if objects.isEmpty { return }
            if round == Self.roundLimit {
                endSettling()
                throw unsettled(before)
            }
        }
    }

    func beginSettling() {
        touched = []
        for entry in pending { entry.object._$rest() }
    }

    func endSettling() {
        touched = nil
        for entry in pending { entry.object._$wake() }
    }

    private func normalize<M: Model>(_ object: M) {
        guard !object.isDeleted, object._$state.pendingIndex >= 0 else { return }
        let base = object.isInserted ? nil : pending[Int(object._$state.pendingIndex)].base
        object._$normalize(sinceMemento: base)
    }

    /// Names the first property that still changed in the last round.
    private func unsettled(_ before: [(object: any Model, memento: AnyObject)]) -> ValidationError {
        var violations: [Violation] = []
        for (object, memento) in before {
            if let violation = changedProperty(of: object, since: memento) {
                violations.append(violation)
            }
        }
        return ValidationError(violations: violations.inTotalOrder(), rejected: changes)
    }

    private func changedProperty<M: Model>(of object: M, since memento: AnyObject) -> Violation? {
        let entity = table(for: M.self).entity
        var net = NetChanges(schema: store.file.schema)
        let old = net.encode(entity: entity) { M._$encode(memento, into: &$0) }
        let new = net.encode(entity: entity) { object._$encode(into: &$0) }
        let item = NetChanges.Item(
            kind: .update, entity: entity, id: object.id, base: .zero, before: old, after: new)
        net.append(item)
        guard let change = (try? net.changeSet())?.changes.first,
            let first = change.properties.first
        else { return nil }
        return Violation(
            code: .unsettled, entity: M._$name, object: object.id, property: first.name,
            slot: M._$description.entity.slot(of: first.name),
            message: "\(first.name) was still changed by willSave in round \(Self.roundLimit)")
    }
}

extension Model {
    func _$rest() { _$state.flags.insert(.resting) }
    func _$wake() { _$state.flags.remove(.resting) }
}
