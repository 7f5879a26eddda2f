import StetTestSupport
import Testing

@testable import Stet

struct ObjectHoldersTests {
    private final class Thing {}

    /// A plain model: the objects that holders retain, nil for those that they do not.
    @Test(arguments: 1...20) func holdersCountWhatTheyRetain(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var holders = ObjectHolders()
        var model: [Thing?] = []
        var outside: [Thing] = []
        for _ in 0..<2_000 {
            switch random.next() % 12 {
            case 0...4:
                let thing = Thing()
                let isHeldElsewhere = random.next() % 3 == 0
                if isHeldElsewhere || random.next() % 3 == 0 { outside.append(thing) }
                holders.append(thing, isHeldElsewhere: isHeldElsewhere)
                model.append(isHeldElsewhere ? nil : thing)
            case 5...8 where !model.isEmpty:
                let index = Int(random.next() % UInt64(model.count))
                model.swapAt(index, model.count - 1)
                #expect(holders.remove(at: index) === model.removeLast())
            case 9 where !model.isEmpty:
                let index = model.count - Int(random.next() % UInt64(min(model.count, 4)))
                let removed = holders.removeAll(from: index)
                let expected = model[index...].compactMap { $0 }
                #expect(removed.map(ObjectIdentifier.init) == expected.map(ObjectIdentifier.init))
                model.removeSubrange(index...)
            case 10:
                var copy = ObjectHolders()
                for index in model.indices { copy.append(index, of: holders) }
                holders = copy
            default:
                // The model itself must not retain what the holders look at.
                let held = model.map { $0.map { ObjectIdentifier($0) } }
                model = []
                expectRelease(
                    &holders, of: held, outside: Set(outside.map { ObjectIdentifier($0) }))
                outside = []
                holders = ObjectHolders()
            }
            #expect(holders.count == model.count)
            #expect(holders.heldCount == model.count { $0 != nil })
            #expect(model.indices.allSatisfy { holders.holds($0) == (model[$0] != nil) })
        }
    }

    private func expectRelease(
        _ holders: inout ObjectHolders, of held: [ObjectIdentifier?],
        outside: Set<ObjectIdentifier>
    ) {
        holders.releaseObjectsHeldElsewhere()
        let expected = held.map { id in id.map { !outside.contains($0) } ?? false }
        #expect(held.indices.map { holders.holds($0) } == expected)
        #expect(holders.heldCount == expected.count { $0 })
    }
}
