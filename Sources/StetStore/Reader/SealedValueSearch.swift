/// The search for values that are sealed by the key of an object, as of the last commit: in itself
/// and in the objects that refer to it.
///
/// It does not find values of the past, nor those that an undo has left with an object to which
/// theirs does not refer.
package struct SealedValueSearch {
    private let owner: ObjectID

    package init(owner: ObjectID) { self.owner = owner }

    /// Returns whether there are such values.
    ///
    /// - Complexity: O(objects that may have such values), until the first one that has.
    package func finds(in reader: borrowing StoreReader) throws -> Bool {
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
                try body.sealedBytes($0)?.place?.owner == owner
            }
        } ?? false
    }
}
