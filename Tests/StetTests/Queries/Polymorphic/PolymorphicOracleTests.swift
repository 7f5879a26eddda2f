import Foundation
import Stet
import StetTestSupport
import Testing

/// Random queries of three models find what a plain closure finds among all their objects.
@Suite struct PolymorphicOracleTests {
    typealias Query = PolymorphicFetch<PostableModels>

    /// A condition for the store, and for one object.
    private struct Condition {
        let query: (PostableModels) -> QueryExpression<Bool>
        let test: (any Postable) -> Bool
    }

    /// An order for the store, and whether one object comes before another with another key.
    private struct Order {
        let isDescendingByID: Bool
        let query: (Query) -> Query
        let compare: (any Postable, any Postable) -> Int
    }

    private static let words = ["a", "b", "é", "bb", ""]

    private func condition(_ random: inout SeededGenerator) -> Condition {
        let (number, word) = (
            Int.random(in: 0..<4, using: &random), Self.words.randomElement(using: &random)!
        )
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
            return Condition(query: { $0.postedAt >= number }) {
                $0.postedAt.map { $0 >= number } ?? false
            }
        case 1: return Condition(query: { $0.postedAt == nil }) { $0.postedAt == nil }
        case 2: return Condition(query: { $0.title == word }) { $0.title == word }
        case 3: return Condition(query: { $0.title.hasPrefix(word) }) { $0.title.hasPrefix(word) }
        case 4: return Condition(query: { $0.score < Double(number) }) { $0.score < Double(number) }
        case 5:
            return Condition(query: { $0.poster?.name == word }) { $0.poster?.name == word }
        case 6:
            return Condition(query: { $0.place.city == word || $0.poster == nil }) {
                $0.place.city == word || $0.poster == nil
            }
        case 7:
            return Condition(query: { $0.place.floor > number && $0.title != word }) {
                $0.place.floor.map { $0 > number } ?? false && $0.title != word
            }
        case 8: return Condition(query: { $0.annex?.city == word }) { $0.annex?.city == word }
        case 9:
            return Condition(query: { $0.annex == nil || $0.title == word }) {
                $0.annex == nil || $0.title == word
            }
        default: return Condition(query: { _ in .always }) { _ in true }
        }
    }

    private func order(_ random: inout SeededGenerator) -> Order {
        let isDescending = Bool.random(using: &random)
        let direction: SortDirection = isDescending ? .descending : .ascending
        let sign = isDescending ? -1 : 1
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return Order(isDescendingByID: false, query: { $0 }) { _, _ in 0 }
        case 1:
            return Order(isDescendingByID: isDescending) {
                $0.sorted(by: \.postedAt, direction)
            } compare: {
                sign * compared($0.postedAt, $1.postedAt)
            }
        case 2:
            return Order(isDescendingByID: false) {
                $0.sorted(by: \.title, direction).then(by: \.score)
            } compare: {
                let byTitle = sign * compared($0.title, $1.title)
                return byTitle == 0 ? compared($0.score, $1.score) : byTitle
            }
        case 3:
            return Order(isDescendingByID: isDescending) {
                $0.sorted(by: \.poster?.name, direction)
            } compare: {
                sign * compared($0.poster?.name, $1.poster?.name)
            }
        case 4:
            return Order(isDescendingByID: isDescending) {
                $0.sorted(by: \.place.floor).then(by: \.poster?.name, direction)
            } compare: {
                let byFloor = compared($0.place.floor, $1.place.floor)
                return byFloor == 0 ? sign * compared($0.poster?.name, $1.poster?.name) : byFloor
            }
        default:
            return Order(isDescendingByID: isDescending) {
                $0.sorted(by: { $0.score * 2 }, direction)
            } compare: {
                sign * compared($0.score, $1.score)
            }
        }
    }

    private func compared<T: Comparable>(_ one: T?, _ other: T?) -> Int {
        switch (one, other) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let one?, let other?): one < other ? -1 : one > other ? 1 : 0
        }
    }

    private func fill(
        _ post: some Postable, _ posters: [Poster], _ random: inout SeededGenerator
    ) {
        post.title = Self.words.randomElement(using: &random)!
        post.postedAt = [nil, 0, 1, 2, 3].randomElement(using: &random)!
        post.score = [0, 0.5, 1, 2.5].randomElement(using: &random)!
        post.poster = Bool.random(using: &random) ? posters.randomElement(using: &random) : nil
        post.place = PostPlace(
            city: Self.words.randomElement(using: &random)!,
            floor: [nil, 1, 2].randomElement(using: &random)!)
        post.annex = Bool.random(using: &random) ? post.place : nil
    }

    private func edit(
        _ context: ManagedContext, count: Int, _ random: inout SeededGenerator
    ) throws {
        let posters = try context.fetch(Poster.self).sorted(by: \.id).all()
        for _ in 0..<count {
            let posts = try context.fetch(any: PostableModels.self).all()
            switch Int.random(in: 0..<6, using: &random) {
            case 0: if let post = posts.randomElement(using: &random) { context.delete(post) }
            case 1, 2:
                if let post = posts.randomElement(using: &random) { fill(post, posters, &random) }
            case 3: insert(Story(), context, posters, &random)
            case 4: insert(Picture(), context, posters, &random)
            default: insert(Clip(), context, posters, &random)
            }
        }
    }

    private func insert(
        _ post: some Postable, _ context: ManagedContext, _ posters: [Poster],
        _ random: inout SeededGenerator
    ) {
        fill(post, posters, &random)
        context.insert(post)
    }

    private func everything(_ context: ManagedContext) throws -> [any Postable] {
        let stories: [any Postable] = try context.fetch(Story.self).all()
        return try stories + context.fetch(Picture.self).all() + context.fetch(Clip.self).all()
    }

    private func compare(_ context: ManagedContext, _ random: inout SeededGenerator) throws {
        let (condition, order) = (condition(&random), order(&random))
        let query = order.query(
            context.fetch(any: PostableModels.self, where: { condition.query($0) }))
        let wanted = try everything(context).filter(condition.test).sorted { one, other in
            let result = order.compare(one, other)
            if result != 0 { return result < 0 }
            return order.isDescendingByID ? one.id > other.id : one.id < other.id
        }.map { $0.id }
        #expect(try query.ids() == wanted)
        #expect(try query.all().map { $0.id } == wanted)
        #expect(try query.count() == wanted.count)
        #expect(try query.exists() == !wanted.isEmpty)
        #expect(try query.first()?.id == wanted.first)
        let (skipped, limit) = (
            Int.random(in: 0..<5, using: &random), Int.random(in: 0..<8, using: &random)
        )
        let part = query.offset(skipped).limit(limit)
        #expect(try part.all().map { $0.id } == Array(wanted.dropFirst(skipped).prefix(limit)))
        #expect(try part.count() == min(max(wanted.count - skipped, 0), limit))
        let size = Int.random(in: 1..<6, using: &random)
        var (paged, cursor): ([ObjectID], QueryCursor?) = ([], nil)
        repeat {
            let page = try query.objects(size, after: cursor)
            #expect(page.objects.count == size || page.next == nil)
            paged += page.objects.map { $0.id }
            cursor = page.next
        } while cursor != nil
        #expect(paged == wanted)
    }

    @Test(arguments: 0..<4) func randomQueriesFindWhatAPlainClosureFinds(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let directory = TemporaryDirectory()
        let store = try Store.open(
            at: directory.file(), for: Story.self, Picture.self, Clip.self, Poster.self)
        let writer = store.context()
        for name in Self.words { writer.insert(Poster(name)) }
        try writer.save()
        for round in 0..<repetitions(12) {
            try edit(writer, count: 12, &random)
            try writer.save()
            let reader = store.context()
            if round % 3 == 1 {
                // The reader does not see later commits of others.
                try edit(writer, count: 4, &random)
                try writer.save()
            }
            if round % 2 == 1 { try edit(reader, count: 6, &random) }
            for _ in 0..<8 { try compare(reader, &random) }
        }
    }
}
