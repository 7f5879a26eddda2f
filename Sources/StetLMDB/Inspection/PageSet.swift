/// A set of page numbers: one bit for each, in blocks that are allocated when one of their pages is
/// inserted.
struct PageSet {
    private static let wordsPerBlock = 512
    private var blocks: [[UInt64]]
    private let capacity: Int
    /// The number of pages in the set.
    private(set) var count = 0

    /// Creates an empty set for the pages below `capacity`.
    init(capacity: Int) {
        self.capacity = max(capacity, 0)
        let pagesPerBlock = Self.wordsPerBlock * 64
        blocks = Array(repeating: [], count: (self.capacity + pagesPerBlock - 1) / pagesPerBlock)
    }

    /// Inserts `page`; returns false when it is present already, or not below the capacity.
    mutating func insert(_ page: Int) -> Bool {
        guard page >= 0, page < capacity else { return false }
        let (block, word) = (page / 64).quotientAndRemainder(dividingBy: Self.wordsPerBlock)
        if blocks[block].isEmpty { blocks[block] = Array(repeating: 0, count: Self.wordsPerBlock) }
        let bit = UInt64(1) << (page % 64)
        guard blocks[block][word] & bit == 0 else { return false }
        blocks[block][word] |= bit
        count += 1
        return true
    }

    /// Returns whether `page` is in the set.
    func contains(_ page: Int) -> Bool {
        page >= 0 && word(page / 64) & UInt64(1) << (page % 64) != 0
    }

    /// Returns the bits of 64 pages from `64 * index` on.
    func word(_ index: Int) -> UInt64 {
        let (block, word) = index.quotientAndRemainder(dividingBy: Self.wordsPerBlock)
        guard block < blocks.count, !blocks[block].isEmpty else { return 0 }
        return blocks[block][word]
    }

    /// Returns the number of words with a bit for each page below `capacity`.
    static func wordCount(for capacity: Int) -> Int { (capacity + 63) / 64 }
}
