import Foundation
import Stet

/// The figures that are sizes: what commits write, and how much of the file objects take.
enum CountedSizes {
    static func measure(in directory: String) throws -> [String: Double] {
        let store = try CountedWork.open(directory)
        defer { store.close() }
        return [
            "pages of a commit": try pagesOfCommit(store),
            "bytes of an object in the file": try fileBytes(store),
        ]
    }

    /// The pages that the commit of one object writes, in a store of 2,000 objects.
    private static func pagesOfCommit(_ store: Store) throws -> Double {
        let context = store.context(author: "lala")
        let notebook = Notebook(name: "notebook")
        context.insert(notebook)
        func insert(_ numbers: Range<Int>, _ after: () throws -> Void) throws {
            for number in numbers {
                context.insert(Article(number, in: notebook))
                try after()
            }
        }
        try insert(0..<2_000) {}
        try context.save()
        let start = try writtenByteCount()
        let count = 200
        try insert(2_000..<2_000 + count) { try context.save() }
        return Double(try writtenByteCount() - start) / 4_096 / Double(count)
    }

    /// The bytes that the file grows by for each of 10,000 objects of one commit, with its journal
    /// and its indexes.
    private static func fileBytes(_ store: Store) throws -> Double {
        let count = 10_000
        let before = store.health().usedByteCount
        let context = store.context(author: "lala")
        let notebook = Notebook(name: "another notebook")
        context.insert(notebook)
        for number in 0..<count { context.insert(Article(number, in: notebook)) }
        try context.save()
        return Double(store.health().usedByteCount - before) / Double(count)
    }

    /// The bytes that this process has given to the system so far: /proc/self/io, see proc(5).
    private static func writtenByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
        guard let count = line.flatMap({ Int($0.dropFirst("wchar: ".count)) }) else {
            throw CountFailure("/proc/self/io does not say what was written")
        }
        return count
    }
}
