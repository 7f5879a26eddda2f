import Stet
import Testing

/// The code of PerformanceAndLimits.md.
@Suite struct PerformanceAndLimitsTests {
    @Test func aPrefetchLoadsTheReferences() throws {
        let desk = try Desk()
        try desk.saveElsewhere { $0.rating = 4 }
        let context = desk.store.context()
        let rated = try context.fetch(Article.self) { $0.rating > 0 }.prefetch(\.notebook).all()
        let names = rated.compactMap { $0.notebook?.name }  // without further reads
        #expect(names == ["Swift"])
    }

    @Test func aLabelThatIsTooLongIsRefusedAndTheEditsStay() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        article.rating = 3
        context.label = String(repeating: "x", count: Limits.labelByteCount + 1)
        do {
            try context.save(onFailure: .keepPending)
        } catch let error as StoreError where error.code == .limitExceeded {
            context.label = nil  // the edits are still pending
        }
        #expect(context.label == nil)
        #expect(article.rating == 3)
        #expect(try context.save()?.label == nil)
        #expect(try desk.stored().rating == 3)
    }
}
