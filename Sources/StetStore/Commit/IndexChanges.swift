import Glibc

/// The effect of a change set on the entries of indexes; see `IndexKey`.
package struct IndexChanges: Sendable {
    /// One entry; `bytes` contains it, followed by the whole key of the values when it is
    /// truncated.
    struct Entry: Sendable {
        fileprivate let start: Int
        /// The number of bytes of the whole key; 0 when the entry is not truncated.
        private let shortWholeByteCount: UInt32
        private let shortByteCount: UInt16
        /// True when no other object may have equal values.
        let isClaim: Bool

        fileprivate var byteCount: Int { Int(shortByteCount) }
        fileprivate var wholeByteCount: Int { Int(shortWholeByteCount) }

        fileprivate init(start: Int, byteCount: Int, wholeByteCount: Int, isClaim: Bool) {
            self.start = start
            // A commit of more bytes is refused.
            shortWholeByteCount = UInt32(clamping: wholeByteCount)
            shortByteCount = UInt16(byteCount)
            self.isClaim = isClaim
        }
    }

    private var bytes: [UInt8] = []
    /// The removed entries, in the order of their bytes.
    private(set) var removed: [Entry] = []
    /// The added entries, in the order of their bytes.
    private(set) var added: [Entry] = []
    /// The changes of the lists of words and trigrams.
    private(set) var texts = TextEdits()

    /// The approximate number of bytes in memory.
    var byteCount: Int { bytes.count + texts.byteCount }
    package var isEmpty: Bool { removed.isEmpty && added.isEmpty && texts.isEmpty }
    /// True when a value must be unique.
    package var hasClaims: Bool { added.contains(where: \.isClaim) }

    func withBytes<Result>(
        of entry: Entry, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try bytes.withUnsafeBytes { bytes in
            try body(
                UnsafeRawBufferPointer(rebasing: bytes[entry.start..<entry.start + entry.byteCount])
            )
        }
    }

    func number(of entry: Entry) -> Int {
        Int(bytes[entry.start]) << 8 | Int(bytes[entry.start + 1])
    }

    func id(of entry: Entry) -> ObjectID {
        withBytes(of: entry) { entry in
            ObjectID(bytes: UnsafeRawBufferPointer(rebasing: entry.suffix(IndexKey.idByteCount)))
        }
    }

    /// Returns the key of the values, not truncated.
    func values(of entry: Entry) -> ArraySlice<UInt8> {
        let entryEnd = entry.start + entry.byteCount
        return entry.wholeByteCount > 0
            ? bytes[entryEnd..<entryEnd + entry.wholeByteCount]
            : bytes[
                entry.start + IndexKey.numberByteCount..<entryEnd - IndexKey.idByteCount]
    }

    /// Calls `body` for the claims of each group of entries that begin alike: entries of objects
    /// whose values are equal or, if the entries are truncated, may be equal.
    func forEachRunOfClaims(
        _ body: (_ prefix: [UInt8], ArraySlice<Entry>) throws -> Void
    ) rethrows {
        func prefix(_ entry: Entry) -> ArraySlice<UInt8> {
            bytes[entry.start..<entry.start + entry.byteCount - IndexKey.idByteCount]
        }
        var start = 0
        while start < added.count {
            let first = prefix(added[start])
            let end = added[start...].firstIndex { prefix($0) != first } ?? added.count
            if added[start].isClaim { try body(Array(first), added[start..<end]) }
            start = end
        }
    }

    /// Returns whether an entry is among the removed ones.
    func removes(_ entry: UnsafeRawBufferPointer) -> Bool {
        var lower = 0
        var upper = removed.count
        while lower < upper {
            let middle = (lower + upper) / 2
            switch withBytes(of: removed[middle], { $0.compare(entry) }) {
            case 0: return true
            case ..<0: lower = middle + 1
            default: upper = middle
            }
        }
        return false
    }

    // MARK: Collecting

    /// Records the change of an object's entry.
    mutating func append(
        _ membership: IndexMembership, _ id: ObjectID, _ bodies: ChangedBodies
    ) throws {
        let hadEntry = try bodies.hasBefore && membership.contains(id, bodies.before)
        let hasEntry = try bodies.hasAfter && membership.contains(id, bodies.after)
        if hadEntry, hasEntry, try membership.hasSameCells(bodies) { return }
        if membership.index.index.hasLists {
            return texts.append(
                membership.index.textIndex, id,
                hadEntry ? try membership.index.index.terms(of: bodies.before) : nil,
                hasEntry ? try membership.index.index.terms(of: bodies.after) : nil)
        }
        let start = bytes.count
        let old = hadEntry ? try entry(membership, id, bodies.before) : nil
        let new = hasEntry ? try entry(membership, id, bodies.after) : nil
        if let old, let new, values(of: old) == values(of: new) {
            // Different bytes can be the same value: -0 and 0, or two forms of an accent.
            return bytes.removeSubrange(start...)
        }
        if let old { removed.append(old) }
        if let new { added.append(new) }
    }

    private mutating func entry(
        _ membership: IndexMembership, _ id: ObjectID, _ body: RecordBody
    ) throws(DecodingFailure) -> Entry {
        let start = bytes.count
        let number = membership.index.number
        bytes.append(UInt8(number >> 8))
        bytes.append(UInt8(number & 0xff))
        let hasNull = try membership.index.index.append(body, to: &bytes)
        let keyStart = start + IndexKey.numberByteCount
        let count = bytes.count - keyStart
        // A key of exactly the limit is treated as truncated when it is read.
        let whole = count >= IndexKey.valuesByteLimit ? Array(bytes[keyStart...]) : []
        bytes.removeLast(max(count - IndexKey.valuesByteLimit, 0))
        id.append(to: &bytes)
        let byteCount = bytes.count - start
        bytes += whole
        return Entry(
            start: start, byteCount: byteCount, wholeByteCount: whole.count,
            isClaim: membership.index.index.isUnique && !hasNull)
    }

    /// Sorts entries that were collected in the order of their objects.
    mutating func sort() {
        removed = sorted(removed)
        added = sorted(added)
        texts.sort()
    }

    private func sorted(_ entries: [Entry]) -> [Entry] {
        let parts = entries.map { $0.start..<$0.start + $0.byteCount - IndexKey.idByteCount }
        return ByteOrder.sorted(bytes, parts).map { entries[$0] }
    }
}

extension ObjectID {
    func append(to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { buffer in
            store(to: buffer.baseAddress!)
            bytes.append(contentsOf: buffer)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns a number below, at or above 0, in the order of keys in LMDB: a prefix comes before
    /// longer keys.
    func compare(_ other: UnsafeRawBufferPointer) -> Int {
        let common = Swift.min(count, other.count)
        if common > 0, let one = baseAddress, let two = other.baseAddress {
            let order = memcmp(one, two, common)
            if order != 0 { return Int(order) }
        }
        return count - other.count
    }
}
