import Stet
import StetTestModels
import Testing

/// A saved article in two contexts, of which the first has the policy.
struct TwoContexts {
    let scratch: Scratch
    let context: ManagedContext
    let mine: Article
    let other: ManagedContext
    let theirs: Article

    init(_ policy: MergePolicy) throws {
        scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        self.context = context
        mine = article
        context.mergePolicy = policy
        other = scratch.store.context(author: "other")
        theirs = try #require(try other.object(Article.self, id: article.id))
    }

    /// Title, body, rating and notebook as a fresh context reads them; nil when it is deleted.
    func stored() throws -> Article.Snapshot? {
        #expect(try scratch.store.verify().problems == [])
        return try scratch.store.context().object(Article.self, id: mine.id)?.snapshot
    }
}
