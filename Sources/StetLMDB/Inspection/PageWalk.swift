import Glibc

/// A walk over the pages of a file, which finds used and free pages and damage.
///
/// It keeps one page for each level, and two sets of page numbers. It visits no page twice, so it
/// ends.
struct PageWalk: ~Copyable {
    /// A tree's role, which decides its keys and what its nodes may be.
    enum Tree { case freeList, unnamedTable, namedTable }

    /// The place of a page in its tree: its level, and the bounds of its keys.
    private struct Place {
        var level = 1
        var lowest: ArraySlice<UInt8>?
        var end: ArraySlice<UInt8>?
    }

    /// The findings of the walk over one tree.
    private struct Tally {
        var counts = TableRecord.Counts()
        /// False when a part of the tree could not be followed.
        var isWhole = true
    }

    private(set) var damages: DamageList
    /// The pages that were reached, including the two meta pages.
    private(set) var used: PageSet
    /// The pages of the free list.
    private(set) var free: PageSet
    private let file: InspectedFile
    private let meta: MetaPage
    /// The number of whole pages in the file.
    private let filePageCount: Int
    /// The number of pages that `used` and `free` can contain.
    private let trackedPageCount: Int
    private var isWhole = true

    init(
        _ file: consuming InspectedFile, _ fileByteCount: Int, _ meta: MetaPage,
        _ damages: DamageList
    ) throws(LMDBError) {
        filePageCount = fileByteCount / meta.pageByteCount
        let pageCount = meta.lastPage + 1
        // Missing pages are tracked if the file could contain a free list that names them all.
        // Further pages that a hostile meta page claims are certainly missing, and must not cost
        // memory.
        let canAllBeFree = pageCount - filePageCount <= fileByteCount / 8
        trackedPageCount = canAllBeFree ? pageCount : filePageCount
        guard trackedPageCount <= FileInspection.pageCountLimit else { throw file.failure(EFBIG) }
        used = PageSet(capacity: trackedPageCount)
        free = PageSet(capacity: trackedPageCount)
        for page in 0..<Format.metaPageCount { _ = used.insert(page) }
        self.file = file
        self.meta = meta
        self.damages = damages
    }

    /// Walks the tree of the free list, and records the pages that it frees.
    mutating func walkFreeList() throws(LMDBError) {
        try walk(meta.freeList, .freeList, recordPage: meta.number)
    }

    /// Walks the unnamed table, and from there the named ones.
    mutating func walkTables() throws(LMDBError) {
        try walk(meta.unnamedTable, .unnamedTable, recordPage: meta.number)
    }

    /// Reports the first page after the file's end that is not free.
    mutating func checkMissingPages() {
        var page = filePageCount
        while page < trackedPageCount, free.contains(page) { page += 1 }
        if page <= meta.lastPage { damages.add(.shortFile, page: page) }
    }

    /// Reports pages that are both used and free, or neither, after everything was walked.
    mutating func compareUsedAndFree() {
        for word in 0..<PageSet.wordCount(for: trackedPageCount) {
            let (usedBits, freeBits) = (used.word(word), free.word(word))
            report(.pageUsedAndFree, usedBits & freeBits, word)
            // Pages below an unreadable page may be in use.
            if isWhole { report(.pageLeaked, ~(usedBits | freeBits), word) }
            if damages.hasMore { return }
        }
    }

    private mutating func report(_ kind: FileInspection.Damage.Kind, _ bits: UInt64, _ word: Int) {
        var bits = bits
        while bits != 0 {
            let page = word * 64 + bits.trailingZeroBitCount
            if page >= trackedPageCount { return }
            damages.add(kind, page: page)
            bits &= bits - 1
        }
    }
}

// MARK: - Trees

extension PageWalk {
    /// Walks a tree, and compares it with `record`, which is on `recordPage`.
    private mutating func walk(
        _ record: TableRecord, _ tree: Tree, recordPage: Int
    ) throws(LMDBError) {
        var tally = Tally()
        if let root = record.root { try walkPage(root, Place(), tree, &tally) }
        if tally.isWhole, tally.counts != record.counts {
            damages.add(.wrongCount, page: recordPage)
        }
        // Some flags of the free list's record are the environment's. Other flags mean a different
        // key order, or several values per key, neither of which this module creates.
        if tree != .freeList, record.flags != 0 { damages.add(.wrongNode, page: recordPage) }
        if !tally.isWhole { isWhole = false }
    }

    /// Reports that the pages below `page` are not followed.
    private mutating func skip(
        _ page: Int, _ kind: FileInspection.Damage.Kind, _ tally: inout Tally
    ) {
        damages.add(kind, page: page)
        tally.isWhole = false
    }

    private mutating func walkPage(
        _ number: Int, _ place: Place, _ tree: Tree, _ tally: inout Tally
    ) throws(LMDBError) {
        guard place.level <= Format.levelLimit else { return skip(number, .tooDeep, &tally) }
        guard claim(number, 1, &tally) else { return }
        let bytes = try file.read(meta.pageByteCount, at: number * meta.pageByteCount)
        guard bytes.count == meta.pageByteCount, let header = PageHeader(bytes) else {
            return skip(number, .pageOutOfRange, &tally)
        }
        guard header.number == number else { return skip(number, .wrongPageNumber, &tally) }
        guard header.flags == Format.branchPage || header.flags == Format.leafPage else {
            return skip(number, .wrongPageKind, &tally)
        }
        guard let page = TreePage(bytes, header) else { return skip(number, .wrongBounds, &tally) }
        guard let nodes = checkedNodes(of: page, tree) else {
            return skip(number, .wrongNode, &tally)
        }
        // With overlapping nodes a small file could contain any number of keys.
        guard nodes.reduce(0, { $0 + $1.paddedByteCount }) == page.nodesByteCount else {
            return skip(number, .wrongBounds, &tally)
        }
        checkOrder(of: nodes, page, number, place, tree)
        if page.isLeaf {
            try walkLeaf(page, number, nodes, place, tree, &tally)
        } else {
            try walkBranch(page, number, nodes, place, tree, &tally)
        }
    }

    /// Returns the nodes of `page`; nil when one of them is invalid.
    private func checkedNodes(of page: TreePage, _ tree: Tree) -> [TreePage.Node]? {
        var nodes: [TreePage.Node] = []
        nodes.reserveCapacity(page.nodeCount)
        for index in 0..<page.nodeCount {
            guard let node = page.node(index) else { return nil }
            // The first key of a branch represents all keys below the second. LMDB does not read
            // it.
            if page.isLeaf || index > 0 {
                switch tree {
                case .freeList: guard node.key.count == 8 else { return nil }
                case .unnamedTable, .namedTable:
                    guard 1...Table.longestKeyByteCount ~= node.key.count else { return nil }
                }
            }
            if page.isLeaf, !canOccur(node, tree) { return nil }
            nodes.append(node)
        }
        return nodes
    }

    private func canOccur(_ node: TreePage.Node, _ tree: Tree) -> Bool {
        switch node.flags {
        case 0, Format.valueIsOnOverflowPages:
            tree != .freeList || (node.valueByteCount >= 8 && node.valueByteCount.isMultiple(of: 8))
        case Format.valueIsTableRecord:
            tree == .unnamedTable && node.valueByteCount == Format.tableRecordByteCount
        default: false
        }
    }

    /// Checks that the keys ascend, and are within the bounds that the parents set.
    private mutating func checkOrder(
        of nodes: [TreePage.Node], _ page: TreePage, _ number: Int, _ place: Place, _ tree: Tree
    ) {
        var previous: ArraySlice<UInt8>?
        for (index, node) in nodes.enumerated() {
            if !page.isLeaf, index == 0 { continue }
            let key = page.key(node)
            let isInOrder =
                if let previous {
                    Self.precedes(previous, key, tree)
                } else if let lowest = place.lowest {
                    !Self.precedes(key, lowest, tree)
                } else {
                    true
                }
            if !isInOrder { damages.add(.keysOutOfOrder, page: number) }
            previous = key
        }
        if let previous, let end = place.end, !Self.precedes(previous, end, tree) {
            damages.add(.keysOutOfOrder, page: number)
        }
    }

    /// Compares two keys; the keys of the free list are integers, the numbers of the transactions
    /// that freed the pages.
    private static func precedes(
        _ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>, _ tree: Tree
    ) -> Bool {
        guard tree == .freeList else { return left.lexicographicallyPrecedes(right) }
        return Array(left).integer(at: 0, as: UInt64.self) ?? 0
            < Array(right).integer(at: 0, as: UInt64.self) ?? 0
    }

    private mutating func walkBranch(
        _ page: TreePage, _ number: Int, _ nodes: [TreePage.Node], _ place: Place, _ tree: Tree,
        _ tally: inout Tally
    ) throws(LMDBError) {
        tally.counts.branchPages += 1
        // LMDB rebalances the free list while it writes it, and may leave a branch with one child
        // (ITS#8336).
        if nodes.count < 2, tree != .freeList { damages.add(.wrongBounds, page: number) }
        for (index, node) in nodes.enumerated() {
            let child = Place(
                level: place.level + 1,
                lowest: index == 0 ? place.lowest : page.key(node),
                end: index + 1 < nodes.count ? page.key(nodes[index + 1]) : place.end)
            try walkPage(node.child, child, tree, &tally)
        }
    }

    private mutating func walkLeaf(
        _ page: TreePage, _ number: Int, _ nodes: [TreePage.Node], _ place: Place, _ tree: Tree,
        _ tally: inout Tally
    ) throws(LMDBError) {
        tally.counts.leafPages += 1
        tally.counts.entries += UInt64(nodes.count)
        if tally.counts.levels == 0 { tally.counts.levels = UInt64(place.level) }
        if tally.counts.levels != place.level { damages.add(.wrongPageKind, page: number) }
        for node in nodes {
            var overflowPage: Int?
            if node.flags == Format.valueIsOnOverflowPages {
                overflowPage = try walkOverflow(node, page, number, &tally)
                if overflowPage == nil { continue }
            }
            if tree == .freeList {
                try noteFreePages(node, page, number, overflowPage, &tally)
            } else if node.flags == Format.valueIsTableRecord,
                let record = TableRecord(page.bytes, at: node.value.lowerBound)
            {
                try walk(record, .namedTable, recordPage: number)
            }
        }
    }
}

// MARK: - Pages in use

extension PageWalk {
    /// Claims a run of pages for the place that refers to it; returns false, and reports a damage,
    /// when it cannot have them.
    private mutating func claim(_ page: Int, _ count: Int, _ tally: inout Tally) -> Bool {
        let limit = min(filePageCount, trackedPageCount)
        guard page >= Format.metaPageCount, page < limit, count <= limit - page else {
            skip(page, .pageOutOfRange, &tally)
            return false
        }
        for each in page..<page + count {
            if used.insert(each) { continue }
            skip(each, .pageUsedTwice, &tally)
            return false
        }
        return true
    }

    /// Claims the overflow pages of a value; returns the first of them, or nil when they are
    /// invalid.
    private mutating func walkOverflow(
        _ node: TreePage.Node, _ page: TreePage, _ number: Int, _ tally: inout Tally
    ) throws(LMDBError) -> Int? {
        let reference: UInt64 = page.bytes.integer(at: node.value.lowerBound) ?? 0
        let first = Int(clamping: reference)
        // Checked before the header is read, which may be outside the file.
        guard first >= Format.metaPageCount, first < min(filePageCount, trackedPageCount) else {
            skip(first, .pageOutOfRange, &tally)
            return nil
        }
        let bytes = try file.read(Format.pageHeaderByteCount, at: first * meta.pageByteCount)
        guard let header = PageHeader(bytes), header.number == first else {
            skip(first, .wrongPageNumber, &tally)
            return nil
        }
        guard header.flags == Format.overflowPage else {
            skip(first, .wrongPageKind, &tally)
            return nil
        }
        // The pages may exceed the need of the value, if it replaced a longer one.
        let needed =
            (Format.pageHeaderByteCount + node.valueByteCount + meta.pageByteCount - 1)
            / meta.pageByteCount
        guard header.overflowPageCount >= needed else {
            skip(first, .wrongBounds, &tally)
            return nil
        }
        guard claim(first, header.overflowPageCount, &tally) else { return nil }
        tally.counts.overflowPages += UInt64(header.overflowPageCount)
        return first
    }
}

// MARK: - Free pages

extension PageWalk {
    /// Records the pages of one entry of the free list: their count, then their numbers,
    /// descending.
    private mutating func noteFreePages(
        _ node: TreePage.Node, _ page: TreePage, _ number: Int, _ overflowPage: Int?,
        _ tally: inout Tally
    ) throws(LMDBError) {
        var source = page.bytes
        var position = node.value.lowerBound
        var offset = 0
        if let overflowPage {
            offset = overflowPage * meta.pageByteCount + Format.pageHeaderByteCount
            source = try file.read(8, at: offset)
            position = 0
        }
        // The value may be larger, because LMDB reserves it before it knows the count.
        guard let count: UInt64 = source.integer(at: position), count < node.valueByteCount / 8
        else {
            return skip(number, .wrongNode, &tally)
        }
        var previous = Int.max
        for index in 0..<Int(count) {
            position += 8
            if overflowPage != nil, position >= source.count {
                offset += source.count
                source = try file.read(
                    min(meta.pageByteCount, (Int(count) - index) * 8), at: offset)
                position = 0
            }
            guard let reference: UInt64 = source.integer(at: position) else {
                return skip(number, .pageOutOfRange, &tally)
            }
            let freed = Int(clamping: reference)
            if freed >= previous { damages.add(.keysOutOfOrder, page: number) }
            previous = freed
            noteFreePage(freed)
        }
    }

    private mutating func noteFreePage(_ page: Int) {
        guard page >= Format.metaPageCount, page <= meta.lastPage else {
            return damages.add(.pageOutOfRange, page: page)
        }
        // If not every page is tracked, other damage has been reported.
        guard page < trackedPageCount else { return }
        if !free.insert(page) { damages.add(.pageFreeTwice, page: page) }
    }
}
