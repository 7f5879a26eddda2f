import Stet
import StetTestSupport
import Testing

@Model private final class Review {
    #Index<Review>(\.rating, \.title)
    var rating: Int
    var title: String
    var body: String

    init(_ rating: Int, _ title: String) {
        self.rating = rating
        self.title = title
        body = "…"
    }
}

/// Says of `explain` whether a query for values reads records.
@Suite struct ExplanationTests {
    private static let fromEntries: Substring =
        "the values are those of the entries, except text that is long or not ASCII"
    private static let fromRecords: Substring = "the values are those of the records"

    private let context: ManagedContext

    init() throws {
        context = try Store.inMemory(for: Review.self).context()
        for number in 0..<500 { context.insert(Review(number % 50, "review \(number)")) }
        try context.save()
    }

    private func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

    @Test func aRangeWithAllValuesReadsNoRecord() throws {
        let query = context.fetch(Review.self) { $0.rating == 7 }
        #expect(
            lines(try query.explain(valuesOf: \.title, \.rating)) == [
                "index (rating, title): rating is 7: 10 of Review",
                Self.fromEntries, "test: rating == 7",
            ])
        #expect(
            lines(try query.explain(valuesOf: \.title, \.body)) == [
                "index (rating, title): rating is 7: 10 of Review", Self.fromRecords,
                "test: rating == 7",
            ])
        #expect(try query.explain(analyze: false) == query.explain())
    }

    @Test func aWalkWithAllValuesReadsNoRecord() throws {
        let query = context.fetch(Review.self).sorted(by: \.rating).then(by: \.title).limit(3)
        #expect(
            lines(try query.explain(valuesOf: \.title)) == [
                "walk index (rating, title) of Review in order, until the limit is reached",
                Self.fromEntries, "at most 3",
            ])
        #expect(try lines(query.explain(valuesOf: \.body))[1] == Self.fromRecords)
        // The condition reads what the entries do not have.
        let filtered = context.fetch(Review.self) { $0.rating == 7 && $0.body.hasPrefix("…") }
        #expect(try lines(filtered.explain(valuesOf: \.title))[1] == Self.fromRecords)
    }

    @Test func aScanReadsTheValues() throws {
        let query = context.fetch(Review.self) { $0.body == "…" }
        #expect(try lines(query.explain(valuesOf: \.title))[1] == Self.fromRecords)
    }

    @Test func anAnalysisRunsTheQueryForTheValues() throws {
        let query = context.fetch(Review.self) { $0.rating == 7 }
        let analysis = try lines(query.explain(analyze: true, valuesOf: \.title))
        #expect(analysis[1] == Self.fromEntries)
        #expect(analysis.last?.hasPrefix("found 10, after reading ") == true)
    }
}
