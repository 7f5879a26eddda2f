import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Account {
    @Attribute(.unique) var name: String
    @Attribute(.hidden, .length(4...)) var secret: String
    @Attribute(.hidden) var token: String?
    #Index<Account>(\.token, \.name)

    init(name: String, secret: String) {
        self.name = name
        self.secret = secret
    }
}

/// Values that stay out of what leaves the store as text.
@Suite struct HiddenValueTests {
    private let store: Store
    private let context: ManagedContext
    private let account: Account

    init() throws {
        store = try Store.inMemory(for: Account.self)
        context = store.context()
        account = Account(name: "ann", secret: "hunter2")
        account.token = "hunter3"
        context.insert(account)
        try context.save()
    }

    private func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    @Test("Service 5 a hidden value is in no encoded snapshot, and in none that is printed")
    func snapshots() throws {
        let snapshot = try #require(try store.object(Account.self, id: account.id))
        #expect(snapshot.secret == "hunter2")
        var dumped = ""
        dump(snapshot, to: &dumped)
        for text in [try text(snapshot), "\(snapshot)", String(reflecting: snapshot), dumped] {
            #expect(text.contains("ann"), "\(text)")
            #expect(!text.contains("hunter"), "\(text)")
        }
    }

    @Test("Service 5 a snapshot is decoded with the hidden values that are there or optional")
    func decoding() throws {
        let id = account.id
        let whole = #"{"id":"\#(id)","name":"bob","secret":"12345"}"#
        let snapshot = try JSONDecoder().decode(Account.Snapshot.self, from: Data(whole.utf8))
        #expect(snapshot.name == "bob")
        #expect(snapshot.secret == "12345")
        #expect(snapshot.token == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(
                Account.Snapshot.self, from: Data(#"{"id":"\#(id)","name":"bob"}"#.utf8))
        }
    }

    @Test("Service 5 change sets, commits and debug text have no hidden values")
    func changes() throws {
        account.secret = "hunter4"
        let set = context.changes
        let change = try #require(set.changes.first)
        #expect(change.description == "update Account (secret: (hidden) → (hidden))")
        #expect(context.debugView.long.contains("secret: (hidden) (changed)"))
        #expect(!context.debugView.long.contains("hunter"))
        let commit = try #require(try context.save())
        for text in [
            try text(set), try text(commit), try text(commit.changes(of: Account.self)[0]),
        ] {
            #expect(text.contains(#""secret":{"hidden":true}"#))
            #expect(!text.contains("hunter"))
        }
    }

    @Test("Service 5 a change set without hidden values leaves them as they are")
    func changesWithoutValues() throws {
        account.secret = "hunter4"
        account.name = "bob"
        let coded = try JSONEncoder().encode(context.changes)
        context.rollback()
        let set = try JSONDecoder().decode(ChangeSet.self, from: coded)
        try context.apply(set)
        #expect(account.name == "bob")
        #expect(account.secret == "hunter2")
    }

    @Test("Service 5 an encoder that is told to encodes the hidden values of changes")
    func trustedEncoder() throws {
        account.secret = "hunter4"
        let encoder = JSONEncoder()
        encoder.userInfo[.encodesHiddenValues] = true
        let coded = try encoder.encode(context.changes)
        context.rollback()
        try context.apply(try JSONDecoder().decode(ChangeSet.self, from: coded))
        #expect(account.secret == "hunter4")
    }

    @Test("Service 5 a conflict of hidden values does not contain them")
    func conflicts() throws {
        let id = account.id
        try store.edit { try $0.object(Account.self, id: id)?.secret = "hunter5" }
        account.secret = "hunter4"
        let error = try #require(throws: ConflictError.self) {
            try context.save(onFailure: .keepPending)
        }
        let property = try #require(error.conflicts.first?.properties.first)
        #expect(property.mine == .string("hunter4"))
        #expect(property.isHidden)
        for text in [try text(error.conflicts), String(reflecting: error), "\(error)"] {
            #expect(text.contains("secret"), "\(text)")
            #expect(!text.contains("hunter"), "\(text)")
        }
        let coded = try JSONEncoder().encode(error.conflicts[0])
        let decoded = try JSONDecoder().decode(Conflict.self, from: coded)
        try #require(decoded.properties.map(\.mine) == [.null])
        #expect(decoded.properties[0].isHidden)
        let encoder = JSONEncoder()
        encoder.userInfo[.encodesHiddenValues] = true
        let whole = try encoder.encode(error.conflicts[0])
        #expect(try JSONDecoder().decode(Conflict.self, from: whole) == error.conflicts[0])
        // Applying a change set finds the same conflict.
        let changes = context.changes
        context.rollback()
        try context.refresh()
        let applied = try #require(throws: ConflictError.self) { try context.apply(changes) }
        #expect(try !text(applied.conflicts).contains("hunter"))
    }

    @Test("Service 5 a conflict of an undo of hidden values does not contain them")
    func undoConflicts() throws {
        let id = account.id
        try store.edit(author: "ann") { try $0.object(Account.self, id: id)?.secret = "hunter4" }
        try store.edit(author: "bob") { try $0.object(Account.self, id: id)?.secret = "hunter5" }
        let error = try #require(throws: UndoConflictError.self) { try store.undo(author: "ann") }
        let conflict = try #require(error.conflicts.first)
        #expect(conflict.before == .string("hunter2"))
        #expect(conflict.isHidden)
        for text in [try text(error.conflicts), String(reflecting: error), "\(error)"] {
            #expect(text.contains("secret"), "\(text)")
            #expect(!text.contains("hunter"), "\(text)")
        }
        let coded = try JSONEncoder().encode(conflict)
        let decoded = try JSONDecoder().decode(UndoConflict.self, from: coded)
        #expect(decoded.before == .null)
        #expect(decoded.isHidden)
        #expect(decoded.later == conflict.later)
        let encoder = JSONEncoder()
        encoder.userInfo[.encodesHiddenValues] = true
        #expect(
            try JSONDecoder().decode(UndoConflict.self, from: encoder.encode(conflict))
                == conflict)
    }

    /// The content of a cursor, which is base64 for URLs without padding.
    private func content(_ cursor: QueryCursor) throws -> String {
        var text = cursor.description.replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        return String(decoding: try #require(Data(base64Encoded: text)), as: UTF8.self)
    }

    @Test("Service 5 a cursor contains no hidden value, and none is made of a hidden order")
    func cursors() throws {
        try store.edit { context in
            for number in 0..<9 {
                let other = Account(name: "bob \(number)", secret: "hunter\(number)")
                other.token = "hunter3"
                context.insert(other)
            }
        }
        let query = store.fetch(Account.self) { $0.token == "hunter3" }.sorted(by: \.name)
        #expect(try query.limit(4).explain().contains("token"))
        var names: [String] = []
        var next: QueryCursor?
        repeat {
            let page = try query.page(4, after: next)
            names += page.items.map(\.name)
            next = page.next
            let content = try next.map(content)
            #expect(content?.contains("bob") ?? true)
            #expect(content?.contains("hunter") != true)
        } while next != nil
        #expect(names == ["ann"] + (0..<9).map { "bob \($0)" })
        for query in [
            store.fetch(Account.self).sorted(by: \.secret),
            store.fetch(Account.self).sorted(by: \.name).then(by: \.token),
        ] {
            let error = try #require(throws: QueryError.self) { try query.page(4) }
            #expect(error.code == .hiddenOrder)
            #expect(!error.message.contains("hunter"))
        }
    }

    @Test("Service 5 the violation of a hidden value does not contain it")
    func violations() throws {
        account.secret = "abc"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.value) == [nil])
        #expect(error.violations.map(\.property) == ["secret"])
        account.secret = "hunter6"
        context.report(account, \.secret, "{property} is too weak")
        let reported = try #require(throws: ValidationError.self) { try context.save() }
        #expect(reported.violations.map(\.value) == [nil])
    }
}
