import StetStore

// Steps 1 and 2 of the save sequence.

extension ManagedContext {
    /// How often `willSave` and the delete rules run until nothing changes any more.
    static let roundLimit = 8

    /// Runs normalisers, delete rules and `willSave` until nothing changes any more.
    ///
    /// From then on every pending object rests: its next edit is noticed in `touched`. Whatever
    /// ends the save gives the objects other flags.
    func settle() throws {
        var objects = pending.map(\.object)
        var deleted: [any Model] = []
        var settled: Set<ObjectIdentifier> = []
        effects = [:]
        for round in 1... {
            // Those that nobody has touched since the last round rest already.
            for object in objects where rest(object) { deleted.append(object) }
            var before: [ObjectIdentifier: AnyObject] = [:]
            touched = []
            let orphans = try removeOrphans(among: objects)
            try applyDeleteRules(
                to: deleted.filter { $0.isDeleted } + orphans, settled: &settled)
            try settlePlaces(of: objects)
            for object in objects where !object.isDeleted { callWillSave(of: object, &before) }
            insertReachable()
            objects = (touched ?? []).filter { isChanged($0, since: before) }
            touched = []
            if objects.isEmpty { return }
            if round == Self.roundLimit { throw unsettled(objects, before) }
        }
    }

    private func callWillSave<M: Model>(
        of object: M, _ before: inout [ObjectIdentifier: AnyObject]
    ) {
        guard M._$hasWillSave else { return }
        before[ObjectIdentifier(object)] = object._$capture()
        object.willSave()
    }

    /// False for an object that rests again: its hook has set it to what it was.
    private func isChanged<M: Model>(
        _ object: M, since before: [ObjectIdentifier: AnyObject]
    ) -> Bool {
        guard let memento = before[ObjectIdentifier(object)], !object.isDeleted else { return true }
        let entity = table(for: M.self).entity
        var net = NetChanges(schema: store.file.schema)
        let old = net.encode(entity: entity) { M._$encode(memento, into: &$0) }
        let new = net.encode(entity: entity) { object._$encode(into: &$0) }
        if !net.areEqual(old, new) { return true }
        object._$state.flags.insert(.resting)
        return false
    }

    /// Normalises an object and lets it rest; true when it is deleted.
    private func rest<M: Model>(_ object: M) -> Bool {
        object._$state.flags.insert(.resting)
        if object.isDeleted { return true }
        let index = Int(object._$state.pendingIndex)
        let base = object.isInserted ? nil : pending[index].base
        if isPlanted("C5") { return false }
        object._$normalize(sinceMemento: pending[index].normalized ?? base)
        if M._$description.hasCustomNormalizers { pending[index].normalized = object._$capture() }
        return false
    }

    /// Names the first property that still changed in the last round.
    private func unsettled(
        _ objects: [any Model], _ before: [ObjectIdentifier: AnyObject]
    ) -> ValidationError {
        var violations: [Violation] = []
        for object in objects {
            if let memento = before[ObjectIdentifier(object)],
                let violation = changedProperty(of: object, since: memento)
            {
                violations.append(violation)
            }
        }
        if violations.isEmpty {
            // Every round has touched other objects: those of the last one are named.
            for object in objects {
                object._$note(
                    .unsettled, "was still touched by willSave in round \(Self.roundLimit)")
            }
            violations = misuse
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
            Sentence("{property} was still changed by willSave in round \(Self.roundLimit)"),
            messages: store.configuration.messages)
    }
}
