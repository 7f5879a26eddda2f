import FoundationEssentials

extension ChangeSetBuilder {
    /// Returns the slots of the sealed attributes that an item would leave unsealed.
    borrowing func unsealedSlots(of item: Item, allowsWaiting: Bool = false) throws -> [Slot] {
        let entity = schema.entities[item.entity]
        if item.kind == .delete || entity.sealedSlots.isEmpty { return [] }
        return try RecordBody(body(item.after), of: entity)
            .unsealedSlots(of: item.id, allowsWaiting: allowsWaiting)
    }

    /// Checks that nothing is written that should be sealed and is not, whichever way it came.
    ///
    /// - Throws: `SealingError` (`.misplaced`).
    borrowing func checkSeals() throws {
        if !schema.hasSealedAttributes { return }
        for item in items where try !unsealedSlots(of: item, allowsWaiting: true).isEmpty {
            throw SealingError.misplaced
        }
    }
}

extension RecordBody {
    /// Returns the slots of the sealed attributes whose bytes are not sealed for an object.
    ///
    /// An attribute without bytes waits for the code of a migration.
    func unsealedSlots(
        of object: ObjectID, allowsWaiting: Bool
    ) throws(DecodingFailure) -> [Slot] {
        var slots: [Slot] = []
        for slot in entity.sealedSlots {
            guard let value = try sealedBytes(slot) else { continue }
            if value.bytes.isEmpty, allowsWaiting { continue }
            if value.place?.object != object { slots.append(slot) }
        }
        return slots
    }
}

extension Violation {
    /// Creates the violation by a value that could not be sealed.
    package init(
        _ refusal: SealRefusal, of entity: Entity, _ operation: ChangeKind?,
        _ messages: MessageTable
    ) {
        self.init(
            code: .unsealable, operation: operation, entity: entity.name, object: refusal.object,
            property: entity.properties[refusal.slot].name, slot: refusal.slot,
            .unsealable(refusal), messages: messages)
    }
}

extension EncodedBody {
    /// Returns the body with the bytes of another one for each sealed value that is equal in both.
    ///
    /// A merge would take it for a change that a value is sealed otherwise, or not yet. Values that
    /// do not open are not equal to others.
    package func reusingSeals(of other: EncodedBody, _ entity: Entity) throws -> EncodedBody {
        var reused: [Slot: SealedBytes] = [:]
        for slot in entity.sealedSlots {
            guard let value = try sealedBytes(slot, of: entity),
                let others = try other.sealedBytes(slot, of: entity), others != value,
                let plaintext = try? value.opened(), (try? others.opened()) == plaintext
            else { continue }
            reused[slot] = others
        }
        return reused.isEmpty ? self : try replacing(reused, of: entity)
    }

    private func sealedBytes(_ slot: Slot, of entity: Entity) throws -> SealedBytes? {
        try read(as: entity) { try $0.sealedBytes(slot) }
    }

    /// Returns the body with other sealed values in some slots.
    package func replacing(_ values: [Slot: SealedBytes], of entity: Entity) throws -> EncodedBody {
        var all = try self.values(of: entity)
        for (slot, value) in values { all[slot] = .data(Data(value.bytes)) }
        return try EncodedBody(all, of: entity)
    }
}
