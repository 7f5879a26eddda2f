/// A change of the list of members of an owner.
package struct MemberEdit: Hashable, Sendable {
    package let end: EndNumber
    package let owner: ObjectID
    package let member: ObjectID
    /// True when the member is added, false when its entry is removed.
    package let isAddition: Bool

    package init(
        _ end: EndNumber, of owner: ObjectID, _ member: ObjectID, isAddition: Bool
    ) {
        self.end = end
        self.owner = owner
        self.member = member
        self.isAddition = isAddition
    }
}

extension MemberEdit: Comparable {
    /// The order of the tree.
    package static func < (one: MemberEdit, other: MemberEdit) -> Bool {
        if one.end != other.end { return one.end < other.end }
        if one.owner != other.owner { return one.owner < other.owner }
        return one.member < other.member
    }
}

extension [MemberEdit] {
    /// The edits of an owner's list, when all are sorted.
    ///
    /// - Complexity: O(log edits).
    func of(_ owner: ObjectID, at end: EndNumber) -> ArraySlice<MemberEdit> {
        let lower = partitionPoint { edit in
            (edit.end, edit.owner) < (end, owner)
        }
        let upper = self[lower...].partitionPoint { edit in
            (edit.end, edit.owner) <= (end, owner)
        }
        return self[lower..<upper]
    }
}

extension RandomAccessCollection {
    /// The first index whose element does not satisfy a predicate that holds up to some element and
    /// for none after it.
    ///
    /// - Complexity: O(log n).
    func partitionPoint(where holds: (Element) throws -> Bool) rethrows -> Index {
        var lower = startIndex
        var count = self.count
        while count > 0 {
            let half = count / 2
            let middle = index(lower, offsetBy: half)
            if try holds(self[middle]) {
                lower = index(after: middle)
                count -= half + 1
            } else {
                count = half
            }
        }
        return lower
    }
}
