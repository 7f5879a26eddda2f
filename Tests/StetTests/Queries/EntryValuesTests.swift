import Foundation
import Stet
import Testing

@Model private final class Review {
    #Index<Review>(\.rating, \.title)
    var rating: Int
    var title: String
    var body: String = "…"

    init(_ rating: Int, _ title: String) {
        self.rating = rating
        self.title = title
    }
}

@Model private final class Peak {
    #Index<Peak>(\.name, \.code, \.height)
    var name: String?
    var code: UUID
    var height: Int

    init(_ name: String?, _ height: Int) {
        self.name = name
        code = UUID()
        self.height = height
    }
}

/// Values that an index contains are read from its entries: from those of a few objects at once,
/// and of many by the way that is chosen for their number.
@Suite struct EntryValuesTests {
    private let context: ManagedContext
    private let reviews: [Review]

    /// Ratings that 0, 1, 255, 256, 257 and 1,200 reviews have, some with titles that entries do
    /// not show.
    init() throws {
        context = try Store.inMemory(for: Review.self).context()
        var reviews: [Review] = []
        for (rating, count) in [0, 1, 255, 256, 257, 1_200].enumerated() {
            for number in 0..<count {
                let title = number % 50 == 7 ? "Übersicht \(number)" : "review \(number % 100)"
                reviews.append(Review(rating, title))
            }
        }
        self.reviews = reviews
        for review in reviews { context.insert(review) }
        try context.save()
    }

    private func compare() throws {
        for rating in 0...6 {
            let titles = reviews.filter { $0.rating == rating && !$0.isDeleted }.map(\.title)
            let found = context.fetch(Review.self).filter { $0.rating == rating }
            #expect(try found.values(of: \.title).sorted() == titles.sorted())
            // The index provides this order, and not the next one.
            let descending = found.sorted(by: \.title, .descending)
            #expect(try descending.values(of: \.title) == titles.sorted(by: >))
            let page = found.sorted(by: { $0.title.folded(.caseInsensitive) }).limit(20).offset(3)
            #expect(try page.values(of: \.title) == Array(titles.sorted().dropFirst(3).prefix(20)))
        }
        let count = reviews.filter { $0.rating >= 1 && !$0.isDeleted }.count
        let some = context.fetch(Review.self).filter { $0.rating >= 1 }
        #expect(try some.values(of: \.rating).count == count)
        #expect(try some.limit(5).values(of: \.rating).count == 5)
    }

    /// Values that precede another in an entry are skipped, whether the entry shows them or not.
    @Test func valuesBehindOthersAreShown() throws {
        let store = try Store.inMemory(for: Peak.self)
        let context = store.context()
        let names = [
            nil, "", "a", "a\0", "a\0b", "ab", String(repeating: "x", count: 600), "\u{e4}",
        ]
        for (height, name) in names.enumerated().reversed() { context.insert(Peak(name, height)) }
        try context.save()
        let peaks = store.fetch(Peak.self).sorted(by: \.name).then(by: \.code).then(by: \.height)
        #expect(try peaks.values(of: \.height) == Array(names.indices))
        #expect(try peaks.limit(3).offset(2).values(of: \.height) == [2, 3, 4])
        #expect(try peaks.values(of: \.name) == names)
        #expect(try peaks.values(of: \.height, \.name).map { $0.0 } == Array(names.indices))
    }

    @Test func valuesAreThoseOfTheObjects() throws {
        try compare()
        for review in reviews.prefix(3) { review.rating = 6 }
        for review in reviews.suffix(3) { review.rating = 3 }
        reviews[300].title = "changed"
        context.delete(reviews[600])
        try compare()
        try context.save()
        try compare()
    }
}
