/// A change of an observed list of objects.
package struct LiveUpdate<Payload: Equatable & Sendable> {
    package typealias Entries = SortedEntries<Payload>

    /// The objects, of which those in `page` are the list.
    package let entries: Entries
    package let page: Range<Int>
    package let difference: ListDifference
    /// The objects that are in the list before and after with another payload, with their places in
    /// both, in the order of the list.
    package let updated: [(id: ObjectID, old: Int, new: Int)]
}

extension LiveUpdate {
    /// The change from a list that is at hand.
    ///
    /// - Complexity: O(objects · log objects).
    init(_ entries: Entries, _ page: Range<Int>, after old: [Entries.Entry]) {
        let new = entries.entries(in: page)
        var places: [ObjectID: Int] = [:]
        for (place, entry) in old.enumerated() { places[entry.id] = place }
        self.init(
            entries: entries, page: page,
            difference: ListDifference(from: old.map(\.id), to: new.map(\.id)),
            updated: new.enumerated().compactMap { place, entry in
                guard let before = places[entry.id], old[before].payload != entry.payload else {
                    return nil
                }
                return (entry.id, before, place)
            })
    }

    var isEmpty: Bool { difference.isEmpty && updated.isEmpty }
}
