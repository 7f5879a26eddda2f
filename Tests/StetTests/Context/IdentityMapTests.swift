import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Suite struct IdentityMapTests {
    /// Random inserts, removals and look-ups against a dictionary.
    private func compare(_ ids: [ObjectID], seed: UInt64) -> (matches: Bool, isScattered: Bool) {
        var generator = SeededGenerator(seed: seed)
        var map = IdentityMap()
        var model: [ObjectID: UnsafeRawPointer] = [:]
        for (number, id) in ids.enumerated() {
            let pointer = UnsafeRawPointer(bitPattern: (number + 1) * 16)!
            #expect(map.insert(id, pointer) == nil)
            model[id] = pointer
            if Int.random(in: 0..<3, using: &generator) == 0 {
                let other = ids[Int.random(in: 0...number, using: &generator)]
                map.remove(other)
                model[other] = nil
            }
        }
        let finds = ids.allSatisfy { map[$0] == model[$0] }
        var seen = 0
        map.forEach { _ in seen += 1 }
        return (
            finds && map.count == model.count && seen == model.count && map[ObjectID()] == nil,
            map.isScattered
        )
    }

    @Test func idsOfThisProcessAreFoundAndStayInRuns() {
        let (matches, isScattered) = compare((0..<50_000).map { _ in ObjectID() }, seed: 1)
        #expect(matches)
        #expect(!isScattered)
    }

    @Test func idsThatDifferInTheirLowBitsOnlyAreFoundWithoutLongProbes() {
        let ids = (1...50_000).map { ObjectID(high: 0, low: UInt64($0)) }
        let (matches, isScattered) = compare(ids, seed: 2)
        #expect(matches)
        #expect(isScattered)
    }

    @Test func randomIDsAreFound() {
        var generator = SeededGenerator(seed: 3)
        let ids = (0..<50_000).map { _ in
            ObjectID(high: generator.next(), low: generator.next() | 1)
        }
        #expect(compare(ids, seed: 4).matches)
    }
}
