import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Account {
    @Attribute(.unique) var name: String
    @Attribute(.hidden, .length(4...)) var secret: String
    @Attribute(.hidden) var token: String?

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
            #expect(text.contains("ann") && !text.contains("hunter"), "\(text)")
        }
    }

    @Test("Service 5 a snapshot is decoded with the hidden values that are there or optional")
    func decoding() throws {
        let id = account.id
        let whole = #"{"id":"\#(id)","name":"bob","secret":"12345"}"#
        let snapshot = try JSONDecoder().decode(Account.Snapshot.self, from: Data(whole.utf8))
        #expect(snapshot.name == "bob" && snapshot.secret == "12345" && snapshot.token == nil)
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
            #expect(text.contains(#""secret":{"hidden":true}"#) && !text.contains("hunter"))
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
        #expect(account.name == "bob" && account.secret == "hunter2")
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

    @Test("Service 5 the violation of a hidden value does not contain it")
    func violations() throws {
        account.secret = "abc"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.value) == [nil])
        #expect(error.violations.map(\.property) == ["secret"])
    }
}
