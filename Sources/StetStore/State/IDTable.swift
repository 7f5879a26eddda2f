/// Elements by the ids of objects, in a hash table of one block of memory.
///
/// For one thread and for ids that are only added: a look-up takes a few nanoseconds and counts no
/// references but those of the element, where a `Dictionary` in an object also counts its own.
struct IDTable<Element>: ~Copyable {
    /// An entry, which is empty when its id is that of no object; then it has no element.
    private struct Entry {
        let id: ObjectID
        var element: Element
    }

    private var entries: UnsafeMutablePointer<Entry>?
    /// The number of entries, a power of two, less one.
    private var mask = 0
    private(set) var count = 0

    private static var smallestCapacity: Int { 16 }

    deinit {
        guard let entries else { return }
        for place in 0...mask where Self.id(entries, place) != .none {
            (entries + place).deinitialize(count: 1)
        }
        entries.deallocate()
    }

    /// The element of an id; nil when there is none.
    subscript(_ id: ObjectID) -> Element? {
        guard let entries, id != .none else { return nil }
        let place = place(of: id, entries)
        return Self.id(entries, place) == id ? entries[place].element : nil
    }

    /// Sets the element of the id of an object.
    mutating func set(_ element: Element, of id: ObjectID) {
        if id == .none { return }
        if (count + 1) * 4 > capacity * 3 { grow() }
        // Not nil: it has room for one more.
        let entries = entries!
        let place = place(of: id, entries)
        if Self.id(entries, place) == id { return entries[place].element = element }
        (entries + place).initialize(to: Entry(id: id, element: element))
        count += 1
    }

    private var capacity: Int { entries == nil ? 0 : mask + 1 }

    /// Returns the place of an id, or the empty one where it belongs.
    @inline(__always)
    private func place(of id: ObjectID, _ entries: UnsafeMutablePointer<Entry>) -> Int {
        var place = id._rawHashValue(seed: 0) & mask
        while true {
            let present = Self.id(entries, place)
            if present == id || present == .none { return place }
            place = (place + 1) & mask
        }
    }

    /// Returns the id of an entry, which is its first field.
    @inline(__always)
    private static func id(_ entries: UnsafeMutablePointer<Entry>, _ place: Int) -> ObjectID {
        UnsafeRawPointer(entries + place).load(as: ObjectID.self)
    }

    private mutating func grow() {
        let (old, oldCapacity) = (entries, capacity)
        let newCapacity = max(oldCapacity * 2, Self.smallestCapacity)
        let new = UnsafeMutablePointer<Entry>.allocate(capacity: newCapacity)
        for place in 0..<newCapacity {
            UnsafeMutableRawPointer(new + place).storeBytes(of: .none, as: ObjectID.self)
        }
        (entries, mask) = (new, newCapacity - 1)
        guard let old else { return }
        for place in 0..<oldCapacity {
            let id = Self.id(old, place)
            if id == .none { continue }
            (new + self.place(of: id, new)).moveInitialize(from: old + place, count: 1)
        }
        old.deallocate()
    }
}
