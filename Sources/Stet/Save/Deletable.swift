import Glibc
import StetStore

// Operations that cannot be undone are requested first, and run after a confirmation.

/// A model whose objects may be deleted without confirmation; `@Model` adds the conformance to all
/// models except those with `.protected`.
public protocol Deletable: Model {}

extension ManagedContext {
    /// Marks an object as deleted.
    ///
    /// It keeps its values; references to it become nil when the context is saved, and show the
    /// deleted object until then. If its delete rules reach a protected object, the save is
    /// refused: call `requestDelete(_:)` instead.
    ///
    /// Nothing happens when the object is already deleted or in no context. An object of another
    /// context is not deleted and becomes a violation at the next save.
    public func delete(_ object: some Deletable) {
        core.pending.delete(object)
    }

    /// Unavailable for protected models, and where the model is not known.
    @available(
        *, unavailable,
        message: "the model may be protected: use requestDelete(_:), and confirm what it returns"
    )
    public func delete(_ object: some Model) {
        core.pending.delete(object)
    }

    /// Unavailable: an id is not the object.
    @available(
        *, unavailable,
        message: "delete the object, which 'try context.object(Article.self, id: id)' returns"
    )
    public func delete(_ id: ObjectID) {}

    /// Returns an action that describes what deleting an object would destroy, including by delete
    /// rules, and deletes it once confirmed; nothing is lost before the context is saved.
    ///
    /// The plan is that of the moment of the call: if the deletion later reaches a protected object
    /// outside the plan, the save is refused.
    ///
    /// - Throws: `ValidationError` when hooks do not settle; `StoreError`.
    /// - Complexity: O(objects that the delete rules reach).
    public func requestDelete(_ object: some Model) throws -> DestructiveAction {
        try request([object], Sentence("Delete {entity}?"), entity: object._$entityName)
    }

    /// Returns an action that describes what deleting all objects of a model would destroy, and
    /// deletes them once confirmed.
    ///
    /// - Throws: `ValidationError` when hooks do not settle; `StoreError`.
    /// - Complexity: O(objects + objects that the delete rules reach).
    public func requestDeleteAll<M: Model>(_ type: M.Type) throws -> DestructiveAction {
        try request(
            try fetch(type).all(), Sentence("Delete all of {entity}?"), entity: M._$name)
    }

    func request(
        _ objects: [any Model], _ title: Sentence, entity: String
    ) throws -> DestructiveAction {
        let lost = try core.objectsLost(with: objects)
        let byEntity = Dictionary(grouping: lost, by: { $0._$entityName })
        let plan = DestructiveAction.Plan(
            title, entity: entity, "Delete",
            losses: byEntity.map {
                DestructiveAction.Plan.Loss(entity: $0.key, objects: $0.value.map { $0.id })
            }, core.messages)
        return DestructiveAction(plan: plan, logger: store.configuration.logger) { [core] in
            for object in objects { core.pending.delete(object) }
            for object in lost where core.schema.isProtected(object._$entityNumber) {
                core.pending.delete(object)
            }
            for object in lost where object.isDeleted && object.hasChanges {
                core.pending.confirmDeletion(at: Int(object._$pendingIndex))
            }
        }
    }
}

extension ContextCore {
    /// Returns the objects that a save would delete because of these; changes nothing.
    fileprivate func objectsLost(with objects: [any Model]) throws -> [any Model] {
        checkNotSaving("requestDelete(_:)")
        try saves.finishInFlight()
        try checkUsable()
        let start = pending.capture()
        let before = Set(
            pending.objects.filter { $0.object.isDeleted }.map { ObjectIdentifier($0.object) })
        defer {
            pending.watch(false)
            rollBack(to: start)
        }
        return try saving {
            for object in objects where object._$core === self && !object.isDeleted {
                pending.markDeleted(object)
            }
            pending.insertReachable()
            var preparation = SavePreparation(self)
            try preparation.settle()
            try checkUsable()
            return pending.objects.map(\.object).filter { object in
                object.isDeleted && !object._$isNew && !before.contains(ObjectIdentifier(object))
            }
        }
    }
}

extension Store {
    /// Returns an action that describes what erasing the store would destroy, and closes and
    /// removes it once confirmed.
    ///
    /// No other process may have the store open: it would continue with a file that has no name.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(objects).
    public func requestErase() throws -> DestructiveAction {
        let plan = DestructiveAction.Plan(
            Sentence("Erase the store {limit}?", limit: path), "Erase",
            losses: try .everything(in: file), configuration.messages)
        return DestructiveAction(plan: plan, logger: configuration.logger) { [self] in
            close()
            try drafts.removeAll()
            for name in [path, path + "-lock"] where unlink(name) != 0 && errno != ENOENT {
                throw StoreError(
                    .inputOutput, path: path, message: "\(name) could not be removed.",
                    advice: "Remove it by hand; the store is closed.", systemCode: errno)
            }
        }
    }
}

extension [DestructiveAction.Plan.Loss] {
    /// Returns the losses when a store is erased.
    fileprivate static func everything(in file: StoreFile) throws -> Self {
        try file.read { reader in
            let head = try reader.head().revision
            return try file.schema.entities.numbered.filter { !$1.isRemoved }.map {
                number, entity in
                var objects: [ObjectID] = []
                try reader.forEachRecord(ofEntity: number, asOf: head) { id, _ in
                    objects.append(id)
                    return true
                }
                return DestructiveAction.Plan.Loss(entity: entity.name, objects: objects)
            }
        }
    }
}
