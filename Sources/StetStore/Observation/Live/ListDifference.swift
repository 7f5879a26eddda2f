/// The difference between two lists of objects: removals and insertions, including objects that are
/// in both and have moved among the others.
package struct ListDifference {
    /// An object and its place.
    typealias Place = (offset: Int, id: ObjectID)

    /// The removals, in ascending order of the places in the old list.
    private var removals: [Place]
    /// The insertions, in ascending order of the places in the new list.
    private var insertions: [Place]

    /// Creates the difference between two lists.
    ///
    /// - Complexity: O(count · log count).
    package init(from old: [ObjectID], to new: [ObjectID]) {
        let oldPlaces = Dictionary(uniqueKeysWithValues: zip(old, old.indices))
        let common = new.enumerated().compactMap { offset, id in
            oldPlaces[id].map { (offset: offset, old: $0, id: id) }
        }
        let staying = Set(common.longestAscendingRun(by: \.old).map { common[$0].id })
        removals = old.enumerated().filter { !staying.contains($0.element) }
            .map { ($0.offset, $0.element) }
        insertions = new.enumerated().filter { !staying.contains($0.element) }
            .map { ($0.offset, $0.element) }
    }

    /// Creates the difference between two lists whose other objects have the same order in both.
    ///
    /// Objects that are removed and inserted without having moved are left out.
    ///
    /// - Complexity: O(changes · log changes).
    init(removing removals: [Place], inserting insertions: [Place]) {
        self.removals = removals.sorted { $0.offset < $1.offset }
        self.insertions = insertions.sorted { $0.offset < $1.offset }
        // An object's rank is the number of unchanged objects before it. Equal ranks mean that it
        // passed none.
        var ranks: [ObjectID: (rank: Int, offset: Int)] = [:]
        for (place, removal) in self.removals.enumerated() {
            ranks[removal.id] = (removal.offset - place, removal.offset)
        }
        let resting = self.insertions.enumerated().compactMap { place, insertion in
            ranks[insertion.id].flatMap { old in
                old.rank == insertion.offset - place ? (id: insertion.id, old: old.offset) : nil
            }
        }
        let staying = Set(resting.longestAscendingRun(by: \.old).map { resting[$0].id })
        if staying.isEmpty { return }
        self.removals.removeAll { staying.contains($0.id) }
        self.insertions.removeAll { staying.contains($0.id) }
    }

    /// True when both lists are equal.
    var isEmpty: Bool { removals.isEmpty && insertions.isEmpty }

    /// The difference as a type of the standard library, with moves associated.
    package var collectionDifference: CollectionDifference<ObjectID> {
        let removed = Dictionary(uniqueKeysWithValues: removals.map { ($0.id, $0.offset) })
        let inserted = Dictionary(uniqueKeysWithValues: insertions.map { ($0.id, $0.offset) })
        var changes: [CollectionDifference<ObjectID>.Change] = []
        changes.reserveCapacity(removals.count + insertions.count)
        for (offset, id) in removals {
            changes.append(.remove(offset: offset, element: id, associatedWith: inserted[id]))
        }
        for (offset, id) in insertions {
            changes.append(.insert(offset: offset, element: id, associatedWith: removed[id]))
        }
        guard let difference = CollectionDifference(changes) else {
            trap("a difference of lists names a place twice")
        }
        return difference
    }
}
