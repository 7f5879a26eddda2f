/// How a list of objects has become another one: what is removed and inserted, with objects that
/// are in both and have moved among the others.
package struct ListDifference {
    /// An object and its place.
    typealias Place = (offset: Int, id: ObjectID)

    /// In ascending order of the places in the old list.
    private var removals: [Place]
    /// In ascending order of the places in the new list.
    private var insertions: [Place]

    /// The difference of two lists that are at hand.
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

    /// The difference of two lists whose other objects have the same order in both.
    ///
    /// Objects that are removed and inserted again without having moved are left out.
    ///
    /// - Complexity: O(changes · log changes).
    init(removing removals: [Place], inserting insertions: [Place]) {
        self.removals = removals.sorted { $0.offset < $1.offset }
        self.insertions = insertions.sorted { $0.offset < $1.offset }
        // The number of other objects before one of these says whether it has passed any of them.
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

    /// True when both lists are the same.
    var isEmpty: Bool { removals.isEmpty && insertions.isEmpty }

    /// The difference as the standard library has it, with moves associated.
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
