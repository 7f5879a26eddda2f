extension FileInspection {
    /// Returns the value of `key` in the unnamed table, read without mapping the file; nil when
    /// there is none.
    ///
    /// The file must not be written to during the call.
    ///
    /// - Throws: `LMDBError`: `corrupted` when pages on the path are invalid, otherwise as
    ///   `inspect(path:walkingPages:)`.
    /// - Complexity: O(log entries) pages, plus the bytes of the value.
    package static func value(
        of key: [UInt8], inFileAt path: String
    ) throws(LMDBError) -> [UInt8]? {
        let file = try InspectedFile(opening: path)
        var damages = DamageList()
        let meta = try MetaPage.current(of: file, &damages)
        var next = meta.unnamedTable.root
        for _ in 0..<Format.levelLimit {
            guard let number = next else { return nil }
            let page = try treePage(number, of: file, meta)
            var found: TreePage.Node?
            for index in 0..<page.nodeCount {
                guard let node = page.node(index) else {
                    throw file.failure(LMDBError.corrupted)
                }
                // The first key of a branch represents all keys below the second.
                let isLowest = !page.isLeaf && index == 0
                if !isLowest, key.lexicographicallyPrecedes(page.key(node)) { break }
                found = node
            }
            guard let found else { return nil }
            if page.isLeaf {
                guard page.key(found).elementsEqual(key) else { return nil }
                return try value(of: found, on: page, of: file, meta)
            }
            next = found.child
        }
        throw file.failure(LMDBError.corrupted)
    }

    private static func treePage(
        _ number: Int, of file: borrowing InspectedFile, _ meta: MetaPage
    ) throws(LMDBError) -> TreePage {
        guard number >= Format.metaPageCount, number <= meta.lastPage else {
            throw file.failure(LMDBError.corrupted)
        }
        let bytes = try file.read(meta.pageByteCount, at: number * meta.pageByteCount)
        guard bytes.count == meta.pageByteCount, let header = PageHeader(bytes),
            header.number == number,
            header.flags == Format.branchPage || header.flags == Format.leafPage,
            let page = TreePage(bytes, header)
        else { throw file.failure(LMDBError.corrupted) }
        return page
    }

    private static func value(
        of node: TreePage.Node, on page: TreePage, of file: borrowing InspectedFile,
        _ meta: MetaPage
    ) throws(LMDBError) -> [UInt8] {
        guard node.flags & Format.valueIsOnOverflowPages != 0 else {
            return Array(page.bytes[node.value])
        }
        let first = page.bytes.integer(at: node.value.lowerBound, as: UInt64.self) ?? 0
        guard first <= meta.lastPage,
            // Checked before memory is allocated.
            node.valueByteCount <= (try file.byteCount())
        else { throw file.failure(LMDBError.corrupted) }
        let value = try file.read(
            node.valueByteCount,
            at: Int(first) * meta.pageByteCount + Format.pageHeaderByteCount)
        guard value.count == node.valueByteCount else { throw file.failure(LMDBError.corrupted) }
        return value
    }
}
