/// One end of a relationship, as the tree of members lists it: for each owner, its members.
package struct MemberEnd: Hashable, Sendable {
    /// The way in which an object becomes a member of an owner.
    package enum Source: Hashable, Sendable {
        /// The member refers to the owner with the reference in a slot.
        case reference(slot: Slot)
        /// The member is the target of a link whose source is the owner.
        case targets(link: Int)
        /// The member is the source of a link whose target is the owner.
        case sources(link: Int)
    }

    package let number: EndNumber
    /// The entity of the owners.
    package let owner: EntityNumber
    /// The entity of the members.
    package let member: EntityNumber
    package let source: Source
    /// True when the members of an owner have positions; also for both ends of ordered links.
    package let isOrdered: Bool

    /// The layout of the entries of its lists.
    package var layout: MemberLayout {
        switch source {
        case .reference:
            MemberLayout(hasState: false, hasPosition: isOrdered, isOrdered: isOrdered)
        case .targets: MemberLayout(hasState: true, hasPosition: isOrdered, isOrdered: isOrdered)
        case .sources: MemberLayout(hasState: true, hasPosition: isOrdered, isOrdered: false)
        }
    }

    /// The slot in which a member refers to its owner; -1 for an end of links.
    package var slot: Slot {
        if case .reference(let slot) = source { slot } else { -1 }
    }

    package var isReference: Bool {
        if case .reference = source { true } else { false }
    }

    /// The type of links that the end belongs to; nil for an end of references.
    package var link: Int? {
        switch source {
        case .reference: nil
        case .targets(let link), .sources(let link): link
        }
    }

    /// Returns the link between an owner and a member; nil for an end of references.
    package func linkKey(_ owner: ObjectID, _ member: ObjectID) -> LinkKey? {
        switch source {
        case .reference: nil
        case .targets(let link): LinkKey(link: link, source: owner, target: member)
        case .sources(let link): LinkKey(link: link, source: member, target: owner)
        }
    }
}

/// The number under which the lists of an end are stored, starting at 1; migrations keep it.
package struct EndNumber: Hashable, Comparable, Sendable {
    package let rawValue: UInt16

    package init(_ rawValue: UInt16) { self.rawValue = rawValue }

    package static func < (one: EndNumber, other: EndNumber) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// The two ends of a type of links.
package struct LinkEnds: Hashable, Sendable {
    /// The end at which sources are owners.
    package let targets: MemberEnd
    /// The end at which targets are owners.
    package let sources: MemberEnd
}

/// The identity of a link: its type and the two objects.
package struct LinkKey: Hashable, Sendable {
    package let link: Int
    package let source: ObjectID
    package let target: ObjectID

    package init(link: Int, source: ObjectID, target: ObjectID) {
        self.link = link
        self.source = source
        self.target = target
    }
}

extension LinkKey: Comparable {
    package static func < (one: LinkKey, other: LinkKey) -> Bool {
        if one.source != other.source { return one.source < other.source }
        if one.link != other.link { return one.link < other.link }
        return one.target < other.target
    }
}

/// One membership: an object in the list of an owner.
package struct MembershipKey: Hashable, Sendable {
    package let end: MemberEnd
    package let owner: ObjectID
    package let member: ObjectID

    package init(_ end: MemberEnd, _ owner: ObjectID, _ member: ObjectID) {
        self.end = end
        self.owner = owner
        self.member = member
    }
}

/// The contents of an entry in a list of members, beside the member's id.
package struct MemberLayout: Hashable, Sendable {
    /// True when entries contain the revision of the last change, and whether it was a removal.
    package let hasState: Bool
    /// True when entries contain the position of the member among those of its owner.
    package let hasPosition: Bool
    /// True when entries are sorted by position; otherwise they are sorted by id.
    package let isOrdered: Bool

    package init(hasState: Bool, hasPosition: Bool, isOrdered: Bool) {
        self.hasState = hasState
        self.hasPosition = hasPosition
        self.isOrdered = isOrdered
    }
}

extension Schema {
    /// Returns the end whose members are the objects of an entity that refer to an owner in a slot.
    ///
    /// - Complexity: O(references of the entity).
    package func end(ofEntity entity: EntityNumber, slot: Slot) -> MemberEnd? {
        referenceEnds(ofMember: entity).first { $0.slot == slot }
    }

    /// Returns the ends of the references of an entity's objects, in the order of slots.
    package func referenceEnds(ofMember entity: EntityNumber) -> [MemberEnd] {
        referenceEndsByMember.element(at: entity) ?? []
    }

    /// Returns the two ends of a type of links.
    package func ends(ofLink link: Int) -> LinkEnds? {
        endsByLink.element(at: link - 1) ?? nil
    }

    /// Returns the number of the link type with a name.
    package func number(ofLink name: String) -> Int? {
        links.firstIndex { $0.name == name }.map { $0 + 1 }
    }

    /// Returns the link type with a number; nil when there is none, or it was removed.
    package func link(numbered number: Int) -> LinkType? {
        links.element(at: number - 1).flatMap { $0.isRemoved ? nil : $0 }
    }

    /// Returns the end with a number; nil when there is none.
    ///
    /// - Complexity: O(log ends).
    package func end(numbered number: EndNumber) -> MemberEnd? {
        let index = endsByNumber.partitionPoint { $0.number < number }
        return endsByNumber.element(at: index).flatMap { $0.number == number ? $0 : nil }
    }

    /// Returns the ends at which the objects of an entity are owners.
    package func ends(ofOwner entity: EntityNumber) -> [MemberEnd] {
        endsByOwner.element(at: entity) ?? []
    }
}
