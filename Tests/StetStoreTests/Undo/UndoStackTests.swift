import Foundation
import StetStore
import Testing

/// The stacks of undo and redo, as the writer keeps them and the journal makes them.
struct UndoStackTests {
    private let library: Library
    private let tag = ObjectKey(Number.tag, 1)
    private let other = ObjectKey(Number.tag, 2)

    init() throws { library = try Library() }

    private var file: StoreFile { library.file }

    private func mark(_ key: ObjectKey, _ byte: UInt8?, _ author: String?, _ label: String) throws {
        try library.commit(
            [library.edit(key, byte.map { [.data(Data([$0]))] })],
            EditNote(author: author, label: label))
    }

    private func heads(_ author: String, _ scope: String? = nil) throws -> UndoHeads {
        try file.read { try $0.heads(of: UndoOwner(author: author, scope: scope)) }
    }

    private func takeBack(_ request: UndoRequest, _ policy: UndoPolicy = .fail) throws -> String {
        do {
            let commit = try file.undo(request, policy, author: "r", time: 2_000)
            return commit.map { "\($0.cause) \($0.label ?? "")" } ?? "nothing"
        } catch UndoWork.Refusal.conflicts(let conflicts, _) {
            return conflicts.map(\.kind.rawValue).joined(separator: " ")
        } catch UndoWork.Refusal.violations(let violations, _) {
            return violations.map(\.message).joined(separator: " ")
        }
    }

    private func undo(_ author: String) throws -> String {
        try takeBack(.undo(UndoOwner(author: author, scope: nil)))
    }

    private func redo(_ author: String) throws -> String {
        try takeBack(.redo(UndoOwner(author: author, scope: nil)))
    }

    private func marks() throws -> [ObjectKey: [OwnedCell?]] {
        try file.objects(asOf: Revision(.max)).mapValues(\.cells)
    }

    @Test func theStacksFollowEditsUndosAndRedos() throws {
        try mark(tag, 1, "a", "one")
        try mark(tag, 2, "a", "two")
        try mark(other, 9, "b", "other")
        try mark(other, 8, nil, "nobody's")
        #expect(try heads("a") == UndoHeads(undo: 2))
        #expect(try heads("b") == UndoHeads(undo: 3))
        #expect(try heads("a", "scope") == UndoHeads())
        #expect(try undo("a") == "undo of 2 two")
        #expect(try heads("a") == UndoHeads(undo: 1, redo: 5))
        #expect(try marks()[tag] == [.bytes([1])])
        #expect(try undo("a") == "undo of 1 one")
        #expect(try heads("a") == UndoHeads(undo: 0, redo: 6))
        #expect(try undo("a") == "nothing")
        #expect(try redo("a") == "redo of 6 one")
        #expect(try heads("a") == UndoHeads(undo: 7, redo: 5))
        #expect(try redo("a") == "redo of 5 two")
        #expect(try heads("a") == UndoHeads(undo: 8, redo: 0))
        #expect(try marks() == [tag: [.bytes([2])], other: [.bytes([8])]])
        #expect(try file.verify().problems == [])
        try library.reopen()
        #expect(try heads("a") == UndoHeads(undo: 8))
        #expect(try heads("b") == UndoHeads(undo: 3))
        #expect(try undo("a") == "undo of 8 two")
        #expect(try file.verify().problems == [])
    }

    @Test func aRevertIsAnEditOfItsAuthor() throws {
        try mark(tag, 1, nil, "one")
        try mark(tag, 2, nil, "two")
        #expect(try takeBack(.revert(2)) == "revert of 2 two")
        #expect(try marks()[tag] == [.bytes([1])])
        #expect(try undo("r") == "undo of 3 two")
        #expect(try marks()[tag] == [.bytes([2])])
        #expect(try takeBack(.revert(1)) == "modified")
        #expect(try takeBack(.revert(1), .skip) == "nothing")
        #expect(try takeBack(.revert(1), .overwrite) == "revert of 1 one")
        #expect(try marks() == [:])
        #expect(try file.verify().problems == [])
    }

    @Test func whatIsNotUndoableIsOnNoStack() throws {
        let set = try {
            var net = ChangeSetBuilder(schema: file.schema)
            let body = net.encode(entity: Number.tag) { $0.write([.data(Data([1]))]) }
            net.append(
                ChangeSetBuilder.Item(
                    kind: .insert, entity: Number.tag, id: tag.id, base: 0, before: 0..<0,
                    after: body))
            return try net.encoded(
                attributes: CommitAttributes(author: "a"), base: 0, token: 1, time: 1,
                for: CommitPurpose(isUndoable: false))
        }()
        let commit = try file.commit(set)
        #expect(!commit.isUndoable)
        #expect(try heads("a") == UndoHeads())
        #expect(try undo("a") == "nothing")
        #expect(try takeBack(.revert(1)) == "revert of 1 ")
        #expect(try file.verify().problems == [])
    }

    @Test func aTamperedStackIsFoundAndNeverFollowed() throws {
        try mark(tag, 1, "a", "one")
        try mark(tag, 2, "b", "two")
        let keys = try #require(try file.dump()[""]).filter { $0.key.starts(with: "undo.".utf8) }
        #expect(keys.count == 2)
        let key = try #require(keys.first { $0.value[0] == 1 })
        var value = key.value
        value[0] = 2
        try file.tamper(nil, key.key, value)
        #expect(
            try file.verify().problems == ["The stacks of a are not those that the journal makes."])
        #expect(thrown(StoreError.self) { try undo("a") }?.code == .damaged)
        for count in 0..<key.value.count {
            try file.tamper(nil, key.key, Array(key.value.prefix(count)))
            #expect(thrown(StoreError.self) { try heads("a") }?.code == .damaged, "\(count)")
        }
        try file.tamper(nil, key.key, key.value)
        #expect(try undo("a") == "modified")
        #expect(try file.verify().problems == [])
    }

    @Test func aCommitForAStackThatHasMovedIsRefused() throws {
        try mark(tag, 1, "a", "one")
        try mark(other, 2, "a", "two")
        let owner = UndoOwner(author: "a", scope: nil)
        let first = try #require(try file.preparedUndo(.undo(owner)))
        let second = try #require(try file.preparedUndo(.undo(owner)))
        _ = try file.commit(first)
        let refusal = thrown(CommitRefusal.self) { try file.commit(second) }
        #expect(refusal?.reasons.first == .stackMoved(UndoHeads(undo: 1, redo: 3)))
        #expect(try file.verify().problems == [])
    }
}
