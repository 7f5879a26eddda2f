import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Embedded struct SubstringPlace {
    @Attribute(.indexed(.substring)) var city: String = ""
}

@Model final class SubstringPage {
    @Attribute(.indexed, .indexed(.substring)) var title: String = ""
    @Attribute(.indexed(.substring), .searchable) var text: String?
    var place: SubstringPlace = SubstringPlace()
    init() {}
}

/// Random searches for parts of texts, beside a matcher that knows nothing of an index.
@Suite struct SubstringOracleTests {
    /// The values of a page.
    private struct Plain: Equatable {
        var title: String
        var text: String?
        var city: String
    }

    private struct Search {
        enum Place: CaseIterable { case title, text, city }
        enum Kind: CaseIterable { case contains, prefix, suffix }

        let place: Place
        let kind: Kind
        let part: String
        let folding: TextFolding

        var label: String { "\(place) \(kind) \(part.debugDescription) \(folding.rawValue)" }

        func matches(_ page: Plain) -> Bool {
            let value =
                switch place {
                case .title: page.title as String?
                case .text: page.text
                case .city: page.city
                }
            guard let value else { return false }
            let (text, part) = (Array(value.folded(folding)), Array(part.folded(folding)))
            guard part.count <= text.count else { return false }
            switch kind {
            case .prefix: return text.starts(with: part)
            case .suffix: return text.reversed().starts(with: part.reversed())
            case .contains:
                return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
            }
        }

        func condition(_ page: SubstringPage.Fields) -> QueryExpression<Bool> {
            if place == .text {
                let text = folding.isEmpty ? page.text : page.text.folded(folding)
                return switch kind {
                case .contains: text.contains(part)
                case .prefix: text.hasPrefix(part)
                case .suffix: text.hasSuffix(part)
                }
            }
            let field = place == .city ? page.place.city : page.title
            let text = folding.isEmpty ? field : field.folded(folding)
            return switch kind {
            case .contains: text.contains(part)
            case .prefix: text.hasPrefix(part)
            case .suffix: text.hasSuffix(part)
            }
        }
    }

    private static let pieces = [
        "a", "b", "A", "ab", "e\u{301}", "\u{e9}", "e", "\u{df}", "ss", "SS", "\r\n", "\n",
        "\u{1fb3}", "\u{3b1}\u{3b9}", "\u{1112}\u{1161}", "\u{d55c}", "\u{0}",
    ]

    private static func text(
        _ range: ClosedRange<Int>, _ random: inout SeededGenerator
    ) -> String {
        (0..<Int.random(in: range, using: &random))
            .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    /// Returns a search, often for a part of a text that exists.
    private static func search(_ pages: [Plain], _ random: inout SeededGenerator) -> Search {
        var part = text(0...4, &random)
        if let title = pages.randomElement(using: &random)?.title,
            Int.random(in: 0..<3, using: &random) > 0
        {
            let characters = Array(title)
            let start = Int.random(in: 0...characters.count, using: &random)
            part = String(characters[start...].prefix(Int.random(in: 1...6, using: &random)))
        }
        return Search(
            place: Search.Place.allCases.randomElement(using: &random) ?? .title,
            kind: Search.Kind.allCases.randomElement(using: &random) ?? .contains, part: part,
            folding: TextFolding(rawValue: UInt8.random(in: 0...3, using: &random)))
    }

    @Test(arguments: 0..<repetitions(30)) func searchesAreThoseOfTheModel(seed: Int) throws {
        var random = SeededGenerator(seed: 71, stream: seed)
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: SubstringPage.self)
        let contexts = (0..<2).map { store.context(author: "author \($0)") }
        var states: [Revision: [ObjectID: Plain]] = [.zero: [:]]
        for _ in 0..<20 {
            let context = try #require(contexts.randomElement(using: &random))
            try Self.edit(context, &random)
            try Self.compare(context, &random)
            try context.endEdits(&random)
            let pages = try store.fetch(SubstringPage.self).all().map { ($0.id, Self.plain($0)) }
            let now = Dictionary(uniqueKeysWithValues: pages)
            states[store.context().revision] = now
            for _ in 0..<4 {
                let search = Self.search(Array(now.values), &random)
                let found = try store.fetch(SubstringPage.self, where: search.condition).ids()
                #expect(found == Self.hits(search, now), "\(search.label)")
                guard
                    let (revision, past) = states.sorted(by: { $0.key < $1.key })
                        .randomElement(using: &random)
                else { continue }
                let before = try store.view(asOf: revision)
                    .fetch(SubstringPage.self, where: search.condition).ids()
                #expect(before == Self.hits(search, past), "\(search.label) as of \(revision)")
            }
        }
        let problems = try store.verify().problems
        #expect(problems == [])
    }

    private static func hits(_ search: Search, _ pages: [ObjectID: Plain]) -> [ObjectID] {
        pages.filter { search.matches($0.value) }.keys.sorted()
    }

    private static func plain(_ page: SubstringPage.Snapshot) -> Plain {
        Plain(title: page.title, text: page.text, city: page.place.city)
    }

    private static func edit(
        _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let pages = try context.fetch(SubstringPage.self).all()
            switch Int.random(in: 0..<7, using: &random) {
            case 0...2:
                let page = SubstringPage()
                page.title = text(0...8, &random)
                page.text = Bool.random(using: &random) ? page.title : nil
                context.insert(page)
            case 3: if let page = pages.randomElement(using: &random) { context.delete(page) }
            case 4: pages.randomElement(using: &random)?.title = text(0...8, &random)
            case 5: pages.randomElement(using: &random)?.text = nil
            default: pages.randomElement(using: &random)?.place.city = text(0...8, &random)
            }
        }
    }

    /// Compares searches of a context with unsaved edits.
    private static func compare(
        _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        let pages = try context.fetch(SubstringPage.self).all()
        let own = Dictionary(
            uniqueKeysWithValues: pages.map {
                ($0.id, Plain(title: $0.title, text: $0.text, city: $0.place.city))
            })
        for _ in 0..<4 {
            let (one, other) = (
                search(Array(own.values), &random), search(Array(own.values), &random)
            )
            let query = context.fetch(SubstringPage.self, where: one.condition)
            #expect(try query.ids() == hits(one, own), "\(one.label)")
            #expect(try query.count() == hits(one, own).count, "\(one.label)")
            let both = context.fetch(SubstringPage.self) { page in
                one.condition(page) && other.condition(page)
            }
            let common = hits(one, own).filter(Set(hits(other, own)).contains)
            #expect(try both.ids() == common, "\(one.label) and \(other.label)")
            let either = context.fetch(SubstringPage.self) { page in
                one.condition(page) || other.condition(page)
            }
            let union = Set(hits(one, own)).union(hits(other, own)).sorted()
            #expect(try either.ids() == union, "\(one.label) or \(other.label)")
        }
    }
}
