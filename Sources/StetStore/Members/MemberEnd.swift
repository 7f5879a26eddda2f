/// The number under which the lists of an end are stored, from 1; migrations keep it.
package struct EndNumber: Hashable, Comparable, Sendable {
    package let rawValue: UInt16

    package init(_ rawValue: UInt16) { self.rawValue = rawValue }

    package static func < (one: EndNumber, other: EndNumber) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// One end of a relationship, as the tree of members lists it: for each owner, its members.
package struct MemberEnd: Hashable, Sendable {
    package let number: EndNumber
    /// The entity of the owners.
    package let owner: Int
    /// The entity of the members.
    package let member: Int
    /// The slot in which a member refers to its owner.
    package let slot: Int

    /// The reference that makes a member one of an owner.
    func reference(_ member: ObjectID, _ owner: ObjectID) -> ReferenceKey {
        ReferenceKey(target: owner, sourceEntity: self.member, slot: slot, source: member)
    }

    /// How the entries of its lists are laid out.
    package var layout: MemberLayout { MemberLayout() }
}

/// What an entry of a list of members holds beside the member's id.
package struct MemberLayout: Hashable, Sendable {
    /// The revision of the last change, and whether that was a removal.
    package var hasState = false
    /// The position of the member among those of its owner.
    package var hasPosition = false
    /// Entries are in the order of positions; otherwise in that of ids.
    package var isOrdered = false

    package init() {}
}

extension Schema {
    /// The end whose members are the objects of an entity that refer to an owner in a slot.
    ///
    /// - Complexity: O(references of the entity).
    package func end(ofEntity entity: Int, slot: Int) -> MemberEnd? {
        ends(ofMember: entity).first { $0.slot == slot }
    }

    /// The ends of the references of the objects of an entity, in the order of slots.
    package func ends(ofMember entity: Int) -> [MemberEnd] {
        endsByMember.element(at: entity - 1) ?? []
    }

    /// The end with a number; nil when there is none.
    ///
    /// - Complexity: O(log ends).
    package func end(numbered number: EndNumber) -> MemberEnd? {
        let index = endsByNumber.partitionPoint { $0.number < number }
        return endsByNumber.element(at: index).flatMap { $0.number == number ? $0 : nil }
    }

    /// The ends at which the objects of an entity are owners.
    package func ends(ofOwner entity: Int) -> [MemberEnd] {
        endsByOwner.element(at: entity - 1) ?? []
    }
}
