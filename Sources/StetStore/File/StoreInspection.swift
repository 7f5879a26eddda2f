import StetLMDB

/// What a store's file looks like from outside, without being opened: sizes, and damage to its
/// pages.
///
/// A damaged page can end a process that opens the store, because LMDB has no checksums of its own;
/// looking first is safe. What stands in the values is for `verify` to judge.
public struct StoreInspection: Sendable, Hashable {
    /// Bytes of the file.
    public let fileByteCount: Int
    /// Bytes of a page.
    public let pageByteCount: Int
    /// Pages in use.
    public let usedPageCount: Int
    /// Pages that are free to be used again.
    public let freePageCount: Int
    /// Each damage as a sentence that names the page; at most 100, empty for a healthy file.
    public let damages: [String]

    /// True when there is damage.
    public var isDamaged: Bool { !damages.isEmpty }

    /// Looks at the file at `path` page by page.
    ///
    /// Nobody may write to it meanwhile.
    ///
    /// - Parameter path: of a store's file; a symbolic link is refused.
    /// - Returns: what was found, damage included.
    /// - Throws: `StoreError`: `.notAStore` for a file of another kind, `.newerFormat`,
    ///   `.invalidPath`, `.notFound`, `.noPermission`, `.inputOutput`.
    /// - Complexity: O(pages) time, one bit per page of memory.
    public static func inspect(_ path: String) throws -> StoreInspection {
        try StoreError.wrapping(path: path) {
            try StorePlace.checkName(path)
            let file = try FileInspection.inspect(path: path, walkingPages: true)
            return StoreInspection(
                fileByteCount: file.fileByteCount, pageByteCount: file.pageByteCount,
                usedPageCount: file.usedPageCount ?? 0, freePageCount: file.freePageCount ?? 0,
                damages: file.damages.map(\.description))
        }
    }
}
