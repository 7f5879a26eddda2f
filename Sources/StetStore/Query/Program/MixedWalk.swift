import StetLMDB

/// A walk through an index in an order in which some properties ascend and others descend.
///
/// Objects with equal values of the first properties, up to where the direction changes, are a
/// group. The groups are read in their direction, and the objects of each are visited in the rest
/// of the order: those of a small group are kept until its end, and then visited from there; a
/// large group is sought.
struct MixedWalk {
    /// The properties of an index up to an end, from the previous run on, with one direction.
    private struct Run {
        let end: Int
        let isDescending: Bool
    }

    /// The greatest number of objects of a small group.
    private static let smallCount = 64

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
        var goesOn = true
        while goesOn {
            guard
                let key = try runs.count == 2
                    ? visitSmall(in: rest, run, &goesOn, body) : first(in: rest, run)
            else { break }
            try state.visit()
            let group = KeyRange(prefix: key.bytes)
            goesOn =
                key.isTruncated
                ? try walkAlike(group, body)
                : try walk(
                    runs.dropFirst(), group.intersection(bounds), group == start ? position : nil,
                    body)
            if run.isDescending {
                rest.upper = group.lower
            } else if let upper = group.upper {
                rest.lower = upper
            } else {
                break
            }
        }
        return goesOn
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
        let table = try state.reader.file.projection.tableOfIndexes
        try state.reader.transaction.scan(table, range, descending: run.isDescending) { key, _ in
            found = try prefix(of: IndexKey(key).values, run)
            return false
        }
        return found
    }

    /// Visits the objects of the small groups at the beginning of a range, each group in the
    /// opposite direction, until no more are wanted; returns the group behind them.
    ///
    /// A group with an entry that may be truncated is not small.
    private func visitSmall(
        in range: KeyRange, _ run: Run, _ goesOn: inout Bool, _ body: Visit
    ) throws -> Prefix? {
        var small = SmallGroup()
        var next: Prefix?
        let table = try state.reader.file.projection.tableOfIndexes
        try state.reader.transaction.scan(
            table, range, descending: run.isDescending
        ) { key, value in
            if !small.isStart(of: key) {
                goesOn = try visit(&small, body)
                if !goesOn { return false }
            }
            let values = try IndexKey(key).values
            if values.count == IndexKey.valuesByteLimit || small.entries.count == Self.smallCount {
                next = try prefix(of: values, run)
                return false
            }
            if small.entries.isEmpty {
                var end = 0
                try skip(values, at: &end, upTo: run)
                small.start = UnsafeRawBufferPointer(
                    rebasing: key[..<(IndexKey.numberByteCount + end)])
            }
            small.entries.append((key, value))
            return true
        }
        if next == nil, goesOn { goesOn = try visit(&small, body) }
        return next
    }

    /// The entries of a small group, whose memory stays valid until the end of the transaction.
    private struct SmallGroup {
        var entries: [StoreReader.StoredEntry] = []
        /// The bytes with which all of them begin.
        var start = UnsafeRawBufferPointer(start: nil, count: 0)

        func isStart(of key: UnsafeRawBufferPointer) -> Bool {
            entries.isEmpty
                || UnsafeRawBufferPointer(rebasing: key.prefix(start.count)).order(to: start) == 0
        }
    }

    /// Visits the objects of a group from its end on, and empties it; returns false when no more
    /// are wanted.
    private func visit(_ group: inout SmallGroup, _ body: Visit) throws -> Bool {
        while let entry = group.entries.popLast() {
            let key = try IndexKey(entry.key)
            if ordered.range.contains(key.values), try !body(key.id, entry) { return false }
        }
        return true
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
