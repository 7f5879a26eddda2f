import StetLMDB
import StetStore
import StetTestSupport
import Testing

@testable import Stet

private enum First {
    @Model final class Alpha {
        var name: String = ""
        init() {}
    }
}

private enum Second {
    @Model final class Alpha {
        var name: String = ""
        init() {}
    }

    @Model final class Beta {
        var name: String = ""
        init() {}
    }
}

/// A journal with an entry at a revision at which its schema did not exist yet.
@Suite struct LaterSchemaTests {
    private let directory = TemporaryDirectory()

    /// A store whose first entry, of schema 1, is the third one, of schema 2, with a hash of its
    /// own.
    private func made() throws -> Store {
        let first = try Store.open(at: directory.file(), for: First.Alpha.self)
        let early = first.context()
        early.insert(First.Alpha())
        try early.save("alpha")
        first.close()
        let second = try Store.open(
            at: directory.file(), for: Second.Alpha.self, Second.Beta.self)
        let late = second.context()
        late.insert(Second.Beta())
        try late.save("beta")
        #expect(try second.verify().problems == [])
        try second.file.environment.write { transaction in
            let table = try transaction.table(Journal.tableName)
            func key(_ number: UInt64) -> [UInt8] {
                withUnsafeBytes(of: number.bigEndian) { Array($0) } + [0, 0, 0, 0]
            }
            var entry = try key(3).withUnsafeBytes { key in
                Array(try #require(try transaction.reading.get(key, in: table)))
            }
            entry.replaceSubrange(8..<16, with: [1, 0, 0, 0, 0, 0, 0, 0])
            // Clears the base revision and the hash of the previous entry.
            entry.replaceSubrange(24..<32, with: [UInt8](repeating: 0, count: 8))
            entry.replaceSubrange(64..<96, with: [UInt8](repeating: 0, count: 32))
            var hash = ByteBuffer()
            entry[..<Envelope.hashedByteCount].withUnsafeBytes {
                Digest(of: $0).append(to: &hash)
            }
            entry.replaceSubrange(128..<160, with: Array(hash.bytes))
            try key(1).withUnsafeBytes { key in
                try entry.withUnsafeBytes { try transaction.put($0, for: key, in: table) }
            }
        }
        return second
    }

    @Test func anEntryOfALaterSchemaThanItsPlaceIsDamage() throws {
        let store = try made()
        let problems = try store.verify().problems
        #expect(problems.contains { $0.hasPrefix("Revision 1") && $0.contains("another schema") })
    }

    @Test func trimmingSuchAnEntryIsRefused() throws {
        let store = try made()
        let error = #expect(throws: StoreError.self) {
            try store.requestTrim(before: 2).confirm()
        }
        #expect(error?.code == .damaged)
        #expect(try store.floor() == .zero)
    }
}
