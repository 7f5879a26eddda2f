/// The references that retain the objects with pending changes, in the order of these.
struct ObjectHolders {
    private var references: [AnyObject?] = []
    /// The number of objects that are retained, which is asked for whenever an object dies.
    private(set) var heldCount = 0

    /// Creates holders that retain all of these objects.
    init(_ objects: [AnyObject] = []) {
        references = objects
        heldCount = objects.count
    }

    var count: Int { references.count }

    func holds(_ index: Int) -> Bool { references[index] != nil }

    /// Appends an object, which is retained only if nothing else does so.
    mutating func append(_ object: AnyObject, isHeldElsewhere: Bool) {
        references.append(isHeldElsewhere ? nil : object)
        if !isHeldElsewhere { heldCount += 1 }
    }

    /// Appends what other holders have at an index.
    mutating func append(_ index: Int, of others: ObjectHolders) {
        references.append(others.references[index])
        if others.holds(index) { heldCount += 1 }
    }

    /// Removes the object at an index, which the last one replaces; the result retains it.
    mutating func remove(at index: Int) -> AnyObject? {
        references.swapAt(index, references.count - 1)
        let removed = references.removeLast()
        if removed != nil { heldCount -= 1 }
        return removed
    }

    /// Removes the objects from an index on; the result retains them.
    mutating func removeAll(from index: Int) -> [AnyObject] {
        let removed = references[index...].compactMap { $0 }
        heldCount -= removed.count
        references.removeSubrange(index...)
        return removed
    }

    /// Releases the objects that something else retains, too.
    mutating func releaseObjectsHeldElsewhere() {
        for index in references.indices where references[index] != nil {
            if isKnownUniquelyReferenced(&references[index]) { continue }
            references[index] = nil
            heldCount -= 1
        }
    }
}
