import StetLMDB

/// Checks that the bytes of each large value are complete and have its digest, and that the numbers
/// of references are those of the objects and of the journal.
struct LargeValueVerification {
    private(set) var problems: [String] = []

    init(_ verification: borrowing Verification, upTo head: Head) throws {
        let file = verification.file
        let transaction = verification.transaction.shared()
        guard let table = file.projection.largeValues else { return }
        do {
            var rest = try LargeValueCounts(
                file.history, file.journal, records: file.projection.records,
                through: head.revision, in: transaction
            ).counts
            var chunkCounts: [ObjectID: Int] = [:]
            try table.forEachEntry(in: transaction) { entry in
                let name = "Large value \(entry.value.digest.hexadecimal)"
                let count = rest.removeValue(forKey: entry.value.digest) ?? 0
                if count != entry.referenceCount {
                    problems.append(
                        "\(name) has \(entry.referenceCount) references where there are \(count).")
                }
                do {
                    if try Self.digest(of: entry, table, transaction) != entry.value.digest {
                        problems.append("\(name) has other bytes.")
                    }
                } catch let failure as DecodingFailure {
                    problems.append("\(name): \(failure).")
                }
                chunkCounts[entry.key] = entry.chunkCount
                return true
            }
            for digest in rest.filter({ $0.value != 0 }).map(\.key.hexadecimal).sorted() {
                problems.append("The bytes of large value \(digest) are missing.")
            }
            let unfinished = Set(try table.unfinished(in: transaction).map(\.key))
            try table.forEachKey(in: transaction) { key, count in
                if !unfinished.contains(key), chunkCounts[key] != count {
                    problems.append("The table of large values has chunks that belong to none.")
                }
            }
        } catch let failure as DecodingFailure {
            problems.append("The large values: \(failure).")
        }
    }

    private static func digest(
        of entry: LargeValueTable.Entry, _ table: LargeValueTable,
        _ transaction: borrowing ReadTransaction
    ) throws -> Digest {
        var hasher = DigestHasher()
        for number in 0..<entry.chunkCount {
            hasher.update(try table.chunk(number, of: entry, in: transaction))
        }
        return hasher.finish()
    }
}
