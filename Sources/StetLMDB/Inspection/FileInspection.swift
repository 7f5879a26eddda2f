/// The result of inspecting an LMDB data file, which is read with `pread`, never mapped, and
/// without liblmdb.
///
/// LMDB has no page checksums, and a damaged page or a missing tail kills a process that maps the
/// file; the inspection does not. The file may contain any bytes: `inspect` always returns or
/// throws, in time and memory that grow at most linearly with the file.
///
/// It reads files of version 1 of the format as LMDB 0.9.x writes it on 64-bit Linux, in which
/// every table has plain keys and one value per key, as this module creates them. It does not check
/// the bytes of values, nor overflow pages after the first.
///
/// Source: `mdb.c` of LMDB 0.9.24.
package struct FileInspection: Hashable, Sendable {
    /// The number of bytes of the file.
    package let fileByteCount: Int
    /// The number of bytes of a page; 0 for an empty file.
    package let pageByteCount: Int
    /// LMDB's number of the last commit; 0 before the first.
    package let lastTransaction: Int
    /// The highest page number that a commit has used; 0 for an empty file.
    package let lastPageNumber: Int
    /// The number of pages that the walk reached, including the two meta pages; nil without a walk.
    package let usedPageCount: Int?
    /// The number of pages on the free list; nil without a walk.
    package let freePageCount: Int?
    /// The damages, without repetitions, at most `damageLimit`.
    ///
    /// Empty for a healthy file.
    ///
    /// If a page cannot be read, the pages below it are unknown: then neither leaks nor counts are
    /// reported.
    package let damages: [Damage]
    /// True when there are more damages than those in `damages`.
    package let hasMoreDamages: Bool

    /// The greatest number of damages that are kept.
    package static let damageLimit = 100
    /// The greatest number of pages that a walk can track: 4 TiB of 4 KiB pages.
    package static let pageCountLimit = 1 << 30

    /// True for a file without bytes, which a crash right after its creation leaves.
    ///
    /// LMDB treats it as a new one.
    package var isEmptyFile: Bool { fileByteCount == 0 }

    /// Inspects the data file at `path`; the lock file is not touched.
    ///
    /// The file must not be written to during a walk: a page that a later commit reuses would look
    /// like damage. Without a walk the two meta pages are read and the file's size is compared,
    /// which is safe beside a writer.
    ///
    /// A valid file may end before its last page: pages that one transaction both allocated and
    /// freed are on the free list but were never written. So for a short file, and only then, the
    /// free list is read even without a walk; `shortFile` means that a missing page is not on it.
    ///
    /// - Parameters:
    ///   - path: The data file.
    ///   - walkingPages: Whether to follow every page of every table and of the free list.
    /// - Returns: The result, including any damage.
    /// - Throws: `LMDBError` with `invalidFile` for a file that is not an LMDB file,
    ///   `versionMismatch` for another version of the format, `EISDIR` for a directory, `EFBIG`
    ///   when there are more pages than `pageCountLimit`, and the `errno` of the system call that
    ///   failed: `ELOOP` for a symbolic link, `ENOENT` for a missing file.
    /// - Complexity: O(pages) with a walk, otherwise O(1), or O(free list) for a short file.
    package static func inspect(
        path: String, walkingPages: Bool
    ) throws(LMDBError) -> FileInspection {
        try inspect(InspectedFile(opening: path), walkingPages: walkingPages)
    }

    static func inspect(
        _ file: consuming InspectedFile, walkingPages: Bool
    ) throws(LMDBError) -> FileInspection {
        if try file.byteCount() == 0 { return FileInspection() }
        var damages = DamageList()
        let meta = try MetaPage.current(of: file, &damages)
        // Read after the meta page, so that a writer that enlarges the file does not make it look
        // too short.
        let fileByteCount = try file.byteCount()
        guard walkingPages || fileByteCount / meta.pageByteCount <= meta.lastPage else {
            return FileInspection(fileByteCount, meta, damages)
        }
        var walk = try PageWalk(file, fileByteCount, meta, damages)
        try walk.walkFreeList()
        if walkingPages { try walk.walkTables() }
        walk.checkMissingPages()
        if walkingPages { walk.compareUsedAndFree() }
        return FileInspection(
            fileByteCount, meta, walk.damages,
            used: walkingPages ? walk.used.count : nil, free: walkingPages ? walk.free.count : nil)
    }

    private init() {
        fileByteCount = 0
        pageByteCount = 0
        lastTransaction = 0
        lastPageNumber = 0
        usedPageCount = nil
        freePageCount = nil
        damages = []
        hasMoreDamages = false
    }

    private init(
        _ fileByteCount: Int, _ meta: MetaPage, _ damages: DamageList,
        used: Int? = nil, free: Int? = nil
    ) {
        self.fileByteCount = fileByteCount
        pageByteCount = meta.pageByteCount
        lastTransaction = Int(clamping: meta.transaction)
        lastPageNumber = meta.lastPage
        usedPageCount = used
        freePageCount = free
        self.damages = damages.kept
        hasMoreDamages = damages.hasMore
    }
}

// MARK: - Damage

extension FileInspection {
    /// One damage, and its page.
    package struct Damage: Hashable, Sendable {
        /// The kind of a damage.
        package enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A meta page is invalid; the other one was used.
            ///
            /// LMDB refuses to open such a file.
            case invalidMeta
            /// The file ends before a page that is not free; this is the first such page.
            case shortFile
            /// Something refers to this page, which is beyond the last page or the file's end, or
            /// is a meta page.
            case pageOutOfRange
            /// The page's header carries the number of another page.
            case wrongPageNumber
            /// The page is of another kind than its place requires.
            case wrongPageKind
            /// The page's header and its nodes contradict each other.
            case wrongBounds
            /// A node exceeds its page, or has an impossible kind or size.
            case wrongNode
            /// Two places refer to this page.
            case pageUsedTwice
            /// The page is in use and also on the free list.
            case pageUsedAndFree
            /// The free list contains the page twice.
            case pageFreeTwice
            /// Nothing refers to the page, and it is not on the free list.
            case pageLeaked
            /// The keys of the page do not ascend or exceed the bounds of its parent, or the page
            /// contains a part of the free list that does not descend.
            case keysOutOfOrder
            /// A table's record, on this page, and the walk differ in the number of entries, pages
            /// or levels.
            case wrongCount
            /// The tree has more levels than LMDB can walk.
            case tooDeep
        }

        /// The kind of the damage.
        package let kind: Kind
        /// The page concerned.
        package let page: Int

        /// Creates a damage of `page`.
        package init(_ kind: Kind, page: Int) {
            self.kind = kind
            self.page = page
        }
    }
}

extension FileInspection.Damage: CustomStringConvertible {
    /// A sentence about the page, for people.
    package var description: String {
        let what =
            switch kind {
            case .invalidMeta: "the meta page is damaged"
            case .shortFile: "the file ends before this page, which is not free"
            case .pageOutOfRange: "something refers to this page, which is out of range"
            case .wrongPageNumber: "its header carries another page number"
            case .wrongPageKind: "it is of another kind than its place asks for"
            case .wrongBounds: "its header and its nodes disagree on what it holds"
            case .wrongNode: "a node does not fit the page, or is of a kind that does not occur"
            case .pageUsedTwice: "two places refer to it"
            case .pageUsedAndFree: "it is in use and also on the free list"
            case .pageFreeTwice: "the free list holds it twice"
            case .pageLeaked: "nothing refers to it, and it is not on the free list"
            case .keysOutOfOrder: "its keys are out of order"
            case .wrongCount: "a table's record on it has wrong counts"
            case .tooDeep: "it lies deeper than LMDB can walk"
            }
        return "page \(page): \(what)"
    }
}

/// The damages found so far: each once, up to a limit.
struct DamageList {
    private(set) var kept: [FileInspection.Damage] = []
    private(set) var hasMore = false

    mutating func add(_ kind: FileInspection.Damage.Kind, page: Int) {
        let damage = FileInspection.Damage(kind, page: page)
        if kept.contains(damage) { return }
        if kept.count < FileInspection.damageLimit { kept.append(damage) } else { hasMore = true }
    }
}
