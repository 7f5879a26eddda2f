import StetStore

/// The objects of one entity that are alive in a context, by id.
///
/// It does not retain them, and reads their ids where they are: an object must have its id while it
/// is in the map.
///
/// Open addressing with linear probing in one block of memory, of 8 bytes for each slot: an insert
/// costs a few nanoseconds, where a `Dictionary` takes about sixty. A single object needs no
/// memory: many contexts read only one.
struct IdentityMap: ~Copyable {
    /// A slot: the object's address, and 16 bits of its id's hash, the lowest of which is always 1.
    private typealias Slot = TaggedAddress

    private static var empty: Slot { .none }
    /// Stands in the middle of a cluster only: before an empty slot there is always an object.
    private static var removed: Slot { TaggedAddress(nil, tag: 2) }

    /// The slots; memory only while there are several.
    private var slots = UnsafeMutablePointer<Slot>(bitPattern: MemoryLayout<Slot>.alignment)!
    /// The only slot, while there are not several.
    private var single = empty
    /// The number of slots less 1; the number is a power of two.
    private var mask = 0
    private(set) var count = 0
    /// The number of slots that are not empty.
    private var usedCount = 0
    /// The offset of the id in each object; nil before the first insertion.
    var idOffset: Int?
    /// False while neighbouring ids share a run of slots; see `start(_:)`.
    private(set) var isScattered = false
    /// The probe length above which the ids are considered unsuited to runs.
    private static let probeLimit = 512

    private static let smallestCapacity = 16

    init(idOffset: Int? = nil) { self.idOffset = idOffset }

    deinit { if hasSeveralSlots { slots.deallocate() } }

    private var hasSeveralSlots: Bool { mask > 0 }

    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        slots.initialize(repeating: empty, count: capacity)
        return slots
    }

    /// Returns the slot where the search for an id begins.
    ///
    /// The first halves of consecutive ids of one process and millisecond differ by 1. Four of them
    /// share a run of eight slots, so that work in the order of ids also touches memory in order:
    /// random slots would cost a cache miss each. Ids of another kind may crowd into few runs; a
    /// long probe reveals that, and from then on each id is hashed to a slot of its own.
    @inline(__always)
    func start(_ id: ObjectID) -> Int {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        if isScattered {
            return Int(truncatingIfNeeded: ((id.low ^ id.high &* factor) &* factor) >> 32) & mask
        }
        let run = ((id.high >> 2) &* factor) >> 40
        return Int(truncatingIfNeeded: run << 3 | (id.high & 3) << 1) & mask
    }

    /// Returns the upper bits of an id's slot.
    @inline(__always)
    private func tag(_ id: ObjectID) -> UInt16 {
        UInt16(truncatingIfNeeded: ((id.low ^ id.high) &* 0xD6E8_FEB8_6659_FD93) >> 48) | 1
    }

    private func object(_ slot: Slot) -> UnsafeRawPointer {
        // Not nil: a slot with an object has an address.
        UnsafeRawPointer(slot.address!)
    }

    private func id(_ object: UnsafeRawPointer) -> ObjectID {
        object.loadUnaligned(fromByteOffset: idOffset ?? 0, as: ObjectID.self)
    }

    /// Returns whether a slot is that of an object with an id.
    @inline(__always)
    private func has(_ slot: Slot, _ id: ObjectID, _ tag: UInt16) -> Bool {
        guard slot.tag == tag else { return false }
        let own = self.id(object(slot))
        // `==`, which is in another module, would be a call.
        return own.low == id.low && own.high == id.high
    }

    subscript(_ id: ObjectID) -> UnsafeRawPointer? {
        let tag = tag(id)
        if !hasSeveralSlots { return has(single, id, tag) ? object(single) : nil }
        var index = start(id)
        while slots[index] != Self.empty {
            if has(slots[index], id, tag) { return object(slots[index]) }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Inserts an object; returns the object that already has the id, which then stays.
    mutating func insert(_ id: ObjectID, _ object: UnsafeRawPointer) -> UnsafeRawPointer? {
        TaggedAddress.check(object)
        let tag = tag(id)
        if !hasSeveralSlots {
            if has(single, id, tag) { return self.object(single) }
            if count == 0 {
                single = TaggedAddress(object, tag: tag)
                count = 1
                return nil
            }
            move(to: Self.smallestCapacity)
        }
        if (usedCount + 1) * 4 > (mask + 1) * 3 { makeRoom() }
        var index = start(id)
        var free: Int?
        var probes = 0
        while slots[index] != Self.empty {
            if has(slots[index], id, tag) { return self.object(slots[index]) }
            if slots[index] == Self.removed { free = free ?? index }
            index = (index + 1) & mask
            probes += 1
        }
        if free == nil { usedCount += 1 }
        slots[free ?? index] = TaggedAddress(object, tag: tag)
        count += 1
        if probes > Self.probeLimit { scatter() }
        return nil
    }

    /// Reserves room for a total number of objects.
    mutating func reserve(_ expected: Int) {
        if !hasSeveralSlots && expected <= 1 { return }
        var capacity = max(mask + 1, Self.smallestCapacity)
        while expected * 4 > capacity * 3 { capacity *= 2 }
        if capacity > mask + 1 { move(to: capacity) }
    }

    /// Doubles the capacity, unless removed objects take most of it.
    private mutating func makeRoom() {
        let capacity = mask + 1
        move(to: count * 2 < capacity ? capacity : capacity * 2)
    }

    private mutating func scatter() {
        if isScattered { return }
        isScattered = true
        move(to: mask + 1)
    }

    private mutating func move(to capacity: Int) {
        let old = (slots: slots, count: mask + 1, single: single)
        slots = Self.allocate(capacity)
        mask = capacity - 1
        usedCount = count
        if old.count == 1 {
            single = Self.empty
            if old.single != Self.empty { _ = place(old.single) }
            return
        }
        var longest = 0
        for index in 0..<old.count where old.slots[index].address != nil {
            longest = max(longest, place(old.slots[index]))
        }
        old.slots.deallocate()
        if longest > Self.probeLimit { scatter() }
    }

    /// Puts an object into the first free slot; returns the number of slots before it.
    private func place(_ slot: Slot) -> Int {
        var index = start(id(object(slot)))
        var probes = 0
        while slots[index] != Self.empty {
            index = (index + 1) & mask
            probes += 1
        }
        slots[index] = slot
        return probes
    }

    /// Removes an id; does nothing when the id is absent.
    mutating func remove(_ id: ObjectID) {
        let tag = tag(id)
        if !hasSeveralSlots {
            guard has(single, id, tag) else { return }
            (single, count) = (Self.empty, 0)
            return
        }
        var index = start(id)
        while !has(slots[index], id, tag) {
            if slots[index] == Self.empty { return }
            index = (index + 1) & mask
        }
        count -= 1
        slots[index] = Self.removed
        guard slots[(index + 1) & mask] == Self.empty else { return }
        while slots[index] == Self.removed {
            slots[index] = Self.empty
            usedCount -= 1
            index = (index - 1) & mask
        }
    }

    func forEach(_ body: (UnsafeRawPointer) -> Void) {
        if count == 0 { return }
        if !hasSeveralSlots { return body(object(single)) }
        for index in 0...mask where slots[index].address != nil { body(object(slots[index])) }
    }
}
