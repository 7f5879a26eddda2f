package import StetLMDB

extension MemberTree {
    /// Applies sorted edits, as part of the commit of a revision.
    ///
    /// Putting an existing entry replaces it; erasing a missing one does nothing.
    package func apply(
        _ edits: [MemberEdit], at revision: Revision, _ schema: Schema,
        in transaction: borrowing WriteTransaction
    ) throws {
        if edits.isEmpty { return }
        var writer = try MemberListWriter(self, revision, transaction.reading)
        var rest = edits[...]
        while let first = rest.first {
            guard let end = schema.end(numbered: first.end) else {
                throw DecodingFailure("an edit of members of an end that does not exist")
            }
            let group = rest.prefix { $0.end == first.end && $0.owner == first.owner }
            rest = rest[group.endIndex...]
            try writer.apply(
                end.layout.isOrdered ? group.inOrderOfPlaces : group, end, in: transaction)
        }
    }

    /// Removes the lists of an end.
    package func remove(end number: EndNumber, in transaction: borrowing WriteTransaction) throws {
        let range = KeyRange(prefix: MemberKey.prefix(ofEnd: number))
        _ = try transaction.removeEntries(of: table, range)
    }
}

/// Edits the lists of owners, chunk by chunk.
///
/// A chunk begins at the place in its key, or at the beginning of the list if the key contains
/// none, and ends where the next one begins; that does not change when its first entry is removed.
private struct MemberListWriter: ~Copyable {
    private let table: Table
    private let cursor: Cursor
    private var merged: MergedEntries

    init(_ tree: MemberTree, _ revision: Revision, _ transaction: borrowing ReadTransaction) throws
    {
        table = tree.table
        merged = MergedEntries(revision)
        cursor = try transaction.cursor(in: tree.table)
    }

    /// Applies the edits of one owner's list.
    mutating func apply(
        _ edits: ArraySlice<MemberEdit>, _ end: MemberEnd,
        in transaction: borrowing WriteTransaction
    ) throws {
        guard let owner = edits.first?.owner else { return }
        let layout = end.layout
        let prefix = MemberKey.prefix(end.number, owner)
        var rest = edits
        while let next = rest.first {
            let chunk = try chunk(holding: next.key(after: prefix, layout), prefix)
            let follower = try chunk == nil ? cursor.seek(prefix) : cursor.next()
            let bound = follower.flatMap { $0.key.starts(with: prefix) ? $0 : nil }
            let taken = rest.prefix { edit in
                bound.map { edit.key(after: prefix, layout).precedes($0.key) } ?? true
            }
            rest = rest[taken.endIndex...]
            try merge(chunk, taken, layout)
            let swallowed = try swallow(bound, layout)
            try write(over: chunk?.key, prefix, layout, in: transaction)
            if let swallowed { try transaction.delete(swallowed, in: table) }
        }
    }

    /// A stored chunk; the buffers are valid until the next change.
    private typealias Stored = (key: [UInt8], value: UnsafeRawBufferPointer)

    /// Returns the chunk of a list that contains an entry, or would contain it; nil when the list
    /// has none that begins early enough.
    private func chunk(holding key: [UInt8], _ prefix: [UInt8]) throws -> Stored? {
        guard let found = try cursor.seekBackwards(key), found.key.starts(with: prefix) else {
            return nil
        }
        return (Array(found.key), found.value)
    }

    /// Sets `merged` to the entries of a chunk with the edits applied.
    private mutating func merge(
        _ chunk: Stored?, _ edits: ArraySlice<MemberEdit>, _ layout: MemberLayout
    ) throws {
        merged.removeAll()
        var edits = edits
        if let chunk {
            var entries = try chunk.key.withUnsafeBytes { key in
                try MemberChunk(decoding: chunk.value, at: key, layout)
            }.entries
            while let entry = try entries.next() {
                while let edit = edits.first, edit.order(beside: entry, layout) < 0 {
                    merged.append(edit, layout)
                    edits.removeFirst()
                }
                guard let edit = edits.first, edit.order(beside: entry, layout) == 0 else {
                    merged.append(entry)
                    continue
                }
                merged.append(edit, layout)
                edits.removeFirst()
            }
        }
        merged.isAppended = edits.count > 0 && merged.editCount == 0
        for edit in edits { merged.append(edit, layout) }
    }

    /// Adds the entries of the next chunk if both are small; returns the key of that chunk.
    private mutating func swallow(
        _ next: Cursor.Entry?, _ layout: MemberLayout
    ) throws -> [UInt8]? {
        guard let next, !merged.isEmpty,
            merged.byteCount + next.value.count <= MemberChunk.byteLimit / 2
        else { return nil }
        var entries = try MemberChunk(decoding: next.value, at: next.key, layout).entries
        while let entry = try entries.next() { merged.append(entry) }
        return Array(next.key)
    }

    /// Writes the merged entries in place of a chunk, as one or more chunks.
    private func write(
        over key: [UInt8]?, _ prefix: [UInt8], _ layout: MemberLayout,
        in transaction: borrowing WriteTransaction
    ) throws {
        if merged.isEmpty {
            if let key { try transaction.delete(key, in: table) }
            return
        }
        for (index, part) in merged.parts().enumerated() {
            let key =
                index == 0 ? key ?? prefix : prefix + merged.place(at: part.lowerBound, layout)
            try merged.store(part, at: key, in: table, transaction)
        }
    }
}

/// The entries of the chunks to be written, one after another.
private struct MergedEntries: ~Copyable {
    /// The revision of the commit that the edits belong to.
    private let revision: Revision
    private var buffer = ByteBuffer(capacity: 4_096)
    private var starts: [Int] = []
    private var presence: [Bool] = []
    /// The number of entries that are edits.
    private(set) var editCount = 0
    /// True when all edits come after the existing entries.
    var isAppended = false

    init(_ revision: Revision) { self.revision = revision }

    var isEmpty: Bool { starts.isEmpty }
    var byteCount: Int { buffer.count }

    mutating func removeAll() {
        buffer.count = 0
        starts.removeAll(keepingCapacity: true)
        presence.removeAll(keepingCapacity: true)
        editCount = 0
        isAppended = false
    }

    mutating func append(_ entry: MemberEntry) {
        starts.append(buffer.count)
        presence.append(!entry.isRemoved)
        buffer.append(entry.bytes)
    }

    mutating func append(_ edit: MemberEdit, _ layout: MemberLayout) {
        editCount += 1
        guard edit.action != .erase else { return }
        starts.append(buffer.count)
        presence.append(edit.action == .put)
        let revision = edit.revision > .zero ? edit.revision : revision
        MemberEntry.append(
            edit.member, layout.hasState ? revision : .zero, isRemoved: edit.action == .bury,
            edit.position, layout, to: &buffer)
    }

    private func start(_ index: Int) -> Int { index < starts.count ? starts[index] : buffer.count }

    /// Returns the ranges of the entries of each chunk: of about the same size, or full where
    /// members were appended, because more will probably follow.
    func parts() -> [Range<Int>] {
        let limit = MemberChunk.byteLimit
        if buffer.count <= limit { return [0..<starts.count] }
        let count = (buffer.count + limit - 1) / limit
        let target = isAppended ? limit : (buffer.count + count - 1) / count
        var parts: [Range<Int>] = []
        var first = 0
        for index in starts.indices
        where index > first && start(index + 1) - starts[first] > target {
            parts.append(first..<index)
            first = index
        }
        parts.append(first..<starts.count)
        return parts
    }

    /// Returns the place of an entry in the form of a key.
    func place(at index: Int, _ layout: MemberLayout) -> [UInt8] {
        var entries = MemberEntries(
            UnsafeRawBufferPointer(rebasing: buffer.bytes[starts[index]...]), layout)
        var place: [UInt8] = []
        if let entry = try? entries.next() {
            MemberKey.appendPlace(entry.id, entry.position, layout, to: &place)
        }
        return place
    }

    func store(
        _ part: Range<Int>, at key: [UInt8], in table: Table,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let bytes = UnsafeRawBufferPointer(
            rebasing: buffer.bytes[starts[part.lowerBound]..<start(part.upperBound)])
        try key.withUnsafeBytes { key in
            let value = try transaction.reserve(
                MemberChunk.headerByteCount + bytes.count, for: key, in: table)
            MemberChunk.store(
                bytes, count: part.count, presentCount: presence[part].count { $0 }, in: value,
                at: key)
        }
    }
}

extension MemberEdit {
    /// Returns the place of the entry with the key's prefix before it.
    fileprivate func key(after prefix: [UInt8], _ layout: MemberLayout) -> [UInt8] {
        var key = prefix
        (position?.bytes ?? []).withUnsafeBytes { position in
            MemberKey.appendPlace(member, position, layout, to: &key)
        }
        return key
    }

    /// Returns a number below, at or above 0 when the edit comes before an entry, concerns it, or
    /// comes after it.
    fileprivate func order(beside entry: MemberEntry, _ layout: MemberLayout) -> Int {
        if layout.isOrdered {
            let order = (position?.bytes ?? []).withUnsafeBytes { $0.compare(entry.position) }
            if order != 0 { return order }
        }
        return member < entry.id ? -1 : member == entry.id ? 0 : 1
    }
}

extension ArraySlice<MemberEdit> {
    /// The edits of an ordered list in the order of its entries.
    fileprivate var inOrderOfPlaces: ArraySlice<MemberEdit> {
        sorted { one, other in
            one.place == other.place
                ? one.action == .erase && other.action != .erase : one.place < other.place
        }[...]
    }
}

extension [UInt8] {
    fileprivate func precedes(_ key: UnsafeRawBufferPointer) -> Bool {
        withUnsafeBytes { $0.compare(key) < 0 }
    }
}

extension WriteTransaction {
    fileprivate borrowing func delete(_ key: [UInt8], in table: Table) throws {
        _ = try key.withUnsafeBytes { try delete($0, in: table) }
    }
}
