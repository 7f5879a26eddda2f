/// A change of one entry in the list of an owner's members.
package struct MemberEdit: Hashable, Sendable {
    /// What becomes of the entry.
    package enum Action: Hashable, Sendable {
        /// It is there, the member is present.
        case put
        /// It is there, and says that the member was removed.
        case bury
        /// It goes.
        case erase
    }

    package let end: EndNumber
    package let owner: ObjectID
    package let member: ObjectID
    /// The position of the entry; nil at an end without order, and for a member that was removed.
    package let position: ListPosition?
    package let action: Action
    /// What it adds to the number of members.
    package let difference: Int
    /// The revision that an entry of a link gets; 0 for that of the commit.
    let revision: Revision

    package init(
        _ end: EndNumber, of owner: ObjectID, _ member: ObjectID, _ position: ListPosition? = nil,
        _ action: Action, difference: Int = 0, at revision: Revision = .zero
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
    /// By end, owner and member: the order of the lists, except where they are ordered.
    package static func < (one: MemberEdit, other: MemberEdit) -> Bool {
        if one.end != other.end { return one.end < other.end }
        if one.owner != other.owner { return one.owner < other.owner }
        if one.member != other.member { return one.member < other.member }
        // An entry goes before it comes to another position.
        return one.action == .erase && other.action != .erase
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

extension ArraySlice<MemberEdit> {
    /// Whether the edits of a list, which are sorted, remove a member from it.
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
    /// The first index whose element does not satisfy a predicate that holds up to some element and
    /// for none after it.
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
