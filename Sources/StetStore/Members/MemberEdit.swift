/// A change of one entry in the list of an owner's members.
package struct MemberEdit: Hashable, Sendable {
    /// The effect on the entry.
    package enum Action: Hashable, Sendable {
        /// Writes the entry; the member is present.
        case put
        /// Writes the entry as that of a removed member.
        case bury
        /// Removes the entry.
        case erase
    }

    // Large change sets have many of them: the small fields share a word.
    package let end: EndNumber
    package let action: Action
    /// The difference in the number of members: -1, 0 or 1.
    package let difference: Int8
    package let owner: ObjectID
    package let member: ObjectID
    /// The position of the entry; nil at an end without order, and for a removed member.
    package let position: ListPosition?
    /// The revision of an entry of a link; 0 means that of the commit.
    let revision: Revision

    package init(
        _ end: EndNumber, of owner: ObjectID, _ member: ObjectID, _ position: ListPosition? = nil,
        _ action: Action, difference: Int8 = 0, at revision: Revision = .zero
    ) {
        self.end = end
        self.owner = owner
        self.member = member
        self.position = position
        self.action = action
        self.difference = difference
        self.revision = revision
    }

    package var place: MemberPlace { MemberPlace(position, member) }
}

extension MemberEdit: Comparable {
    /// Compares two edits by end, owner and member: the order of the lists, unless they are
    /// ordered.
    package static func < (one: MemberEdit, other: MemberEdit) -> Bool {
        if one.end != other.end { return one.end < other.end }
        if one.owner != other.owner { return one.owner < other.owner }
        if one.member != other.member { return one.member < other.member }
        // An erased entry precedes its insertion at another position.
        return one.action == .erase && other.action != .erase
    }
}

extension [MemberEdit] {
    /// Returns the edits of an owner's list; all edits must be sorted.
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

extension ArraySlice<MemberEdit> {
    /// Returns whether the edits of a list, which are sorted, remove a member from it.
    func removes(_ member: ObjectID) -> Bool {
        var index = partitionPoint { $0.member < member }
        var isRemoved = false
        while index < endIndex, self[index].member == member {
            isRemoved = self[index].action != .put
            index += 1
        }
        return isRemoved
    }
}

extension RandomAccessCollection {
    /// Returns the first index whose element does not satisfy a predicate that is true up to some
    /// element and false after it.
    ///
    /// - Complexity: O(log n).
    package func partitionPoint(where holds: (Element) throws -> Bool) rethrows -> Index {
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
