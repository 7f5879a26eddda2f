extension KeyFile {
    /// Makes keys for the owners that have none, durably.
    ///
    /// - Throws: `SealingError`, among them `.keyMissing` when the store has values of one of them
    ///   that this file has sealed: a copy of it has their key, and a second one would open none of
    ///   them. Then it makes none.
    /// - Complexity: for each owner without a key, a look-up in each model with sealed attributes;
    ///   O(objects that refer to it) where none of them has a sealed value.
    package func makeKeys(
        for owners: Set<ObjectID>, unlessUsedIn reader: borrowing StoreReader
    ) throws {
        let missing = try ownersWithoutKey(among: owners)
        for owner in missing.sorted()
        where try SealedValueSearch(owner: owner, keyFile: number).finds(in: reader) {
            // Another process may have made the key, and saved the value, since the first look.
            if try ownersWithoutKey(among: [owner]).isEmpty { continue }
            throw SealingError.keyMissing(owner)
        }
        try makeKeys(for: missing)
    }
}

/// The search for values that are sealed by the key of an object, as of the last commit: in itself
/// and in the objects that refer to it.
///
/// It finds neither values of the past nor those that an undo has left sealed by this object in
/// objects that no longer refer to it.
private struct SealedValueSearch {
    let owner: ObjectID
    /// The number of the key file.
    let keyFile: UInt64

    /// Returns whether there are such values.
    func finds(in reader: borrowing StoreReader) throws -> Bool {
        let schema = reader.file.schema
        for (number, entity) in schema.entities.numbered where !entity.sealedSlots.isEmpty {
            if try finds(in: owner, number, entity, reader) { return true }
            let references = entity.sealedSlots.compactMap { slot in
                entity.properties[slot].seal.flatMap { entity.slot(ofOwner: $0) }
            }
            for end in schema.referenceEnds(ofMember: number) where references.contains(end.slot) {
                var isFound = false
                try reader.forEachMember(of: owner, at: end) { member, _ in
                    isFound = try finds(in: member, number, entity, reader)
                    return !isFound
                }
                if isFound { return true }
            }
        }
        return false
    }

    private func finds(
        in object: ObjectID, _ number: EntityNumber, _ entity: Entity,
        _ reader: borrowing StoreReader
    ) throws -> Bool {
        try reader.withRecord(ofEntity: number, object, asOf: .max) { record in
            let body = try RecordBody(record.body, of: entity)
            return try entity.sealedSlots.contains {
                guard let value = try body.sealedBytes($0) else { return false }
                return value.place?.owner == owner && value.keyFileNumber == keyFile
            }
        } ?? false
    }
}
