/// A set of page numbers: a bit for each, in blocks that take memory once one of their pages is in
/// the set.
struct PageSet {
    private static let wordsPerBlock = 512
    private var blocks: [[UInt64]]
    private let capacity: Int
    /// The pages in the set.
    private(set) var count = 0

    /// An empty set for the pages below `capacity`.
    init(capacity: Int) {
        self.capacity = max(capacity, 0)
        let pagesPerBlock = Self.wordsPerBlock * 64
        blocks = Array(repeating: [], count: (self.capacity + pagesPerBlock - 1) / pagesPerBlock)
    }

    /// Adds `page`; false when it was there already, or is not below the capacity.
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

    /// Whether `page` is in the set.
    func contains(_ page: Int) -> Bool {
        page >= 0 && word(page / 64) & UInt64(1) << (page % 64) != 0
    }

    /// The bits of 64 pages from `64 * index` on.
    func word(_ index: Int) -> UInt64 {
        let (block, word) = index.quotientAndRemainder(dividingBy: Self.wordsPerBlock)
        guard block < blocks.count, !blocks[block].isEmpty else { return 0 }
        return blocks[block][word]
    }

    /// The words that hold a bit for each page below `capacity`.
    static func wordCount(for capacity: Int) -> Int { (capacity + 63) / 64 }
}
