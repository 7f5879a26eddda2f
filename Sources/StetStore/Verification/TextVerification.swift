import StetLMDB

/// The postings that follow from the texts of objects, compared with the stored ones.
///
/// Of each object only the number of its postings and a sum over them are kept, because an object
/// has as many trigrams as characters.
struct TextVerification {
    /// The postings of an object that have not been found yet.
    private struct Missing {
        let id: ObjectID
        var count = 0
        /// The sum of the hashes of lists and postings, which is 0 once all have been found.
        var sum: UInt64 = 0

        init(_ id: ObjectID) { self.id = id }

        init(_ id: ObjectID, _ postings: TextPostings, in lists: TextLists) {
            self.init(id)
            postings.forEach(in: lists) { list, posting in
                let list = TextVerification.hash(list)
                count += 1
                sum &+= posting.withUnsafeBytes { TextVerification.hash($0, in: list) }
            }
        }
    }

    /// An index of words or substrings, and what is expected of it.
    private struct Expected {
        let name: String
        /// The entries in the words of a message.
        let terms: String
        let kind: TextIndex.Terms
        var totals = TextTotals()
        /// The objects by their short ids.
        var objects: [ObjectID: Missing] = [:]
        /// True when a short id cannot be read, without which nothing can be compared.
        var isUnreadable = false
    }

    private var indexes: [Int: Expected] = [:]
    /// The indexes that were made by rules that this process does not have, and why.
    private var unchecked: [Int: String] = [:]
    /// The list of the last chunk, its hash, and the last object in it.
    private var last: (list: [UInt8], hash: UInt64, id: ObjectID?) = ([], 0, nil)
    /// The number of postings that the objects should have.
    private var postingCount = 0
    private(set) var problems: [String] = []

    init(_ verification: borrowing Verification, _ table: Table) throws {
        var lists = TextLists()
        var postings = TextPostings()
        for index in verification.file.schema.indexes where index.index.hasLists {
            let entity = verification.file.schema.entities[index.entity]
            if let problem = index.index.problemOfVersion(in: entity) {
                unchecked[index.number] = problem
                continue
            }
            var expected = Expected(
                name: "\(entity.name) \(index.index.description(in: entity))",
                terms: index.index.isText ? "words" : "trigrams", kind: index.textIndex.terms)
            let names = try ShortIDs(
                index.number, in: table, verification.file.projection.records[index.entity],
                verification.transaction)
            for (id, state) in verification.states[index.entity] {
                let body = try verification.values(
                    of: state, index.entity, verification.file.history)
                guard let body else { continue }
                let terms = try body.withUnsafeBytes {
                    try index.index.terms(of: RecordBody($0, of: entity))
                }
                expected.totals.objectCount += 1
                expected.totals.wordCount += terms.count
                postings.removeAll()
                terms.append(to: &postings, index.number, &lists)
                let missing = Missing(id, postings, in: lists)
                postingCount += missing.count
                // A damaged entry of a shared half is reported where all entries are read.
                guard let shortID = try? names.short(id) else {
                    expected.isUnreadable = true
                    break
                }
                if let other = expected.objects.updateValue(missing, forKey: shortID) {
                    let (one, two) = (min(id, other.id), max(id, other.id))
                    problems.append("\(expected.name) does not distinguish \(one) from \(two).")
                }
            }
            indexes[index.number] = expected
        }
    }

    fileprivate static func hash(_ list: ArraySlice<UInt8>) -> UInt64 {
        list.withUnsafeBytes { Checksum.hash($0, seed: 0) }
    }

    fileprivate static func hash(_ posting: UnsafeRawBufferPointer, in list: UInt64) -> UInt64 {
        Checksum.hash(posting, seed: list)
    }

    /// Returns whether a key belongs to an index of words or substrings.
    func takes(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let number = try? IndexKey.number(of: key) else { return false }
        return indexes[number] != nil || unchecked[number] != nil
    }

    /// Compares a stored entry with what is expected, and forgets that.
    mutating func compare(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard let number = try? IndexKey.number(of: key), let name = indexes[number]?.name else {
            return
        }
        do {
            if key.starts(with: TextKey.sharedHalves(number)) {
                _ = try ShortIDs.unnamedLow(value, at: key)
            } else if indexes[number]?.isUnreadable == true {
                return
            } else if key.elementsEqual(TextKey.totals(number)) {
                let totals = try TextTotals(decoding: value)
                if totals != indexes[number]?.totals {
                    problems.append("\(name) has wrong totals.")
                }
                indexes[number]?.totals = TextTotals()
            } else {
                try compare(key, value, number, name)
            }
        } catch {
            problems.append("\(name) is damaged: \(error).")
        }
    }

    private mutating func compare(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ number: Int,
        _ name: String
    ) throws {
        let list = Array(try TextKey.list(of: key))
        guard let terms = indexes[number]?.kind else { return }
        if list != last.list { last = (list, Self.hash(list[...]), nil) }
        var first = ObjectID.none
        if key.count > list.count {
            first = try TextKey.id(of: key, in: list)
        }
        var chunk = try TextChunk(decoding: value, at: key, of: terms)
        while let (id, posting) = try chunk.next() {
            if last.id.map({ id <= $0 }) ?? false || id < first {
                problems.append("\(name) has an entry of \(id) at a wrong place.")
            }
            last.id = id
            indexes[number]?.objects[id, default: Missing(id)].count -= 1
            indexes[number]?.objects[id, default: Missing(id)].sum &-= Self.hash(
                posting.bytes, in: last.hash)
        }
    }

    /// Notes the objects whose postings are not those of their texts, and adds to a report what was
    /// checked and what was not.
    mutating func finish(_ report: inout VerificationReport) {
        report.indexEntryCount += postingCount
        report.uncheckedIndexes = unchecked.sorted { $0.key < $1.key }.map(\.value)
        for (_, expected) in indexes.sorted(by: { $0.key < $1.key }) where !expected.isUnreadable {
            let (name, terms) = (expected.name, expected.terms)
            if expected.totals != TextTotals() { problems.append("\(name) misses its totals.") }
            for missing in expected.objects.values.sorted(by: { $0.id < $1.id }) {
                let id = missing.id
                if missing.count > 0 {
                    problems.append("\(name) misses \(terms) of \(id).")
                } else if missing.count < 0 || missing.sum != 0 {
                    problems.append(
                        "\(name) has an entry of \(id) that is not that of its \(terms).")
                }
            }
        }
    }
}
