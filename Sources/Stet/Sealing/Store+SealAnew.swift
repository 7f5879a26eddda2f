import StetStore

extension Store {
    /// Seals the values of an owner anew: by its present key, and with the token of an index that
    /// was added since, or without that of one that was removed.
    ///
    /// This includes values of its objects that are still sealed by the key of an earlier owner,
    /// because an undo or an import, which need no key, has changed the relationship.
    ///
    /// ```swift
    /// try keys.rotateKey(of: ada.id)
    /// try await store.sealAnew(by: ada.id)
    /// ```
    ///
    /// The objects are saved in ordinary commits, each of at most 256. The history keeps the
    /// earlier bytes, and the key file the keys that open them. When it ends early, call it again:
    /// it continues with the values that remain. Values that have the present form are no change.
    ///
    /// - Parameter owner: The id of the object by whose key the values are sealed.
    /// - Returns: The number of objects with values that were sealed anew.
    /// - Throws: `SealingError`: `.keyFileNotOpen` when the store has no key file, `.erased`,
    ///   `.damaged` and `.misplaced` for values that do not open; the errors of `edit`.
    /// - Complexity: O(objects with sealed attributes).
    @discardableResult
    public nonisolated(nonsending) func sealAnew(by owner: ObjectID) async throws -> Int {
        guard let keys = configuration.keys else { throw SealingError.noKeyFile }
        let version = try keys.presentVersion(of: owner)
        let form = SealForm(owner: owner, keyVersion: version, keys: keys)
        let renewal = SealRenewal(store: self, form: form)
        var count = 0
        for case let type? in modelTypes { count += try await renewal.renew(type) }
        return count
    }
}

/// Seals the values that have another form than the present one.
private struct SealRenewal {
    let store: Store
    let form: SealForm

    /// Returns the number of objects of a model with such values, once they are saved.
    nonisolated(nonsending) func renew<M: Model>(_ type: M.Type) async throws -> Int {
        let entity = M._$description.entity
        if entity.sealedSlots.isEmpty { return 0 }
        var ids: [ObjectID] = []
        _ = try store.fetch(type).read { run in
            try run.forEachMatch { row in
                let body = try RecordBody(row.body, of: entity)
                if try !form.otherSlots(body, of: row.id).isEmpty { ids.append(row.id) }
                return true
            }
        }
        if !ids.isEmpty, form.keyVersion == nil {
            try store.file.read { reader in
                try form.keys.makeKeys(for: [form.owner], unlessUsedIn: reader)
            }
        }
        for first in stride(from: 0, to: ids.count, by: 256) {
            let part = ids[first..<min(first + 256, ids.count)]
            try await store.edit { context in
                for id in part {
                    guard let object = try context.object(type, id: id) else { continue }
                    try object._$sealAnew(form)
                }
            }
        }
        return ids.count
    }
}

/// The form that a save gives to the values of an owner.
private struct SealForm: Sendable {
    let owner: ObjectID
    /// The version of the owner's key; nil when it had none.
    let keyVersion: UInt32?
    let keys: KeyFile

    /// Returns the slots of an object whose values of the owner have another form.
    func otherSlots(_ body: RecordBody, of object: ObjectID) throws -> [Slot] {
        try body.entity.sealedSlots.filter { slot in
            guard let value = try body.sealedBytes(slot), let place = value.place else {
                return false
            }
            if place.owner != owner {
                guard try body.owner(ofSealed: slot, in: object) == owner else { return false }
                // A value that does not open stays where it is, erased or not.
                if case .success = value.opening() { return true }
                return false
            }
            let label = SealedBytes.Place.label(ofProperty: body.entity.properties[slot].name)
            return value.keyVersion != keyVersion || place.label != label
                || (value.token != nil) != body.entity.isIndexed(slot)
        }
    }

    /// Returns a value of an object in the present form.
    func seal(
        _ plaintext: [UInt8], _ slot: Slot, of object: ObjectID, _ entity: Entity
    ) throws -> SealedBytes {
        let label = SealedBytes.Place.label(ofProperty: entity.properties[slot].name)
        let place = SealedBytes.Place(owner: owner, object: object, label: label)
        return try SealedBytes(plaintext, at: place, isIndexed: entity.isIndexed(slot), by: keys)
    }
}

extension RecordBody {
    /// Returns the object by whose key the value in a slot is to be sealed; nil without one.
    fileprivate func owner(ofSealed slot: Slot, in object: ObjectID) throws -> ObjectID? {
        guard let seal = entity.properties[slot].seal, let reference = entity.slot(ofOwner: seal)
        else { return object }
        guard case .reference(let owner) = try value(reference) else { return nil }
        return owner
    }
}

extension Model {
    /// Returns whether values of the attribute in a slot may have a label.
    func _$hasLabel(_ label: UInt32, _ slot: Slot) -> Bool {
        Self._$description.sealLabels?.takeUnretainedValue().contains(label, slot: slot) == true
    }

    /// Seals the values that have another form.
    ///
    /// Not the save: it would refuse values that are still with an owner to which the object does
    /// not refer any more.
    fileprivate func _$sealAnew(_ form: SealForm) throws {
        guard let table = _$state.table else { return }
        let body = try _$body()
        let values = try body.read(as: table.description) { body in
            var values: [Slot: SealedBytes] = [:]
            for slot in try form.otherSlots(body, of: id) {
                guard let value = try body.sealedBytes(slot) else { continue }
                guard let place = value.place, place.object == id, _$hasLabel(place.label, slot)
                else { throw SealingError.misplaced }
                values[slot] = try form.seal(try value.opened(), slot, of: id, body.entity)
            }
            return values
        }
        if values.isEmpty { return }
        let capture = try _$capture(replacing: values)
        guard _$willChange() else { return }
        table.core.pending.change(self) { _ in capture?.values.restore(self) }
    }
}
