import FoundationEssentials
import StetLMDB
import StetTestSupport
import Testing

/// A directory that ends with the test.
final class InspectionDirectory {
    let path: String
    var file: String { path + "/store.mdb" }

    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        path = "\(parent)/stet-inspection-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var bytes: [UInt8] { FileManager.default.contents(atPath: file).map(Array.init) ?? [] }

    func inspect(
        _ twin: DataFileImage? = nil, walkingPages: Bool = true
    ) throws(LMDBError) -> FileInspection {
        if let twin {
            do { try twin.write(to: file) } catch { Issue.record(error) }
        }
        return try FileInspection.inspect(path: file, walkingPages: walkingPages)
    }

    func failure(_ code: Int32) -> LMDBError { LMDBError(.inspect, code: code, path: file) }

    /// A file of one commit, in which every page is in use: three tables, branches, overflow pages.
    func fileOfOneCommit() throws -> DataFileImage {
        try makeFile { environment in
            try environment.write { transaction in
                try transaction.putEntries(count: 1_200, in: "notes")
                try transaction.putEntries(count: 3, in: "tags")
                let table = try transaction.table("articles")
                for index in 0..<3 {
                    try transaction.putLetters(inspectionKey(index), 9_000, in: table)
                }
            }
        } check: {
            #expect($0.damages == [])
            #expect($0.freePageCount == 0)
            #expect($0.usedPageCount == $0.lastPageNumber + 1)
        }
    }

    /// A file whose free list is not empty.
    func fileWithFreePages() throws -> DataFileImage {
        try makeFile { environment in
            try environment.write { try $0.putEntries(count: 1_200, in: "notes") }
            try environment.write { transaction in
                let table = try transaction.table("notes")
                for index in 300..<700 { try transaction.remove(inspectionKey(index), in: table) }
            }
        } check: {
            #expect($0.damages == [])
            #expect(($0.freePageCount ?? 0) > 2)
        }
    }

    private func makeFile(
        _ body: (Environment) throws -> Void, check: (FileInspection) -> Void
    ) throws -> DataFileImage {
        let other = try InspectionDirectory()
        let environment = try Environment.open(at: other.file)
        try body(environment)
        environment.close()
        check(try other.inspect())
        return DataFileImage(other.bytes)
    }
}

func inspectionKey(_ index: Int) -> [UInt8] {
    let digits = String(index)
    return Array((String(repeating: "0", count: 6 - digits.count) + digits).utf8)
}

/// Several commits of random puts and deletes in four tables.
func churnForInspection(_ environment: Environment, seed: UInt64, commits: Int) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<commits {
        try environment.write { transaction in
            for _ in 0..<500 {
                let name = ["notes", "articles", "tags", "links"].randomElement(using: &random)!
                let table = try transaction.table(name)
                let key = inspectionKey(Int.random(in: 0..<2_000, using: &random))
                if Int.random(in: 0..<100, using: &random) < 40 {
                    try transaction.remove(key, in: table)
                } else {
                    let byteCount = [0, 40, 400, 1_900, 2_100, 30_000].randomElement(
                        using: &random)!
                    try transaction.putLetters(key, byteCount, in: table)
                }
            }
        }
    }
}

extension WriteTransaction {
    borrowing func putLetters(_ key: [UInt8], _ byteCount: Int, in table: Table) throws {
        let value = [UInt8](repeating: 0x61, count: byteCount)
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { try put($0, for: key, in: table) }
        }
    }

    borrowing func remove(_ key: [UInt8], in table: Table) throws {
        _ = try key.withUnsafeBytes { try delete($0, in: table) }
    }

    borrowing func putEntries(count: Int, in name: String) throws {
        let table = try table(name)
        for index in 0..<count { try putLetters(inspectionKey(index), 50, in: table) }
    }
}

/// The bytes of a data file, and where in them things are.
struct DataFileImage {
    var bytes: [UInt8]
    let pageByteCount = 4_096

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var pageCount: Int { bytes.count / pageByteCount }

    /// The pages after the meta pages that begin with a header: all but the rest of overflow runs.
    var headedPages: [Int] {
        var pages: [Int] = []
        var page = 2
        while page < pageCount {
            pages.append(page)
            let overflowPageCount: UInt32 = get(in: page, at: 12)
            page += flags(of: page) == 4 ? Int(overflowPageCount) : 1
        }
        return pages
    }

    func write(to path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }

    func range(of page: Int) -> Range<Int> {
        page * pageByteCount..<(page + 1) * pageByteCount
    }

    func get<Integer: FixedWidthInteger>(in page: Int, at offset: Int) -> Integer {
        let start = page * pageByteCount + offset
        let size = MemoryLayout<Integer>.size
        return bytes[start..<start + size].reversed().reduce(0) { $0 << 8 | Integer($1) }
    }

    mutating func set<Integer: FixedWidthInteger>(
        _ value: Integer, in page: Int, at offset: Int
    ) {
        let start = page * pageByteCount + offset
        for index in 0..<MemoryLayout<Integer>.size {
            bytes[start + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }

    func flags(of page: Int) -> UInt16 { get(in: page, at: 10) }

    /// The first two pages below the only branch.
    func children() throws -> [Int] {
        let branch = try #require(headedPages.first { flags(of: $0) == 1 })
        return (0...1).map { Int(get(in: branch, at: nodeOffset($0, in: branch)) as UInt32) }
    }

    func nodeOffset(_ index: Int, in page: Int) -> Int {
        Int(get(in: page, at: 16 + 2 * index) as UInt16)
    }

    mutating func zeroPage(_ page: Int) {
        bytes.replaceSubrange(range(of: page), with: repeatElement(0, count: pageByteCount))
    }

    /// An entry of the free list: its page, where in it the value is, and the pages it frees.
    struct FreeListEntry {
        let page: Int
        let offset: Int
        let freed: [Int]
    }

    /// The last entry of a free list that is one leaf.
    func freeListEntry() throws -> FreeListEntry {
        let meta = (get(in: 1, at: 144) as UInt64) > get(in: 0, at: 144) ? 1 : 0
        let page = Int(get(in: meta, at: 40 + 40) as UInt64)
        try #require(flags(of: page) == 2)
        let node = nodeOffset((Int(get(in: page, at: 12) as UInt16) - 16) / 2 - 1, in: page)
        try #require(get(in: page, at: node + 4) as UInt16 == 0)
        let offset = node + 16
        let count = Int(get(in: page, at: offset) as UInt64)
        let freed = (0..<count).map { Int(get(in: page, at: offset + 8 + 8 * $0) as UInt64) }
        return FreeListEntry(page: page, offset: offset, freed: freed)
    }

    mutating func setFreePage(_ index: Int, to page: Int, _ entry: FreeListEntry) {
        set(UInt64(page), in: entry.page, at: entry.offset + 8 + 8 * index)
    }

    /// The file with a free list of so many branches one below the other, and a leaf.
    func withFreeList(branchLevels: Int) -> DataFileImage {
        var twin = self
        let root = pageCount
        for level in 0...branchLevels {
            let page = root + level
            twin.bytes += repeatElement(0, count: pageByteCount)
            twin.set(UInt64(page), in: page, at: 0)
            let isLeaf = level == branchLevels
            let node = pageByteCount - (isLeaf ? 24 : 16)
            twin.set(UInt16(isLeaf ? 2 : 1), in: page, at: 10)
            twin.set(UInt16(18), in: page, at: 12)
            twin.set(UInt16(node), in: page, at: 14)
            twin.set(UInt16(node), in: page, at: 16)
            // A leaf gets a value of length zero, a branch a node that leads to the next page.
            twin.set(UInt32(isLeaf ? 8 : page + 1), in: page, at: node)
            twin.set(UInt16(8), in: page, at: node + 6)
            twin.set(UInt64(1), in: page, at: node + 8)
        }
        twin.set(UInt64(root), in: 1, at: 40 + 40)
        twin.set(UInt64(twin.pageCount - 1), in: 1, at: 136)
        return twin
    }

    /// One to four changes of the kinds that disks, crashes and attackers make.
    mutating func corrupt(using random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let page = Int.random(in: 0..<pageCount, using: &random)
            let offset = page * pageByteCount + Int.random(in: 0..<pageByteCount, using: &random)
            // Changes of headers, records and node offsets have the most effect.
            let early = page * pageByteCount + Int.random(in: 0..<160, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[early] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes[early] = UInt8.random(in: 0...255, using: &random)
            case 3:
                for each in early..<early + 8 { bytes[each] = 0xff }
            case 4:
                for each in range(of: page).dropFirst(10) {
                    bytes[each] = UInt8.random(in: 0...255, using: &random)
                }
            default:
                if pageCount > 4, Bool.random(using: &random) {
                    bytes.removeLast(Int.random(in: 1...pageByteCount, using: &random))
                } else {
                    let other = range(of: Int.random(in: 0..<pageCount, using: &random))
                    bytes.replaceSubrange(range(of: page), with: Array(bytes[other]))
                }
            }
        }
    }
}
