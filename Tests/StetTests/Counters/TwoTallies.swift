import Stet
import StetTestModels
import StetTestSupport
import Testing

/// A saved tally of 0 in two contexts, of which the first has the policy.
struct TwoTallies {
    private let directory = TemporaryDirectory()
    let store: Store
    let context: ManagedContext
    let mine: Tally
    let other: ManagedContext
    let theirs: Tally

    init(_ policy: MergePolicy = .fail, level: Int8 = 0) throws {
        store = try Store.open(at: directory.file(), for: Tally.self)
        context = store.context(author: "me")
        context.mergePolicy = policy
        mine = Tally()
        mine.level = level
        context.insert(mine)
        try context.save("first")
        other = store.context(author: "other")
        theirs = try #require(try other.object(Tally.self, id: mine.id))
    }

    /// The tally as a fresh context reads it; nil when it is deleted.
    func stored() throws -> Tally.Snapshot? {
        #expect(try store.verify().problems == [])
        return try store.context().object(Tally.self, id: mine.id)?.snapshot
    }

    /// Saves what the other context has pending; callable from asynchronous code.
    func saveOther() throws { try other.save() }

    var path: String { directory.file() }
}
