import StetLMDB

/// The result of inspecting a store's file without opening it: sizes, and damage to its pages.
///
/// A damaged page can end a process that opens the store, because LMDB has no checksums; inspecting
/// it first is safe. The values themselves are checked by `verify`.
public struct StoreInspection: Sendable, Hashable {
    /// The number of bytes of the file.
    public let fileByteCount: Int
    /// The number of bytes of a page.
    public let pageByteCount: Int
    /// The number of pages in use.
    public let usedPageCount: Int
    /// The number of free pages, which can be reused.
    public let freePageCount: Int
    /// True when a process writes the store through a log or without durability (``Durability``),
    /// or has not closed it: its pages may look damaged until a process opens it again.
    public let needsRecovery: Bool
    /// The damages, each as a sentence that names the page; at most 100, empty for a healthy file.
    public let damages: [String]

    /// True when the file has any damage.
    public var isDamaged: Bool { !damages.isEmpty }

    /// Inspects the file at `path` page by page.
    ///
    /// The file must not be written to during the inspection.
    ///
    /// - Parameter path: the path of a store's file; a symbolic link is refused.
    /// - Returns: the result, including any damage.
    /// - Throws: `StoreError`: `.notAStore` for a file of another kind, `.newerFormat`,
    ///   `.invalidPath`, `.notFound`, `.noPermission`, `.inputOutput`.
    /// - Complexity: O(pages) in time, one bit of memory per page.
    public static func inspect(_ path: String) throws -> StoreInspection {
        try StoreError.wrapping(path: path) {
            try StorePlace.checkName(path)
            let file = try FileInspection.inspect(path: path, walkingPages: true)
            return StoreInspection(
                fileByteCount: file.fileByteCount, pageByteCount: file.pageByteCount,
                usedPageCount: file.usedPageCount ?? 0, freePageCount: file.freePageCount ?? 0,
                needsRecovery: LogMark.read(path: path) != nil,
                damages: file.damages.map(\.description))
        }
    }
}
