import Stet
import StetTestSupport
import Testing

@Model private final class Dish {
    @Attribute(.indexed([.caseInsensitive, .diacriticInsensitive])) var name: String

    init(_ name: String) { self.name = name }
}

@Suite struct FoldedRangeTests {
    private static let folding: TextFolding = [.caseInsensitive, .diacriticInsensitive]

    /// Names in the order of folded texts, which is not that of their bytes.
    private static let names = ["Apfel", "Éclair", "Fondue", "ñoquis", "Zander"]

    @Test("an index of folded texts applies the tighter of two bounds", arguments: names, names)
    func tighterBounds(one: String, other: String) throws {
        let directory = TemporaryDirectory()
        let context = try Store.open(at: directory.file(), for: Dish.self).context()
        for name in Self.names { context.insert(Dish(name)) }
        try context.save()
        let (first, second) = try (place(one), place(other))

        let above = context.fetch(Dish.self) {
            $0.name.folded(Self.folding) > one
            $0.name.folded(Self.folding) > other
        }
        #expect(
            try Set(above.values(of: \.name)) == Set(Self.names[(max(first, second) + 1)...]))
        let upTo = context.fetch(Dish.self) {
            $0.name.folded(Self.folding) <= one
            $0.name.folded(Self.folding) <= other
        }
        #expect(try Set(upTo.values(of: \.name)) == Set(Self.names[...min(first, second)]))
        #expect(try above.explain().hasPrefix("index (name case-insensitive"))
    }

    private func place(_ name: String) throws -> Int {
        try #require(Self.names.firstIndex(of: name))
    }
}
