import BareLMDB
import Stet

/// The store in C.
final class BareStore {
    private let handle: OpaquePointer

    init(path: String, creates: Bool, journals: Bool = true) throws {
        var handle: OpaquePointer?
        try check(bare_open(path, creates, journals, &handle))
        self.handle = handle!
    }

    deinit { bare_close(handle) }

    func commitNotebooks() throws {
        try check(bare_commit_notebooks(handle, UInt32(Samples.notebookCount)))
    }

    func commit(_ range: Range<Int>, of samples: Samples) throws -> [BareID] {
        let articles = samples.bare.baseAddress! + range.lowerBound
        return try [BareID](unsafeUninitializedCapacity: range.count) { buffer, count in
            try check(bare_commit(handle, articles, range.count, buffer.baseAddress))
            count = range.count
        }
    }

    func update(_ ids: [BareID], to range: Range<Int>, of samples: Samples) throws {
        let articles = samples.bare.baseAddress! + range.lowerBound
        try check(bare_update(handle, ids, articles, ids.count))
    }

    func undo() throws { try check(bare_undo(handle)) }

    func delete(_ ids: [BareID]) throws {
        try check(bare_delete(handle, ids, ids.count))
    }

    /// All articles by their notebooks: how many, and the bytes of their titles.
    func walk() throws -> Totals {
        var totals = BareTotals()
        try check(bare_walk(handle, &totals))
        return Totals(totals)
    }

    /// The articles of some notebooks in the order of their titles.
    func sorted(_ notebooks: Range<Int>) throws -> TitlesInOrder {
        var totals = BareTotals()
        let (first, count) = (UInt32(notebooks.lowerBound), UInt32(notebooks.count))
        try check(bare_sorted(handle, first, count, &totals))
        return TitlesInOrder(count: Int(totals.count), hash: totals.hash)
    }

    /// Returns the number of articles with a text in their body.
    func count(containing text: String) throws -> Int {
        var count: UInt64 = 0
        var text = text
        try text.withUTF8 { text in
            try text.withMemoryRebound(to: CChar.self) { text in
                try check(bare_count(handle, text.baseAddress!, text.count, &count))
            }
        }
        return Int(count)
    }

    func commitSingly(
        _ range: Range<Int>, of samples: Samples, writers: Int, grouped: Bool
    ) throws {
        let articles = samples.bare.baseAddress! + range.lowerBound
        let commit = grouped ? bare_commit_grouped : bare_commit_by_threads
        try check(commit(handle, articles, range.count, UInt32(writers)))
    }

    /// All articles, their texts copied into one buffer.
    func scan(hashes: Bool = false) throws -> Totals {
        var totals = BareTotals()
        try check(bare_scan(handle, hashes, &totals))
        return Totals(totals)
    }

    /// All articles as structs with texts of their own; free them with `bare_free`.
    func fetch() throws -> (totals: Totals, objects: OpaquePointer) {
        var totals = BareTotals()
        var objects: OpaquePointer?
        try check(bare_fetch(handle, &totals, &objects))
        return (Totals(totals), objects!)
    }

    func get(_ ids: [BareID], inOneScope: Bool) throws -> Totals {
        var totals = BareTotals()
        try check(bare_get(handle, ids, ids.count, inOneScope, &totals))
        return Totals(totals)
    }
}

private func check(_ code: Int32) throws {
    if code != 0 { throw Failure("bare LMDB: \(String(cString: bare_message(code)))") }
}

extension BareID {
    init(_ id: ObjectID) {
        self = withUnsafeBytes(of: id.uuid.uuid) { bytes in
            BareID(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}

/// The reason why the run ended early.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A program must have done what it was asked to.
func expectEqual<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) throws {
    guard found == expected else { throw Failure("\(what): \(found) instead of \(expected)") }
}
