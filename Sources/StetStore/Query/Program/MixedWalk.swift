import StetLMDB

/// A walk through an index in an order in which some properties ascend and others descend.
///
/// Objects with equal values of the first properties, up to where the direction changes, are a
/// group. The groups are sought one by one in their direction, and the objects of each are visited
/// in the rest of the order.
struct MixedWalk {
    /// The properties of an index up to an end, from the previous run on, with one direction.
    private struct Run {
        let end: Int
        let isDescending: Bool
    }

    private let state: QueryState
    private let ordered: QueryPath.OrderedRange
    private let runs: [Run]

    /// Creates a walk in an order that the last parts of an index have, except for the directions;
    /// nil when these are all the same.
    init?(_ state: QueryState, _ ordered: QueryPath.OrderedRange, _ order: [QueryOrder]) {
        let fixed = ordered.index.index.parts.count - order.count
        var runs: [Run] = []
        for (place, criterion) in order.enumerated() {
            if runs.last?.isDescending == criterion.isDescending { runs.removeLast() }
            runs.append(Run(end: fixed + place + 1, isDescending: criterion.isDescending))
        }
        if runs.count <= 1 { return nil }
        self.state = state
        self.ordered = ordered
        self.runs = runs
    }

    typealias Visit = (ObjectID, StoreReader.StoredEntry?) throws -> Bool

    /// Calls `body` as `StoreReader.forEachEntry` does.
    func forEachEntry(from position: IndexPosition?, _ body: Visit) throws {
        _ = try walk(runs[...], .all, position, body)
    }

    /// Visits the entries between two keys in the order of some runs; returns false when no more
    /// are wanted.
    private func walk(
        _ runs: ArraySlice<Run>, _ bounds: KeyRange, _ position: IndexPosition?, _ body: Visit
    ) throws -> Bool {
        guard let run = runs.first, runs.count > 1 else {
            return try walkToEnd(
                bounds, isDescending: runs.last?.isDescending ?? false, position, body)
        }
        var rest = ordered.range.entries().intersection(bounds)
        let start = try position.map { position in
            KeyRange(prefix: try position.values.withUnsafeBytes { try prefix(of: $0, run).bytes })
        }
        if let start {
            rest = rest.intersection(
                run.isDescending ? KeyRange(upper: start.upper) : KeyRange(lower: start.lower))
        }
        while let key = try first(in: rest, run) {
            try state.visit()
            let group = KeyRange(prefix: key.bytes)
            let goesOn =
                key.isTruncated
                ? try walkAlike(group, body)
                : try walk(
                    runs.dropFirst(), group.intersection(bounds), group == start ? position : nil,
                    body)
            if !goesOn { return false }
            if run.isDescending {
                rest.upper = group.lower
            } else if let upper = group.upper {
                rest.lower = upper
            } else {
                return true
            }
        }
        return true
    }

    private func walkToEnd(
        _ bounds: KeyRange, isDescending: Bool, _ position: IndexPosition?, _ body: Visit
    ) throws -> Bool {
        var goesOn = true
        try state.reader.forEachEntry(
            of: ordered.index, in: ordered.range, descending: isDescending, from: position,
            within: bounds
        ) { id, entry in
            goesOn = try body(id, entry)
            return goesOn
        }
        return goesOn
    }

    // MARK: Groups

    /// The beginning of the keys of a group.
    private struct Prefix {
        let bytes: [UInt8]
        /// True when the values that the objects of the group share do not fit their entries, so
        /// that objects with other values have the same beginning.
        let isTruncated: Bool
    }

    /// Returns the group of a key of values, which may be truncated.
    private func prefix(of values: UnsafeRawBufferPointer, _ run: Run) throws -> Prefix {
        var end = 0
        var isCut = false
        do {
            try skip(values, at: &end, upTo: run)
        } catch is DecodingFailure where values.count == IndexKey.valuesByteLimit {
            (end, isCut) = (values.count, true)
        }
        let kept = values.prefix(min(end, IndexKey.valuesByteLimit))
        return Prefix(
            bytes: IndexKey.numberBytes(ordered.index.number) + kept, isTruncated: isCut)
    }

    /// Moves an offset in a key behind the values of a run, from those of the previous one on.
    private func skip(
        _ values: UnsafeRawBufferPointer, at offset: inout Int, from first: Int = 0, upTo run: Run
    ) throws {
        let properties = state.entity(ordered.index.entity).properties
        for part in ordered.index.index.parts[first..<run.end] {
            try OrderedKey.skip(values, at: &offset, properties[part.slot])
        }
    }

    /// Returns the group of the first entry of a range, or of the last one; nil without entries.
    private func first(in range: KeyRange, _ run: Run) throws -> Prefix? {
        var found: Prefix?
        func take(_ key: UnsafeRawBufferPointer, _: UnsafeRawBufferPointer) throws -> Bool {
            found = try prefix(of: IndexKey(key).values, run)
            return false
        }
        let table = try state.reader.file.projection.tableOfIndexes
        if run.isDescending {
            try state.reader.transaction.scanBackwards(table, range, take)
        } else {
            try state.reader.transaction.scan(table, range, take)
        }
        return found
    }

    /// Visits the objects whose entries begin with a truncated key, in the order of their values.
    private func walkAlike(_ group: KeyRange, _ body: Visit) throws -> Bool {
        var objects: [(key: [UInt8], id: ObjectID)] = []
        let table = try state.reader.file.projection.tableOfIndexes
        try state.reader.transaction.scan(table, group) { key, _ in
            try state.visit()
            let id = try IndexKey(key).id
            if let values = try state.reader.values(of: ordered.index, id),
                values.withUnsafeBytes(ordered.range.contains)
            {
                objects.append((try values.withUnsafeBytes(orderedKey), id))
            }
            return true
        }
        let isDescending = runs.last?.isDescending ?? false
        objects.sort { one, other in
            one.key == other.key
                ? (one.id < other.id) != isDescending : one.key.lexicographicallyPrecedes(other.key)
        }
        for object in objects where try !body(object.id, nil) { return false }
        return true
    }

    /// Returns a key of values with those of descending runs inverted.
    private func orderedKey(_ values: UnsafeRawBufferPointer) throws -> [UInt8] {
        var key: [UInt8] = []
        var (start, first) = (0, 0)
        for run in runs {
            var end = start
            try skip(values, at: &end, from: first, upTo: run)
            key += values[start..<end].map { run.isDescending ? ~$0 : $0 }
            (start, first) = (end, run.end)
        }
        return key
    }
}
