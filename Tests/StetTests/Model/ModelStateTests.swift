import StetStore
import Testing

@testable import Stet

/// The state of an object, whose fields share words.
@Suite struct ModelStateTests {
    private final class Target {}

    @Test func aStateTakes40Bytes() {
        #expect(MemoryLayout<_ModelState>.size == 40)
    }

    @Test func revisionsAndPlacesAreIndependentOfEachOther() {
        var state = _ModelState()
        let target = Target()
        state.setTarget(target, in: 7)
        for revision in [Revision.zero, 1, Revision(UInt64(UInt32.max) + 1), .last] {
            for index in [-1, 0, 1, 65_534, 65_535, 65_536, Int32.max - 1] {
                state.revision = revision
                state.pendingIndex = index
                let (seen, place) = (state.revision, state.pendingIndex)
                #expect(seen == revision)
                #expect(place == index)
                let (table, isEditable) = (state.table, state.isFreelyEditable)
                #expect(table == nil)
                #expect(isEditable)
                let seenTarget = state.target(in: 7)
                #expect(seenTarget === target)
            }
        }
        state.pendingIndex = 65_536
        state.setTarget(nil, in: 7)
        let (isAttached, place) = (state.attached != nil, state.pendingIndex)
        #expect(!isAttached)
        #expect(place == 65_536)
    }

    @Test(arguments: [0, 253, 254, 255, 256, 1_023] as [Slot])
    func anUninsertedTargetIsFoundInEachSlotThatAModelCanHave(slot: Slot) throws {
        var state = _ModelState()
        weak var weakTarget: Target?
        do {
            let target = Target()
            weakTarget = target
            state.setTarget(target, in: slot)
        }
        let target = try #require(weakTarget)
        let found = state.target(in: slot)
        let foundNext = state.target(in: Slot(slot.index + 1))
        let slots = state.attachment.targets.map(\.slot)
        #expect(found === target)
        #expect(foundNext == nil)
        #expect(slots == [slot])
        state.setTarget(nil, in: slot)
        let isAttached = state.attached != nil
        #expect(!isAttached)
    }
}
