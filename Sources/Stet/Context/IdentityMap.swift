import StetStore

/// The objects of one entity that are alive in a context, by id.
///
/// It does not retain them.
///
/// Open addressing with linear probing in one block of memory: an insert costs a few nanoseconds,
/// where a `Dictionary` takes about sixty.
struct IdentityMap: ~Copyable {
    private struct Slot {
        var id: ObjectID
        var object: UnsafeRawPointer?

        /// Returns whether the slot has an id; `==`, which is in another module, would be a call.
        func has(_ id: ObjectID) -> Bool { self.id.low == id.low && self.id.high == id.high }
    }

    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private(set) var count = 0
    /// False while neighbouring ids share a run of slots; see `start(_:)`.
    private(set) var isScattered = false
    /// The probe length above which the ids are considered unsuited to runs.
    private static let probeLimit = 512

    /// The slots of an empty map; never written to.
    nonisolated(unsafe) private static let noSlots = allocate(1)
    private static let smallestCapacity = 16

    init() {
        slots = Self.noSlots
        mask = 0
    }

    deinit { deallocate(slots) }

    private func deallocate(_ slots: UnsafeMutablePointer<Slot>) {
        if slots != Self.noSlots { slots.deallocate() }
    }

    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        slots.initialize(repeating: Slot(id: .none, object: nil), count: capacity)
        return slots
    }

    /// Returns the slot where the search for an id begins.
    ///
    /// Consecutive ids of one process differ by about 2^31. Four of them usually share a run of
    /// eight slots, so that reading or making objects in the order of ids also touches memory in
    /// order: random slots would cost a cache miss each. Ids of another kind may crowd into few
    /// runs; a long probe reveals that, and from then on each id is hashed to a slot of its own.
    @inline(__always)
    private func start(_ id: ObjectID) -> Int {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        if isScattered {
            return Int(truncatingIfNeeded: ((id.low ^ id.high &* factor) &* factor) >> 32) & mask
        }
        let run = ((id.low >> 33 ^ id.high &* factor) &* factor) >> 32
        return Int(truncatingIfNeeded: run << 3 | id.low >> 30 & 7) & mask
    }

    subscript(_ id: ObjectID) -> UnsafeRawPointer? {
        var index = start(id)
        while let object = slots[index].object {
            if slots[index].has(id) { return object }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Inserts an object; returns the object that already has the id, which then stays.
    mutating func insert(_ id: ObjectID, _ object: UnsafeRawPointer) -> UnsafeRawPointer? {
        if (count + 1) * 4 > (mask + 1) * 3 { grow(to: max((mask + 1) * 2, Self.smallestCapacity)) }
        if let present = place(id, object) { return present }
        count += 1
        return nil
    }

    @discardableResult
    private mutating func place(
        _ id: ObjectID, _ object: UnsafeRawPointer
    ) -> UnsafeRawPointer? {
        var index = start(id)
        var probes = 0
        while let present = slots[index].object {
            if slots[index].has(id) { return present }
            index = (index + 1) & mask
            probes += 1
        }
        slots[index] = Slot(id: id, object: object)
        if probes > Self.probeLimit, !isScattered {
            isScattered = true
            grow(to: mask + 1)
        }
        return nil
    }

    /// Reserves room for a total number of objects.
    mutating func reserve(_ expected: Int) {
        var capacity = max(mask + 1, Self.smallestCapacity)
        while expected * 4 > capacity * 3 { capacity *= 2 }
        if capacity > mask + 1 { grow(to: capacity) }
    }

    private mutating func grow(to capacity: Int) {
        let old = slots
        let oldCount = mask + 1
        slots = Self.allocate(capacity)
        mask = capacity - 1
        for index in 0..<oldCount {
            if let object = old[index].object { place(old[index].id, object) }
        }
        deallocate(old)
    }

    /// Removes an id; does nothing when the id is absent.
    mutating func remove(_ id: ObjectID) {
        var hole = start(id)
        while slots[hole].object != nil, !slots[hole].has(id) { hole = (hole + 1) & mask }
        guard slots[hole].object != nil else { return }
        count -= 1
        // Moves later entries up, so that no probe ends at the hole.
        var next = (hole + 1) & mask
        while slots[next].object != nil {
            let home = start(slots[next].id)
            if (next &- home) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole].object = nil
    }

    func forEach(_ body: (UnsafeRawPointer) -> Void) {
        if count == 0 { return }
        for index in 0...mask {
            if let object = slots[index].object { body(object) }
        }
    }
}
