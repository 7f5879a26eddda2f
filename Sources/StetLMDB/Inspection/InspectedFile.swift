import Glibc

/// A data file that is open for reading, and is closed when the value ends.
///
/// LMDB's locks are on the lock file only, so that closing this descriptor releases none of them.
struct InspectedFile: ~Copyable {
    private let descriptor: Int32
    private let path: String

    init(opening path: String) throws(LMDBError) {
        // Without O_NONBLOCK, opening a named pipe would wait for a writer. Regular files ignore
        // the flag.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw LMDBError(.inspect, code: errno, path: path) }
        self.descriptor = descriptor
        self.path = path
    }

    /// Creates a value for the file that is open as `descriptor`, which stays with its owner.
    init(duplicating descriptor: Int32, _ path: String) throws(LMDBError) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw LMDBError(.inspect, code: errno, path: path) }
        self.descriptor = copy
        self.path = path
    }

    deinit { close(descriptor) }

    func failure(_ code: Int32) -> LMDBError { LMDBError(.inspect, code: code, path: path) }

    /// Returns the size of the file.
    ///
    /// It throws for anything but a regular file.
    func byteCount() throws(LMDBError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return Int(status.st_size)
        case S_IFDIR: throw failure(EISDIR)
        default: throw failure(LMDBError.invalidFile)
        }
    }

    /// Returns `count` bytes from `offset`, or fewer at the end of the file.
    func read(_ count: Int, at offset: Int) throws(LMDBError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled...])
                let result = pread(descriptor, rest.baseAddress, rest.count, offset + filled)
                if result < 0, errno == EINTR { continue }
                if result < 0 { code = errno }
                if result <= 0 { return }
                filled += result
            }
        }
        if code != 0 { throw failure(code) }
        return bytes
    }
}

extension Array where Element == UInt8 {
    /// Returns the integer at `offset` in the byte order of this machine, as LMDB stores it; nil
    /// when it does not fit.
    func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Integer.Type = Integer.self
    ) -> Integer? {
        guard offset >= 0, offset <= count - MemoryLayout<Integer>.size else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}

/// The sizes, offsets and bits of the format: `MDB_page`, `MDB_meta`, `MDB_db` and `MDB_node` of
/// mdb.c.
enum Format {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let version: UInt32 = 1
    /// The page sizes on 64-bit Linux: from the smallest page of its machines to the largest that
    /// LMDB uses.
    static let pageByteCounts = [4096, 8192, 16384, 32768]
    static let pageHeaderByteCount = 16
    static let metaByteCount = 152
    /// The offset of the number of the commit in a meta page.
    static let metaTransactionOffset = 144
    static let tableRecordByteCount = 48
    static let nodeHeaderByteCount = 8
    static let metaPageCount = 2
    /// The number of levels that a cursor of LMDB can hold: CURSOR_STACK.
    static let levelLimit = 32
    /// The largest page number: a branch has 48 bits for it; one bit less, so that the byte offset
    /// of every page fits an `Int`.
    static let largestPageNumber = UInt64(1) << 47

    static let branchPage: UInt16 = 0x01
    static let leafPage: UInt16 = 0x02
    static let overflowPage: UInt16 = 0x04
    static let metaPage: UInt16 = 0x08

    static let valueIsOnOverflowPages: UInt16 = 0x01
    static let valueIsTableRecord: UInt16 = 0x02
}

/// One of the two pages from which everything else is reached; commits write them in turn.
struct MetaPage {
    let number: Int
    let pageByteCount: Int
    let lastPage: Int
    let transaction: UInt64
    let freeList: TableRecord
    let unnamedTable: TableRecord

    /// Returns the meta page of the last commit.
    ///
    /// A damaged one is reported, and the other is returned.
    static func current(
        of file: borrowing InspectedFile, _ damages: inout DamageList
    ) throws(LMDBError) -> MetaPage {
        let firstBytes = try file.read(Format.metaByteCount, at: 0)
        let first = MetaPage(firstBytes, 0)
        var second: MetaPage?
        var hasOtherVersion = isOfOtherVersion(firstBytes)
        // Only the first meta page gives the offset of the second. Without it every offset is
        // tried.
        for offset in first.map({ [$0.pageByteCount] }) ?? Format.pageByteCounts {
            let bytes = try file.read(Format.metaByteCount, at: offset)
            if isOfOtherVersion(bytes) { hasOtherVersion = true }
            if let found = MetaPage(bytes, 1), found.pageByteCount == offset {
                second = found
                break
            }
        }
        if first == nil { damages.add(.invalidMeta, page: 0) }
        if second == nil { damages.add(.invalidMeta, page: 1) }
        guard let first else {
            if let second { return second }
            throw file.failure(
                hasOtherVersion ? LMDBError.versionMismatch : LMDBError.invalidFile)
        }
        guard let second, second.transaction > first.transaction else { return first }
        return second
    }

    private static func isOfOtherVersion(_ bytes: [UInt8]) -> Bool {
        guard bytes.integer(at: 16) == Format.magic,
            let version = bytes.integer(at: 20, as: UInt32.self)
        else { return false }
        return version != Format.version
    }

    /// Decodes the meta page `number`; nil when the bytes are not one.
    init?(_ bytes: [UInt8], _ number: Int) {
        guard bytes.integer(at: 0) == UInt64(number),
            let flags = bytes.integer(at: 10, as: UInt16.self), flags & Format.metaPage != 0,
            bytes.integer(at: 16) == Format.magic, bytes.integer(at: 20) == Format.version,
            let pageByteCount = bytes.integer(at: 40, as: UInt32.self),
            Format.pageByteCounts.contains(Int(pageByteCount)),
            let freeList = TableRecord(bytes, at: 40),
            let unnamedTable = TableRecord(bytes, at: 88),
            let lastPage = bytes.integer(at: 136, as: UInt64.self),
            lastPage >= Format.metaPageCount - 1, lastPage < Format.largestPageNumber,
            let transaction = bytes.integer(
                at: Format.metaTransactionOffset, as: UInt64.self),
            // Commit n writes meta page n % 2; before the first commit both carry 0.
            transaction == 0 || transaction % 2 == number
        else { return nil }
        self.number = number
        self.pageByteCount = Int(pageByteCount)
        self.lastPage = Int(lastPage)
        self.transaction = transaction
        self.freeList = freeList
        self.unnamedTable = unnamedTable
    }
}

/// LMDB's record of a table: the root of its tree, and its size.
struct TableRecord {
    /// The numbers that a walk can check.
    struct Counts: Hashable {
        var levels: UInt64 = 0
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
    }

    let flags: UInt16
    let counts: Counts
    /// The page number of the tree's root; nil for an empty table.
    let root: Int?

    init?(_ bytes: [UInt8], at offset: Int) {
        guard let flags = bytes.integer(at: offset + 4, as: UInt16.self),
            let levels = bytes.integer(at: offset + 6, as: UInt16.self),
            let branchPages = bytes.integer(at: offset + 8, as: UInt64.self),
            let leafPages = bytes.integer(at: offset + 16, as: UInt64.self),
            let overflowPages = bytes.integer(at: offset + 24, as: UInt64.self),
            let entries = bytes.integer(at: offset + 32, as: UInt64.self),
            let root = bytes.integer(at: offset + 40, as: UInt64.self)
        else { return nil }
        self.flags = flags
        counts = Counts(
            levels: UInt64(levels), branchPages: branchPages, leafPages: leafPages,
            overflowPages: overflowPages, entries: entries)
        self.root = root == .max ? nil : Int(clamping: root)
    }
}

/// The first 16 bytes of a page.
struct PageHeader {
    let number: UInt64
    let flags: UInt16
    /// The end of the offsets of the nodes, and the beginning of the nodes; invalid for an overflow
    /// page.
    let lower: Int
    let upper: Int
    /// The number of pages of the run that an overflow page begins.
    let overflowPageCount: Int

    init?(_ bytes: [UInt8]) {
        guard let number = bytes.integer(at: 0, as: UInt64.self),
            let flags = bytes.integer(at: 10, as: UInt16.self),
            let lower = bytes.integer(at: 12, as: UInt16.self),
            let upper = bytes.integer(at: 14, as: UInt16.self),
            let overflowPageCount = bytes.integer(at: 12, as: UInt32.self)
        else { return nil }
        self.number = number
        self.flags = flags
        self.lower = Int(lower)
        self.upper = Int(upper)
        self.overflowPageCount = Int(overflowPageCount)
    }
}

/// A branch or leaf page with a valid header.
struct TreePage {
    /// A key with a child page or a value; the ranges refer to the page's bytes.
    struct Node {
        let flags: UInt16
        let key: Range<Int>
        /// The value of a leaf's node: its bytes, or the 8 bytes of the number of its overflow
        /// page.
        let value: Range<Int>
        /// The number of bytes of the value, wherever they are.
        let valueByteCount: Int
        /// The page that a branch's node refers to.
        let child: Int

        /// The number of bytes of the node in its page.
        var paddedByteCount: Int {
            Format.nodeHeaderByteCount + (value.upperBound - key.lowerBound + 1) & ~1
        }
    }

    let bytes: [UInt8]
    let isLeaf: Bool
    let lower: Int
    let upper: Int

    /// Decodes a page; nil when the offsets and the nodes do not fit into it one after another.
    init?(_ bytes: [UInt8], _ header: PageHeader) {
        let nodeOffsetsByteCount = header.lower - Format.pageHeaderByteCount
        guard nodeOffsetsByteCount > 0, nodeOffsetsByteCount.isMultiple(of: 2),
            header.lower <= header.upper, header.upper <= bytes.count
        else { return nil }
        self.bytes = bytes
        isLeaf = header.flags == Format.leafPage
        lower = header.lower
        upper = header.upper
    }

    var nodeCount: Int { (lower - Format.pageHeaderByteCount) / 2 }

    /// The number of bytes of all nodes: LMDB packs them at the end of the page, each at an even
    /// offset.
    var nodesByteCount: Int { bytes.count - upper }

    /// Returns the node at `index`; nil when it exceeds the part of the page for nodes.
    func node(_ index: Int) -> Node? {
        let pointer = Format.pageHeaderByteCount + 2 * index
        guard let offset = bytes.integer(at: pointer, as: UInt16.self).map(Int.init),
            offset >= upper, offset.isMultiple(of: 2),
            let low = bytes.integer(at: offset, as: UInt32.self),
            let flags = bytes.integer(at: offset + 4, as: UInt16.self),
            let keyByteCount = bytes.integer(at: offset + 6, as: UInt16.self)
        else { return nil }
        let key = offset + Format.nodeHeaderByteCount
        let value = key + Int(keyByteCount)
        var end = value
        if isLeaf { end += flags & Format.valueIsOnOverflowPages != 0 ? 8 : Int(low) }
        guard end <= bytes.count else { return nil }
        return Node(
            flags: flags, key: key..<value, value: value..<end, valueByteCount: Int(low),
            child: Int(low) | Int(flags) << 32)
    }

    /// Returns the key of `node`, valid as long as the page.
    func key(_ node: Node) -> ArraySlice<UInt8> { bytes[node.key] }
}
