import StetLMDB

/// A range of an index: the objects with given first values, whose next value is between two
/// bounds.
///
/// Nil comes before all values, so the values that are not nil are those above `.null`.
package struct IndexRange: Sendable {
    /// A bound: a value, and whether the range includes it.
    package enum Bound: Sendable { case including(Value), excluding(Value) }

    /// A bound as a key of the given values and the bounded one.
    private struct Limit {
        let key: [UInt8]
        let isIncluded: Bool

        /// Returns whether a key comes before (-1) or after (1) all that begin with that of the
        /// limit, or is one of them (0).
        func order(of key: UnsafeRawBufferPointer) -> Int {
            self.key.withUnsafeBytes { own in
                let start = UnsafeRawBufferPointer(rebasing: key.prefix(own.count))
                return start.order(to: own)
            }
        }
    }

    private let index: NumberedIndex
    private let lower: Limit
    private let upper: Limit
    /// The number of properties whose values are given.
    let valueCount: Int

    /// Creates a range of an index; `values` are those of its first properties, from none to all.
    ///
    /// - Throws: `DecodingFailure` when there are more values than properties, or a value has no
    ///   order.
    package init(
        _ index: NumberedIndex, _ values: [Value] = [], from lower: Bound? = nil,
        to upper: Bound? = nil
    ) throws(DecodingFailure) {
        self.index = index
        valueCount = values.count
        func limit(_ bound: Bound?) throws(DecodingFailure) -> Limit {
            switch bound {
            case nil: Limit(key: try index.index.key(of: values), isIncluded: true)
            case .including(let value):
                Limit(key: try index.index.key(of: values + [value]), isIncluded: true)
            case .excluding(let value):
                Limit(key: try index.index.key(of: values + [value]), isIncluded: false)
            }
        }
        self.lower = try limit(lower)
        self.upper = try lower == nil && upper == nil ? self.lower : limit(upper)
    }

    /// Creates the range of the objects whose next value is a text with a prefix, as far as its
    /// bytes in normal form C show.
    package init(
        _ index: NumberedIndex, _ values: [Value] = [], prefix: String
    ) throws(DecodingFailure) {
        self.index = index
        valueCount = values.count
        // Drops the two bytes that terminate the string.
        let key = try index.index.key(of: values + [.string(prefix)]).dropLast(2)
        lower = Limit(key: Array(key), isIncluded: true)
        upper = lower
    }

    /// Returns whether an object with this key is in the range.
    func contains(_ key: UnsafeRawBufferPointer) -> Bool {
        let behindLower = lower.order(of: key)
        guard lower.isIncluded ? behindLower >= 0 : behindLower > 0 else { return false }
        let behindUpper = upper.order(of: key)
        return upper.isIncluded ? behindUpper <= 0 : behindUpper < 0
    }

    /// Returns a range of keys that contains all entries of the range, and no others that are not
    /// truncated.
    ///
    /// With `position`, it may have others, too, and excludes entries before it or, when
    /// descending, after it.
    func entries(from position: IndexPosition? = nil, descending: Bool = false) -> KeyRange {
        func bytes(_ key: [UInt8]) -> [UInt8] {
            IndexKey.numberBytes(index.number) + key.prefix(IndexKey.valuesByteLimit)
        }
        /// Returns the keys that begin with that of a limit, as far as entries have it.
        func alike(_ limit: Limit) -> KeyRange { KeyRange(prefix: bytes(limit.key)) }
        /// Returns whether entries have so much of the key that all those alike are left out.
        func excludesAlike(_ limit: Limit) -> Bool {
            !limit.isIncluded && limit.key.count <= IndexKey.valuesByteLimit
        }
        let first = alike(lower)
        let last = upper.key == lower.key ? first : alike(upper)
        var range = KeyRange(lower: first.lower, upper: last.upper)
        if excludesAlike(lower), let end = first.upper { range.lower = end }
        if excludesAlike(upper) { range.upper = last.lower }
        guard let position else { return range }
        let isTruncated = position.values.count >= IndexKey.valuesByteLimit
        var key = bytes(position.values)
        if !isTruncated {
            withUnsafeBytes(of: (position.id.high.bigEndian, position.id.low.bigEndian)) {
                key += $0
            }
        }
        if descending {
            range.upper = isTruncated ? KeyRange(prefix: key).upper : key + [0]
        } else {
            range.lower = key
        }
        return range
    }
}

/// The position at which a walk through an index continues.
struct IndexPosition {
    /// The key of the values of all properties of the index, not truncated.
    let values: [UInt8]
    let id: ObjectID
}

extension StoreReader {
    /// Returns the short ids of an index of words or substrings.
    func shortIDs(of index: NumberedIndex) throws -> ShortIDs {
        let projection = file.projection
        return try ShortIDs(
            index.number, in: projection.tableOfIndexes, projection.records[index.entity],
            transaction)
    }

    /// Calls `body` for each object of a range, in ascending or descending order of the values, as
    /// of the last commit, until it returns false; objects with equal values come in the order of
    /// their ids, in the same direction.
    ///
    /// - Complexity: O(objects passed to `body`), plus a read for each whose values do not fit
    ///   their entry.
    package func forEachObject(
        of index: NumberedIndex, in range: IndexRange, descending: Bool = false,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        try forEachEntry(of: index, in: range, descending: descending) { id, _ in try body(id) }
    }

    /// An entry of an index as it is stored.
    typealias StoredEntry = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)

    /// Calls `body` for each object of a range from a position on, with its entry if that contains
    /// the values completely; some objects before the position may be included.
    ///
    /// Only entries whose keys are within `bounds` are read.
    func forEachEntry(
        of index: NumberedIndex, in range: IndexRange, descending: Bool = false,
        from position: IndexPosition? = nil, within bounds: KeyRange = .all,
        _ body: (ObjectID, StoredEntry?) throws -> Bool
    ) throws {
        var alike = AlikeEntries()
        let table = try file.projection.tableOfIndexes
        let entries = range.entries(from: position, descending: descending).intersection(bounds)
        // A position may be outside of the range.
        let areInside = position == nil
        var goesOn = true
        try transaction.scan(table, entries, descending: descending) { key, value in
            goesOn = try visit(
                (key, value), of: index, in: range, isInside: areInside, descending, &alike, body)
            return goesOn
        }
        if goesOn { _ = try alike.give(descending, body) }
    }

    /// Calls `body` with the object of an entry, unless it has to wait for those alike; returns
    /// false when no more are wanted.
    private func visit(
        _ stored: StoredEntry, of index: NumberedIndex, in range: IndexRange, isInside: Bool,
        _ descending: Bool, _ alike: inout AlikeEntries,
        _ body: (ObjectID, StoredEntry?) throws -> Bool
    ) throws -> Bool {
        let entry = try IndexKey(stored.key)
        if !alike.isEmpty, !alike.begin(with: entry.values) {
            guard try alike.give(descending, body) else { return false }
        }
        if !entry.isTruncated {
            let isWanted = isInside || range.contains(entry.values)
            return isWanted ? try body(entry.id, stored) : true
        }
        if let values = try values(of: index, entry.id), values.withUnsafeBytes(range.contains) {
            alike.add(entry, values)
        }
        return true
    }

    /// Objects whose truncated entries begin alike, to be ordered by their values.
    private struct AlikeEntries {
        private var key: [UInt8] = []
        private var objects: [(values: [UInt8], id: ObjectID)] = []

        var isEmpty: Bool { objects.isEmpty }

        func begin(with key: UnsafeRawBufferPointer) -> Bool { self.key.elementsEqual(key) }

        mutating func add(_ entry: IndexKey, _ values: [UInt8]) {
            if objects.isEmpty { key = Array(entry.values) }
            objects.append((values, entry.id))
        }

        /// Removes the objects, which are all with such entries, and calls `body` with each, in
        /// order, until it returns false; returns what it returned last.
        mutating func give(
            _ descending: Bool, _ body: (ObjectID, StoredEntry?) throws -> Bool
        ) throws -> Bool {
            defer { objects = [] }
            objects.sort { one, other in
                one.values == other.values
                    ? one.id < other.id : one.values.lexicographicallyPrecedes(other.values)
            }
            let ids = descending ? objects.reversed().map(\.id) : objects.map(\.id)
            for id in ids where try !body(id, nil) { return false }
            return true
        }
    }

    /// Returns the objects with these values of an index.
    ///
    /// - Complexity: O(objects with such values).
    func objects(of index: NumberedIndex, with values: [Value]) throws -> [ObjectID] {
        var found: [ObjectID] = []
        try forEachObject(of: index, in: try IndexRange(index, values)) { id in
            found.append(id)
            return true
        }
        return found
    }

    /// Returns the key of an object's values, not truncated, as of the last commit; nil when the
    /// object does not exist.
    func values(of index: NumberedIndex, _ id: ObjectID) throws -> [UInt8]? {
        guard let (header, stored) = try stored(index.entity, id), !header.isTombstone else {
            return nil
        }
        return try withBody(header, stored, index.entity) { body in
            try index.index.key(
                of: try RecordBody(body, of: file.schema.entities[index.entity]))
        }
    }
}

// MARK: - Uniqueness

/// Two objects that would have equal values in a unique index.
package struct UniquenessConflict: Hashable, Sendable {
    /// The number of the index.
    package let index: Int
    /// The object to which a change set gives the values.
    package let object: ObjectID
    /// The object that already has them, or gets them from the same change set.
    package let other: ObjectID

    package init(index: Int, object: ObjectID, other: ObjectID) {
        self.index = index
        self.object = object
        self.other = other
    }
}

extension StoreReader {
    /// Returns the objects that, in the committed state with a change set applied, have the values
    /// of a unique index that the change set gives to others.
    ///
    /// With `horizon`, stored objects that were changed after it do not count.
    ///
    /// - Complexity: O(claims), plus a seek for each that is not in the same gap of the index as
    ///   the previous one.
    package func conflicts(
        with changes: IndexChanges, through horizon: Revision? = nil
    ) throws -> [UniquenessConflict] {
        guard changes.hasClaims else { return [] }
        var conflicts: [UniquenessConflict] = []
        let cursor = try transaction.cursor(in: try file.projection.tableOfIndexes)
        var position: Cursor.Entry?
        var isAtEnd = false
        try changes.forEachRunOfClaims { prefix, claims in
            // The cursor may already be past these claims.
            if !isAtEnd, position.map({ $0.key.lexicographicallyPrecedes(prefix) }) ?? true {
                position = try cursor.seek(prefix)
            }
            var holders: [Holder] = []
            while let key = position?.key, key.starts(with: prefix) {
                if !changes.removes(key), let holder = try holder(IndexKey(key), horizon) {
                    holders.append(holder)
                }
                position = try cursor.next()
            }
            isAtEnd = position == nil
            conflicts += changes.conflicts(of: claims, holders)
        }
        return conflicts
    }

    private func holder(_ entry: IndexKey, _ horizon: Revision?) throws -> Holder? {
        guard let index = file.schema.index(numbered: entry.number) else {
            throw DecodingFailure("an entry of index \(entry.number), which does not exist")
        }
        if let horizon {
            guard let (header, _) = try stored(index.entity, entry.id), header.revision <= horizon
            else { return nil }
        }
        return Holder(
            id: entry.id, values: entry.isTruncated ? try values(of: index, entry.id) : nil)
    }
}

/// A stored object whose entry begins like a claim.
struct Holder {
    let id: ObjectID
    /// The key of its values; nil when the entry contains it completely.
    let values: [UInt8]?
}

extension IndexChanges {
    /// Returns the conflicts between claims and holders whose entries all begin alike.
    fileprivate func conflicts(
        of claims: ArraySlice<Entry>, _ holders: [Holder]
    ) -> [UniquenessConflict] {
        if claims.count == 1, holders.isEmpty { return [] }
        var claimants: [ArraySlice<UInt8>: [ObjectID]] = [:]
        for claim in claims { claimants[values(of: claim), default: []].append(id(of: claim)) }
        return claims.compactMap { claim in
            let (id, values) = (id(of: claim), values(of: claim))
            let holder = holders.first { holder in
                holder.id != id && (holder.values.map { $0[...] == values } ?? true)
            }
            guard let other = holder?.id ?? claimants[values]?.first(where: { $0 != id }) else {
                return nil
            }
            return UniquenessConflict(index: number(of: claim), object: id, other: other)
        }
    }
}
