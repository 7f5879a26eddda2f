import StetTestSupport
import Testing

@testable import StetStore

/// Words near each other, against the definition.
struct TextNearnessTests {
    @Test(arguments: 0..<200)
    func startsAndPlacesAreThoseOfTheDefinition(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let span = Int.random(in: 1...6, using: &random)
        let lists = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            Set(
                (0..<Int.random(in: 0...8, using: &random)).map { _ in
                    TextNearness.place(
                        Int.random(in: 0...1, using: &random), .random(in: 0..<20, using: &random))
                }
            ).sorted()[...]
        }
        let all = Set(lists.joined()).sorted()
        let starts = all.filter { start in
            lists.allSatisfy { list in list.contains { (start..<start + span).contains($0) } }
        }
        #expect(TextNearness.starts(lists, span: span) == starts)
        let places = all.filter { place in
            starts.contains { (place - span + 1...place).contains($0) }
        }
        #expect(TextNearness.places(lists, from: starts, span: span) == places)
    }

    /// Each word is near each other one: what compared all pairs would not end in an hour.
    @Test(.timeLimit(.minutes(5)))
    func aLargeTextOfTheSearchedWordsIsSearchedInOnePass() {
        let count = 300_000
        let text = String(repeating: "a b ", count: count)
        let query = TextQuery("\"a b\"~9999")
        #expect(query.ranges(in: text).count == 2 * count)
    }
}
