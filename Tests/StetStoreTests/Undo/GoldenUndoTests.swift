import Foundation
import StetStore
import Testing

/// The stacks that an earlier version wrote are read, and continued, by this one.
struct GoldenUndoTests {
    private static let tag = ObjectKey(Number.tag, 1)
    private static let other = ObjectKey(Number.tag, 2)
    private static let group = UndoGroup(.fixed(9))

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: .library, .small(mapByteCount: 1 << 20))
        func commit(_ key: ObjectKey, _ byte: UInt8, _ base: Revision, _ scope: String?) throws {
            var net = ChangeSetBuilder(schema: file.schema)
            let isNew = base == .zero
            let before = isNew ? 0..<0 : net.encode(entity: 3) { $0.write([.data(Data([0]))]) }
            let after = net.encode(entity: 3) { $0.write([.data(Data([byte]))]) }
            net.append(
                ChangeSetBuilder.Item(
                    kind: isNew ? .insert : .update, entity: 3, id: key.id, base: base,
                    before: before, after: after))
            var attributes = CommitAttributes(author: "a", scope: scope, label: "\(byte)")
            attributes.group = byte > 0 ? group : nil
            attributes.metadata = ["ticket": "\(byte)", "e\u{301}": ""]
            _ = try file.commit(
                try net.encoded(attributes: attributes, base: 0, token: 1, time: Double(byte)))
        }
        try commit(tag, 0, 0, nil)
        try commit(other, 0, 0, "scope")
        try commit(tag, 1, 1, nil)
        try commit(other, 2, 2, "scope")
        for request in [UndoRequest.undo(owner), .redo(owner), .undo(owner), .revert(2)] {
            try file.undo(request, .overwrite, author: "b", time: 10)
        }
        file.close()
    }

    private static let owner = UndoOwner(author: "a", scope: nil)

    @Test func theGoldenStoreWithStacksIsReadAndGoneOnWith() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("undo", to: directory.file(), madeBy: Self.make)
        let file = try directory.open()
        let commits = try (1...8).map { number in
            try file.read { try $0.commit(Revision(UInt64(number))) }
        }
        #expect(
            commits.map(\.cause) == [
                .edit, .edit, .edit, .edit, .undo(of: 3), .redo(of: 5), .undo(of: 6),
                .revert(of: 2),
            ])
        #expect(commits.map(\.group) == [nil, nil, Self.group, Self.group, nil, nil, nil, nil])
        #expect(commits[2].metadata == ["ticket": "1", "e\u{301}": ""])
        #expect(commits.map(\.envelope.below) == [0, 0, 1, 2, 0, 1, 0, 0])
        #expect(try file.read { try $0.heads(of: Self.owner) } == UndoHeads(undo: 1, redo: 7))
        #expect(try file.objects(asOf: .max).mapValues(\.cells) == [Self.tag: [.bytes([0])]])
        #expect(try file.verify().problems == [])
        for request in [UndoRequest.redo(Self.owner), .undo(UndoOwner(author: "b", scope: nil))] {
            try file.undo(request, time: 11)
        }
        #expect(
            try file.objects(asOf: .max).mapValues(\.cells)
                == [Self.tag: [.bytes([1])], Self.other: [.bytes([2])]])
        #expect(try file.verify().problems == [])
    }
}
