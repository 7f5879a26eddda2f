import Glibc

/// A mark in an LMDB data file whose last commits may not be on the disk: the file is not to be
/// opened without the log that it names.
///
/// It is in both meta pages, after the bytes that LMDB uses and writes. LMDB's own copies of a
/// file have no mark if they are compact, as this package makes them.
package struct LogMark: Hashable, Sendable {
    /// The place of commits that are not in the data file for sure.
    package enum Kind: UInt64, Sendable {
        /// The log that the mark names.
        case logged = 1
        /// None: they are durable once the mark is removed.
        case unsynced = 2
    }

    package var kind: Kind
    /// The number of the log, which is the seed of its checksums.
    package var number: UInt64

    private static let magic: UInt64 = 0x4B52_414D_5445_5453
    private static let byteCount = 32
    /// The offset in a meta page, in a sector of 512 bytes of its own.
    private static let offset = 2_048

    /// Returns the mark at the beginning of a page; nil when there is none.
    private static func read(_ descriptor: Int32, at page: Int) -> LogMark? {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let count = withUnsafeMutableBytes(of: &words) {
            pread(descriptor, $0.baseAddress, byteCount, page + offset)
        }
        guard count == byteCount, words.0 == magic, let kind = Kind(rawValue: words.1),
            words.3 == checksum(words.1, words.2)
        else { return nil }
        return LogMark(kind: kind, number: words.2)
    }

    /// Returns the mark of an open data file as it is while processes have it open: in both pages.
    ///
    /// - Complexity: one system call.
    static func readFirst(_ descriptor: Int32) -> LogMark? { read(descriptor, at: 0) }

    /// Returns the mark of an open data file, of which a power cut may have left one; its meta
    /// pages may be damaged.
    static func read(_ descriptor: Int32) -> LogMark? {
        if let mark = readFirst(descriptor) { return mark }
        var head = [UInt8](repeating: 0, count: Format.metaByteCount)
        let count = pread(descriptor, &head, head.count, 0)
        // In a file of smaller pages there may be anything at the place of a larger one.
        let first = MetaPage(Array(head.prefix(max(count, 0))), 0)
        for size in first.map({ [$0.pageByteCount] }) ?? Format.pageByteCounts {
            if let mark = read(descriptor, at: size) { return mark }
        }
        return nil
    }

    /// Writes or removes the mark of a data file, durably.
    ///
    /// - Throws: `LMDBError`: whether the file has the mark is unknown.
    static func write(
        _ mark: LogMark?, _ descriptor: Int32, pageByteCount: Int, _ path: String
    ) throws(LMDBError) {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        if let mark {
            let kind = mark.kind.rawValue
            words = (magic, kind, mark.number, checksum(kind, mark.number))
        }
        // The mark of the first page, which processes look at, is written first and removed last.
        let pages = Array(0..<Format.metaPageCount)
        for page in mark == nil ? pages.reversed() : pages {
            let count = withUnsafeBytes(of: words) {
                pwrite(descriptor, $0.baseAddress, byteCount, page * pageByteCount + offset)
            }
            guard count == byteCount else {
                throw LMDBError(.writeLog, code: count < 0 ? errno : EIO, path: path)
            }
        }
        try check(fdatasync(descriptor) == 0 ? 0 : errno, .syncLog, path)
    }

    /// Removes the mark of an open data file whose pages are all readable, durably.
    ///
    /// It is written even where none can be read: a removal whose sync has failed is in the page
    /// cache only.
    static func remove(_ descriptor: Int32, _ path: String) throws(LMDBError) {
        try check(fdatasync(descriptor) == 0 ? 0 : errno, .commit, path)
        var head = [UInt8](repeating: 0, count: Format.metaByteCount)
        guard pread(descriptor, &head, head.count, 0) == head.count,
            let page = MetaPage(head, 0)
        else { return }
        try write(nil, descriptor, pageByteCount: page.pageByteCount, path)
    }

    private static func checksum(_ kind: UInt64, _ number: UInt64) -> UInt64 {
        Checksum.combine(magic, kind, number)
    }
}

extension LogMark {
    /// Returns the mark of the data file at `path`; nil when it has none, or there is no such file.
    package static func read(path: String) -> LogMark? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return read(descriptor)
    }
}
