import StetLMDB

// The index entries that follow from the values of objects, compared with the stored ones.

extension Verification {
    mutating func compareIndexes() throws {
        var expected: [[UInt8]: NumberedIndex] = [:]
        var holders: [[UInt8]: ObjectID] = [:]
        for index in file.schema.indexes where !index.index.hasLists {
            let entity = file.schema.entities[index.entity]
            let membership = index.membership(in: file.schema)
            for (id, state) in states[index.entity] {
                guard let body = try values(of: state, index.entity, file.history),
                    let values = try membership.values(id, body, of: entity)
                else { continue }
                let number = IndexKey.numberBytes(index.number)
                let key = try index.index.key(of: values)
                var entry = number + key.prefix(IndexKey.valuesByteLimit)
                id.append(to: &entry)
                expected[entry] = index
                guard index.index.isUnique, !values.contains(.null) else { continue }
                if let other = holders.updateValue(id, forKey: number + key) {
                    note("\(described(index)): \(id) has the same values as \(other).")
                }
            }
        }
        report.indexEntryCount = expected.count
        guard let table = file.projection.indexes else { return }
        // Ignores the indexes of an unfinished migration, which nothing reads yet.
        let numbers = try StoreTables.indexBuild(in: transaction)?.numbers ?? []
        let building = numbers.filter { file.schema.index(numbered: $0) == nil }
        let transaction = transaction.shared()
        var texts = try TextVerification(self, table)
        try transaction.scan(table) { key, value in
            if texts.takes(key) {
                texts.compare(key, value)
                return true
            }
            if let number = try? IndexKey.number(of: key), building.contains(number) { return true }
            let isExpected = expected.removeValue(forKey: Array(key)) != nil
            if isExpected, IndexKey.isIntact(key, value) { return true }
            note(problem(ofEntry: key, isExpected: isExpected))
            return true
        }
        for (key, index) in expected.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let id = try key.withUnsafeBytes { try IndexKey($0).id }
            note("\(described(index)) misses the entry of \(id).")
        }
        texts.finish(&report)
        for problem in texts.problems { note(problem) }
    }

    func described(_ index: NumberedIndex) -> String {
        let entity = file.schema.entities[index.entity]
        return "\(entity.name) \(index.index.description(in: entity))"
    }

    /// Returns a sentence about an entry that no object should have, or not with its value.
    private func problem(ofEntry key: UnsafeRawBufferPointer, isExpected: Bool) -> String {
        guard let entry = try? IndexKey(key), let index = file.schema.index(numbered: entry.number)
        else { return "An entry of the indexes is malformed." }
        if isExpected { return "\(described(index)) has a wrong checksum for \(entry.id)." }
        let isThere = states[index.entity][entry.id]?.body != nil
        return "\(described(index)) has an entry of \(entry.id)"
            + (isThere ? " that does not belong to its values." : ", which does not exist.")
    }
}
