import StetStore
import StetTestSupport
import Testing

/// Members in a wanted order: which of them get other positions.
struct ListArrangementTests {
    private func id(_ number: Int) -> ObjectID { ObjectID(high: 1, low: UInt64(number)) }

    /// The most members that are in the same order in both lists.
    private func longestCommonRun(_ one: ArraySlice<Int>, _ other: ArraySlice<Int>) -> Int {
        guard let first = one.first else { return 0 }
        let without = longestCommonRun(one.dropFirst(), other)
        guard let place = other.firstIndex(of: first) else { return without }
        return max(without, 1 + longestCommonRun(one.dropFirst(), other[(place + 1)...]))
    }

    @Test func theOrderIsTheWantedOneAndAsFewAsPossibleMove() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let present = Array((0..<7).shuffled(using: &random).prefix(.random(in: 0...7)))
            let wanted = Array((0..<8).shuffled(using: &random).prefix(.random(in: 0...8)))
            let positions = try #require(
                ListPosition.spread(present.count, between: nil, and: nil))
            let places = zip(present, positions).map { MemberPlace($1, id($0)) }
            let arranged = ListPlacement.arrange(wanted.map(id), from: places)
            #expect(arranged.map(\.id) == wanted.map(id))
            #expect(arranged.allSatisfy { $0.position != nil })
            #expect(arranged == arranged.sorted())
            let stayingCount = arranged.count { places.contains($0) }
            #expect(stayingCount == longestCommonRun(wanted[...], present[...]))
        }
    }

    @Test func membersThatShareAPositionAreParted() throws {
        let places = (0..<4).map { MemberPlace(.first, id($0)) }
        let arranged = ListPlacement.arrange([2, 0, 3, 1].map(id), from: places)
        #expect(arranged.map(\.id) == [2, 0, 3, 1].map(id))
        #expect(Set(arranged.map(\.position)).count == 4)
        #expect(arranged == arranged.sorted())
    }
}
