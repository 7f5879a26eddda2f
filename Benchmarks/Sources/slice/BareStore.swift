import BareLMDB
import Stet

/// The other program: the store in C.
final class BareStore {
    private let handle: OpaquePointer

    init(path: String, creates: Bool) throws {
        var handle: OpaquePointer?
        try check(bare_open(path, creates, &handle))
        self.handle = handle!
    }

    deinit { bare_close(handle) }

    func commitNotebooks() throws {
        try check(bare_commit_notebooks(handle, UInt32(Samples.notebookCount)))
    }

    func commit(_ range: Range<Int>, of samples: Samples) throws {
        try check(bare_commit(handle, samples.bare.baseAddress! + range.lowerBound, range.count))
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

    func get(_ ids: [BareID]) throws -> Totals {
        var totals = BareTotals()
        try check(bare_get(handle, ids, ids.count, &totals))
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

/// What a program has read: both must have read the same.
struct Totals: Equatable {
    var count = 0
    var titleByteCount = 0
    var ratingSum = 0
    /// FNV-1a over all texts; 0 unless it was asked for.
    var textHash: UInt64 = 0

    init() {}

    fileprivate init(_ totals: BareTotals) {
        count = Int(totals.count)
        titleByteCount = Int(totals.title_byte_count)
        ratingSum = Int(totals.rating_sum)
        textHash = totals.text_hash
    }

    /// Reads two properties.
    @inline(__always)
    mutating func add(_ article: Article) {
        count += 1
        titleByteCount += article.title.utf8.count
        ratingSum += article.rating
    }

    mutating func addHash(_ text: String) {
        var hash = textHash == 0 ? 0xcbf2_9ce4_8422_2325 : textHash
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        textHash = hash
    }
}

/// Why the run has ended early.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Both programs must have done the same.
func expectEqual<Value: Equatable>(_ stet: Value, _ bare: Value, _ what: String) throws {
    guard stet == bare else { throw Failure("\(what): Stet has \(stet), bare LMDB has \(bare)") }
}
