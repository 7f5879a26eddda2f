import StetLMDB

/// The postings that follow from the texts of objects, compared with the stored ones.
struct TextVerification {
    /// An index of words, and what is expected of it.
    private struct Expected {
        let name: String
        var totals = TextTotals()
        /// The postings, by the keys of their lists and their objects.
        var postings: [[UInt8]: [UInt8]] = [:]
    }

    private var indexes: [Int: Expected] = [:]
    /// The list of the last chunk, and the last object in it.
    private var last: (list: [UInt8], id: ObjectID) = ([], .none)
    /// The number of postings that the objects should have.
    private(set) var postingCount = 0
    private(set) var problems: [String] = []

    init(_ verification: borrowing Verification) throws {
        for index in verification.file.schema.indexes where index.index.isText {
            let entity = verification.file.schema.entities[index.entity]
            var expected = Expected(
                name: "\(entity.name) \(index.index.description(in: entity))")
            for (id, state) in verification.states[index.entity] {
                let body = try verification.values(
                    of: state, index.entity, verification.file.history)
                guard let body else { continue }
                let words = try body.withUnsafeBytes {
                    try index.index.words(of: RecordBody($0, of: entity))
                }
                expected.totals.objectCount += 1
                expected.totals.wordCount += words.count
                words.forEachPosting { word, posting in
                    var key = TextKey.list(index.number, Array(word))
                    id.append(to: &key)
                    expected.postings[key] = posting
                }
            }
            postingCount += expected.postings.count
            indexes[index.number] = expected
        }
    }

    /// Returns whether a key belongs to an index of words.
    func takes(_ key: UnsafeRawBufferPointer) -> Bool {
        (try? IndexKey.number(of: key)).map { indexes[$0] != nil } ?? false
    }

    /// Compares a stored entry with what is expected, and forgets that.
    mutating func compare(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard let number = try? IndexKey.number(of: key), let name = indexes[number]?.name else {
            return
        }
        do {
            if key.elementsEqual(TextKey.totals(number)) {
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
        if list != last.list { last = (list, .none) }
        var first = ObjectID.none
        if key.count > list.count {
            first = ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[list.count...]))
        }
        var chunk = try TextChunk(decoding: value, at: key)
        while let (id, posting) = try chunk.next() {
            if id <= last.id || id < first {
                problems.append("\(name) has an entry of \(id) at a wrong place.")
            }
            last.id = id
            var wanted = list
            id.append(to: &wanted)
            let expected = indexes[number]?.postings.removeValue(forKey: wanted)
            if expected?.elementsEqual(posting) != true {
                problems.append("\(name) has an entry of \(id) that is not that of its words.")
            }
        }
    }

    /// Notes what has not been found.
    mutating func finish() {
        for (_, expected) in indexes.sorted(by: { $0.key < $1.key }) {
            if expected.totals != TextTotals() {
                problems.append("\(expected.name) misses its totals.")
            }
            let ids = Set(
                expected.postings.keys.map { key in
                    key.suffix(16).withUnsafeBytes { ObjectID(bytes: $0) }
                })
            problems += ids.sorted().map { "\(expected.name) misses words of \($0)." }
        }
    }
}
