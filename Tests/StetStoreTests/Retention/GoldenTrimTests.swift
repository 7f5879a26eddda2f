import Foundation
import StetStore
import Testing

/// A trimmed and redacted store of an earlier version is read by this one.
struct GoldenTrimTests {
    private static let notebook = ObjectKey(Number.notebook, 201)
    private static let other = ObjectKey(Number.notebook, 202)
    private static let tag = ObjectKey(Number.tag, 301)
    private static let owner = UndoOwner(author: "a", scope: nil)

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: .library, .small(mapByteCount: 1 << 20))
        func name(_ text: String) -> [Value] { [.string(text), .null] }
        let edits = [
            Edit(notebook, from: nil, to: name("secret")),
            Edit(other, from: nil, to: name("kept")),
            Edit(tag, from: nil, to: [.data(Data([1]))]),
            Edit(notebook, from: name("secret"), to: name("hidden"), base: 1),
            Edit(notebook, from: name("hidden"), to: name("public"), base: 4),
            Edit(tag, from: [.data(Data([1]))], to: nil, base: 3),
            Edit(
                other, from: name("kept"), to: [.string("kept"), .reference(notebook.id)], base: 2),
        ]
        for (index, edit) in edits.enumerated() {
            let author = index == 6 ? "b" : "a"
            _ = try file.commit(
                [edit], EditNote(author: author, label: "\(index)", time: Double(index)))
        }
        try file.trim(through: 3, for: .count(4))
        try file.redact(
            RedactionRequest(entity: Number.notebook, object: notebook.id, slots: [0]))
        file.close()
    }

    @Test func theGoldenTrimmedAndRedactedStoreIsReadAndGoneOnWith() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("trimmed", to: directory.file(), madeBy: Self.make)
        let file = try directory.open()
        #expect(try file.verify().problems == [])
        let floor = try #require(try file.overview().floor)
        #expect(floor.revision == 3)
        #expect(floor.retention == .count(4))
        #expect(floor.time == 2)
        #expect(
            thrown(StoreError.self) { try file.read { try $0.commit(3) } }?.code == .historyTrimmed)
        let commits = try (4...7).map { number in
            try file.read { try $0.commit(Revision(UInt64(number))) }
        }
        #expect(commits.map(\.label) == ["3", "4", "5", "6"])
        #expect(commits.map(\.isRedacted) == [true, true, false, false])
        #expect(commits[1].changeSet.changes[0].properties[0].redacted.old)
        #expect(commits[1].changeSet.changes[0].properties[0].new == .string("public"))
        let expected: [ObjectKey: [OwnedCell?]] = [
            Self.notebook: [Value.string("public").cell, nil],
            Self.other: [Value.string("kept").cell, Value.reference(Self.notebook.id).cell],
        ]
        #expect(try file.objects(asOf: .max).mapValues(\.cells) == expected)
        #expect(try file.objects(asOf: 3)[Self.notebook]?.cells == [.bytes([]), nil])
        #expect(try file.objects(asOf: 3)[Self.tag]?.cells == [.bytes([1])])
        try file.undo(.undo(Self.owner), time: 9)
        #expect(try file.object(Self.tag, asOf: .max)?.cells == [.bytes([1])])
        #expect(
            thrown(StoreError.self) { try file.undo(.undo(Self.owner), time: 9) }?.code
                == .erased)
        try file.trim(through: .max)
        #expect(try file.verify().problems == [])
    }
}
