/// Assigns positions to members of an ordered list, between those of their neighbours.
package enum ListPlacement {
    /// Assigns new positions to the members at some indices, so that the positions of all members
    /// ascend in the order of the list.
    ///
    /// Where there is no room between two members, or members share a position, as few neighbours
    /// as necessary get new positions, too.
    ///
    /// - Parameters:
    ///   - indices: The ascending indices of the members to be placed; the positions of the others
    ///     ascend.
    ///   - members: The list, which gets the new positions.
    /// - Returns: The members whose positions have changed.
    /// - Complexity: O(members placed), and O(members) where there is no room.
    package static func place(
        _ indices: [Int], in members: inout [MemberPlace]
    ) -> [MemberPlace] {
        var placed: [MemberPlace] = []
        var rest = indices[...]
        while let first = rest.first {
            // Neighbours are placed together.
            var end = first
            while rest.first == end {
                end += 1
                rest.removeFirst()
            }
            placed += spread(first..<end, in: &members)
        }
        return placed
    }

    private static func spread(
        _ range: Range<Int>, in members: inout [MemberPlace]
    ) -> [MemberPlace] {
        var range = range
        while true {
            let lower = range.lowerBound > 0 ? members[range.lowerBound - 1].position : nil
            let upper = range.upperBound < members.count ? members[range.upperBound].position : nil
            if let positions = ListPosition.spread(range.count, between: lower, and: upper) {
                var placed: [MemberPlace] = []
                for (index, position) in zip(range, positions) {
                    members[index] = MemberPlace(position, members[index].id)
                    placed.append(members[index])
                }
                return placed
            }
            // Doubles the range on both sides. The whole list always has room.
            let wider = max(range.count / 2, 1)
            range =
                max(range.lowerBound - wider, 0)..<min(range.upperBound + wider, members.count)
        }
    }
}
