import StetLMDB

/// One change in the life of an object.
package struct HistoricChange: Hashable, Sendable {
    package let revision: Revision
    /// Seconds since 2001.
    package let time: Double
    package let change: ObjectChange
}

extension StoreReader {
    /// All changes of an object, the last first, as far as the present schema can express them;
    /// empty when there never was such an object.
    ///
    /// - Complexity: a few reads for each change.
    package func history(ofEntity entity: Int, _ id: ObjectID) throws -> [HistoricChange] {
        guard let (header, _) = try stored(entity, id) else { return [] }
        var history: [HistoricChange] = []
        var revision = header.revision
        while revision > .zero {
            let time = try file.journal.envelope(revision, in: transaction).time
            let found: Revision? = try file.journal.withChange(
                ofEntity: entity, id, at: revision, in: transaction
            ) { change, schemaRevision in
                history.append(
                    HistoricChange(
                        revision: revision, time: time,
                        change: try ObjectChange(change, file.history, from: schemaRevision)))
                return change.previous
            }
            guard let previous = found, previous < revision else {
                throw DecodingFailure(
                    "the chain of changes of object \(id) breaks at revision \(revision)")
            }
            revision = previous
        }
        return history
    }

    /// The number of the entity that has or had an object with this id; nil when none has.
    package func entity(of id: ObjectID) throws -> Int? {
        for entity in file.records.indices where try stored(entity + 1, id) != nil {
            return entity + 1
        }
        return nil
    }
}
