import StetTestSupport

/// A store's file with one damage; the kinds take turns.
struct DamagedBytes {
    static let pageByteCount = 4_096

    private(set) var bytes: [UInt8]
    /// A description of the damage.
    private(set) var description = ""
    private var random: SeededGenerator

    init(_ store: SoundStore, seed: UInt64, index: Int) {
        bytes = store.bytes
        random = SeededGenerator(seed: seed, stream: index)
        switch index % 11 {
        case 0, 1: flip(count: 1)
        case 2: flip(count: 8)
        case 3: flipInMetaPage()
        case 4: overwritePage("zeros") { _ in 0 }
        case 5: overwritePage("garbage") { UInt8.random(in: 0...255, using: &$0) }
        case 6: truncate()
        case 7: swapPages()
        case 8: misdirectPage()
        case 9: flipInUnnamedTable()
        default: bringBackMetaPage(of: store)
        }
    }

    private var pageCount: Int { bytes.count / Self.pageByteCount }

    private mutating func page() -> Int { Int.random(in: 0..<pageCount, using: &random) }

    private func range(_ page: Int) -> Range<Int> {
        page * Self.pageByteCount..<(page + 1) * Self.pageByteCount
    }

    private mutating func flip(_ offset: Int) {
        let bit = Int.random(in: 0..<8, using: &random)
        bytes[offset] ^= 1 << UInt8(bit)
        description +=
            "bit \(bit) of byte \(offset) (page \(offset / Self.pageByteCount)) flipped; "
    }

    private mutating func flip(count: Int) {
        for _ in 0..<count { flip(Int.random(in: bytes.indices, using: &random)) }
    }

    /// Flips a bit of the bytes that a meta page uses.
    private mutating func flipInMetaPage() {
        let offset = Int.random(in: 0..<168, using: &random)
        flip(Bool.random(using: &random) ? offset : Self.pageByteCount + offset)
    }

    /// Flips a bit in the root of the table without a name, which contains the store's identity,
    /// its schema, its head and the roots of all tables.
    private mutating func flipInUnnamedTable() {
        func number(at offset: Int) -> UInt64 {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        }
        // Offsets in a meta page, after its header: the root at 112, the transaction at 128.
        let meta = number(at: 144) > number(at: Self.pageByteCount + 144) ? 0 : Self.pageByteCount
        let root = range(Int(number(at: meta + 128)))
        // LMDB fills a page from its end.
        let upper = Int(bytes[root.lowerBound + 14]) | Int(bytes[root.lowerBound + 15]) << 8
        flip(root.lowerBound + Int.random(in: upper..<Self.pageByteCount, using: &random))
    }

    private mutating func overwritePage(
        _ name: String, with byte: (inout SeededGenerator) -> UInt8
    ) {
        let page = page()
        for offset in range(page) { bytes[offset] = byte(&random) }
        description = "page \(page) overwritten with \(name)"
    }

    private mutating func truncate() {
        let byteCount = Int.random(in: 0..<bytes.count, using: &random)
        bytes.removeLast(bytes.count - byteCount)
        description = "truncated to \(byteCount) bytes"
    }

    private mutating func swapPages() {
        let (one, other) = (page(), page())
        let (oneBytes, otherBytes) = (bytes[range(one)], bytes[range(other)])
        bytes.replaceSubrange(range(one), with: otherBytes)
        bytes.replaceSubrange(range(other), with: oneBytes)
        description = "pages \(one) and \(other) swapped"
    }

    private mutating func misdirectPage() {
        let (source, target) = (page(), page())
        bytes.replaceSubrange(range(target), with: bytes[range(source)])
        description = "page \(source) written over page \(target)"
    }

    private mutating func bringBackMetaPage(of store: SoundStore) {
        let stage = Int.random(in: 0..<store.metaPages.count - 1, using: &random)
        let pages = [0..<1, 1..<2, 0..<2].randomElement(using: &random) ?? 0..<2
        let range = pages.lowerBound * Self.pageByteCount..<pages.upperBound * Self.pageByteCount
        bytes.replaceSubrange(range, with: store.metaPages[stage][range])
        let age = store.metaPages.count - 1 - stage
        description = "meta pages \(pages) of \(age) commits earlier"
    }
}
