import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Suite struct IdentityMapTests {
    /// Memory that the map takes for objects, with an id in each.
    private final class Objects {
        static let idOffset = 16
        private let memory: UnsafeMutableRawPointer

        init(_ ids: [ObjectID]) {
            memory = .allocate(byteCount: max(ids.count, 1) * 32, alignment: 16)
            for (number, id) in ids.enumerated() {
                memory.storeBytes(
                    of: id, toByteOffset: number * 32 + Self.idOffset, as: ObjectID.self)
            }
        }

        deinit { memory.deallocate() }

        subscript(_ number: Int) -> UnsafeRawPointer { UnsafeRawPointer(memory + number * 32) }
    }

    /// Random inserts, removals and look-ups against a dictionary; of ten inserts, so many as
    /// `removals` says are followed by a removal.
    private func compare(
        _ ids: [ObjectID], seed: UInt64, removals: Int = 3
    ) -> (matches: Bool, isScattered: Bool) {
        var generator = SeededGenerator(seed: seed)
        var map = IdentityMap(idOffset: Objects.idOffset)
        let objects = Objects(ids)
        var model: [ObjectID: UnsafeRawPointer] = [:]
        for (number, id) in ids.enumerated() {
            #expect(map.insert(id, objects[number]) == nil)
            #expect(map.insert(id, objects[0]) == objects[number])
            model[id] = objects[number]
            if Int.random(in: 0..<10, using: &generator) < removals {
                let oldest = removals < 8 ? 0 : max(number - 20, 0)
                let other = ids[Int.random(in: oldest...number, using: &generator)]
                map.remove(other)
                model[other] = nil
            }
        }
        let finds = ids.allSatisfy { map[$0] == model[$0] }
        var seen: Set<UnsafeRawPointer> = []
        map.forEach { seen.insert($0) }
        let areAll = map.count == model.count && seen == Set(model.values)
        for id in ids.shuffled(using: &generator) { map.remove(id) }
        let isEmpty = map.count == 0 && ids.allSatisfy { map[$0] == nil }
        return (finds && areAll && isEmpty && map[ObjectID()] == nil, map.isScattered)
    }

    @Test func slotsOfRemovedObjectsAreUsedAgain() {
        let ids = (0..<50_000).map { _ in ObjectID() }
        let (matches, isScattered) = compare(ids, seed: 5, removals: 10)
        #expect(matches)
        #expect(!isScattered)
    }

    @Test func mapsOfOneObjectAndOfAFewAreRight() {
        for seed in 0..<300 as Range<UInt64> {
            let ids = (0..<Int(seed % 6)).map { _ in ObjectID() }
            #expect(compare(ids, seed: seed, removals: Int(seed % 11)).matches)
        }
        var map = IdentityMap(idOffset: Objects.idOffset)
        let ids = [ObjectID(), ObjectID()]
        let objects = Objects(ids)
        map.reserve(1)
        #expect(map.insert(ids[0], objects[0]) == nil)
        map.remove(ids[1])
        #expect(map.count == 1)
        map.remove(ids[0])
        map.remove(ids[0])
        #expect(map.count == 0)
        #expect(map.insert(ids[1], objects[1]) == nil)
        map.reserve(2)
        #expect(map[ids[1]] == objects[1])
        #expect(map[ids[0]] == nil)
        #expect(map.count == 1)
    }

    @Test func idsWithEqualHashesAreToldApart() {
        var map = IdentityMap(idOffset: Objects.idOffset)
        // Halves whose exclusive or is the same have the same hash.
        let ids = (0..<40).map { ObjectID(high: UInt64($0), low: UInt64($0) ^ 0xFF00) }
        let objects = Objects(ids)
        for number in ids.indices { #expect(map.insert(ids[number], objects[number]) == nil) }
        for number in ids.indices { #expect(map[ids[number]] == objects[number]) }
        for number in ids.indices.dropFirst(20) { map.remove(ids[number]) }
        for number in ids.indices {
            #expect(map[ids[number]] == (number < 20 ? objects[number] : nil))
        }
    }

    @Test func theReservedCapacityKeepsWhatIsThere() {
        var map = IdentityMap(idOffset: Objects.idOffset)
        let ids = (0..<100).map { _ in ObjectID() }
        let objects = Objects(ids)
        for number in 0..<50 { #expect(map.insert(ids[number], objects[number]) == nil) }
        map.reserve(10_000)
        for number in 50..<100 { #expect(map.insert(ids[number], objects[number]) == nil) }
        #expect(ids.indices.allSatisfy { map[ids[$0]] == objects[$0] })
    }

    @Test func idsOfThisProcessAreFoundAndStayInRuns() {
        let (matches, isScattered) = compare((0..<50_000).map { _ in ObjectID() }, seed: 1)
        #expect(matches)
        #expect(!isScattered)
    }

    @Test func consecutiveIDsAreInNeighbouringSlots() {
        var map = IdentityMap(idOffset: Objects.idOffset)
        map.reserve(100_000)
        var last = 0
        var far = 0
        for number in 0..<10_000 {
            // As of one process: 100 in each millisecond.
            let milliseconds = 1_764_374_400_000 + UInt64(number / 100)
            let id = ObjectID(
                high: milliseconds << 16 | 0x7000 | UInt64(number % 100),
                low: .random(in: .min ... .max))
            let start = map.start(id)
            if start / 8 != last / 8 { far += 1 }
            last = start
        }
        #expect(far == 2_500)
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
