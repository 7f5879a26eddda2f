import Glibc
import StetLMDB

/// A directory that a journal is shipped to: bases, which are verified copies of the store, and
/// segments of the journal; their names contain their revisions.
struct ShippedJournal {
    /// A base: a copy of the store at a commit.
    struct Base {
        let path: String
        let store: ObjectID
        let head: Head
    }

    let directory: String
    /// The revisions of the bases, in ascending order.
    let bases: [Revision]
    /// The revisions of the segments, in ascending order.
    let segments: [ClosedRange<Revision>]

    private static let basePrefix = "base-"
    private static let baseSuffix = ".stet"
    private static let segmentPrefix = "journal-"
    private static let segmentSuffix = ".segment"
    private static let digitCount = 20

    /// Lists a directory; names of other files are ignored.
    ///
    /// - Throws: `LMDBError` when the directory cannot be read.
    init(_ directory: String) throws(LMDBError) {
        guard access(directory, R_OK | X_OK) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: directory)
        }
        self.directory = directory
        let names = FileSystem.names(in: directory)
        bases = names.compactMap(Self.revision(ofBase:)).sorted()
        segments = names.compactMap(Self.range(ofSegment:)).sorted { one, other in
            (one.lowerBound, one.upperBound) < (other.lowerBound, other.upperBound)
        }
    }

    // MARK: Names

    func path(ofBase revision: Revision) -> String {
        "\(directory)/\(Self.basePrefix)\(Self.digits(revision))\(Self.baseSuffix)"
    }

    func path(ofSegment range: ClosedRange<Revision>) -> String {
        "\(directory)/\(Self.segmentPrefix)\(Self.digits(range.lowerBound))-"
            + "\(Self.digits(range.upperBound))\(Self.segmentSuffix)"
    }

    private static func digits(_ revision: Revision) -> String {
        let text = "\(revision)"
        return String(repeating: "0", count: digitCount - text.count) + text
    }

    private static func revision(_ digits: Substring) -> Revision? {
        guard digits.utf8.count == digitCount, let number = UInt64(digits),
            number <= Revision.last.number
        else {
            return nil
        }
        return Revision(number)
    }

    private static func revision(ofBase name: String) -> Revision? {
        guard name.hasPrefix(basePrefix), name.hasSuffix(baseSuffix) else { return nil }
        return revision(name.dropFirst(basePrefix.count).dropLast(baseSuffix.count))
    }

    private static func range(ofSegment name: String) -> ClosedRange<Revision>? {
        guard name.hasPrefix(segmentPrefix), name.hasSuffix(segmentSuffix) else { return nil }
        let numbers = name.dropFirst(segmentPrefix.count).dropLast(segmentSuffix.count)
            .split(separator: "-", omittingEmptySubsequences: false).map(revision)
        guard numbers.count == 2, let first = numbers[0], let last = numbers[1], first <= last
        else { return nil }
        return first...last
    }

    // MARK: Contents

    /// Returns the identity and the head of a base, without opening it.
    func base(_ revision: Revision) throws -> Base {
        let path = path(ofBase: revision)
        return try StoreError.wrapping(path: path) {
            let store = try StoreTables.checkIdentity(path) { key in
                try FileInspection.value(of: Array(key.utf8), inFileAt: path)
            }
            let key = Array("\(Head.key)".utf8)
            guard let value = try FileInspection.value(of: key, inFileAt: path) else {
                throw DecodingFailure("its head is missing")
            }
            let head = try value.withUnsafeBytes { try Head(decoding: $0) }
            guard head.revision == revision else {
                throw DecodingFailure("it is a base of revision \(head.revision)")
            }
            return Base(path: path, store: store, head: head)
        }
    }

    /// Returns the segment with some revisions.
    ///
    /// - Throws: `StoreError`: `.damaged`, with the path of its file.
    func segment(_ range: ClosedRange<Revision>) throws -> JournalSegment {
        let path = path(ofSegment: range)
        do {
            let bytes = try Self.contents(of: path)
            let segment = try bytes.withUnsafeBytes { try JournalSegment(decoding: $0) }
            guard segment.range == range else {
                throw DecodingFailure("its entries are those of other revisions")
            }
            return segment
        } catch let failure as DecodingFailure {
            throw Self.damaged(failure.description, path)
        } catch let error as LMDBError {
            throw StoreError(error)
        }
    }

    static func damaged(_ what: String, _ path: String) -> StoreError {
        StoreError(
            .damaged, path: path, message: "The shipped file \(path) can't be used: \(what).",
            advice: "Get the file from another copy of the directory, or remove it with all later "
                + "segments and make a new base.")
    }

    private static func contents(of path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(.openEnvironment, code: errno, path: path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        guard status.st_size <= JournalSegment.maximumByteCount else {
            throw DecodingFailure("a segment of \(status.st_size) bytes")
        }
        return try [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            while count < buffer.count {
                let read = Glibc.read(
                    descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
                if read == 0 { return }
                if read > 0 {
                    count += read
                } else if errno != EINTR {
                    throw LMDBError(.openEnvironment, code: errno, path: path)
                }
            }
        }
    }
}
