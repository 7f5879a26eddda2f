/// Memberships that are others than those stored: what a change set makes of the lists of members.
package struct MemberOverrides: Sendable {
    private struct List: Hashable {
        let end: EndNumber
        let owner: ObjectID
    }

    private struct Entry {
        let list: List
        let member: ObjectID
        let membership: Membership?
    }

    /// Not entered into `lists` yet: nobody may ask for them.
    private var log: [Entry] = []
    /// The most entries of the log.
    private static let logLimit = 1 << 18
    private var lists: [List: [ObjectID: Membership]] = [:]
    /// A position that no present member of an ordered list is after, among those set here.
    private var lastPositions: [List: ListPosition] = [:]

    package init() {}

    /// True when there is none.
    package var isEmpty: Bool { log.isEmpty && lists.isEmpty }

    /// Overrides a membership; nil takes the override away.
    package mutating func set(
        _ membership: Membership?, of member: ObjectID, in owner: ObjectID, at end: MemberEnd
    ) {
        let list = List(end: end.number, owner: owner)
        if log.count == Self.logLimit { enter() }
        log.append(Entry(list: list, member: member, membership: membership))
        guard let position = membership?.position else { return }
        if let last = lastPositions[list], last >= position { return }
        lastPositions[list] = position
    }

    /// The overrides of a list; empty when there are none.
    ///
    /// - Complexity: O(1), after all that was set was entered once.
    package mutating func list(of owner: ObjectID, at end: MemberEnd) -> [ObjectID: Membership] {
        enter()
        return lists[List(end: end.number, owner: owner)] ?? [:]
    }

    /// The override of one membership; nil when there is none.
    package mutating func membership(
        of member: ObjectID, in owner: ObjectID, at end: MemberEnd
    ) -> Membership? {
        enter()
        return lists[List(end: end.number, owner: owner)]?[member]
    }

    /// A position that no member whose position was set here is after; nil when there is none.
    package func lastPosition(of owner: ObjectID, at end: MemberEnd) -> ListPosition? {
        lastPositions[List(end: end.number, owner: owner)]
    }

    /// The owners whose lists have overrides.
    package mutating func owners(at end: MemberEnd) -> [ObjectID] {
        enter()
        return lists.keys.filter { $0.end == end.number }.map(\.owner)
    }

    private mutating func enter() {
        if log.isEmpty { return }
        for entry in log {
            guard let membership = entry.membership else {
                guard let index = lists.index(forKey: entry.list) else { continue }
                lists.values[index][entry.member] = nil
                if lists.values[index].isEmpty { lists.remove(at: index) }
                continue
            }
            lists[entry.list, default: [:]][entry.member] = membership
        }
        log.removeAll()
    }
}

extension [MemberPlace] {
    /// The members of a list with overrides, in its order.
    ///
    /// - Complexity: O(members + overrides · log overrides).
    func with(_ overrides: [ObjectID: Membership], isOrdered: Bool) -> [MemberPlace] {
        if overrides.isEmpty { return self }
        var added = overrides.compactMap { id, membership in
            membership.isPresent ? MemberPlace(isOrdered ? membership.position : nil, id) : nil
        }
        added.sort()
        var merged: [MemberPlace] = []
        merged.reserveCapacity(count + added.count)
        var rest = added[...]
        for member in self where overrides[member.id] == nil {
            while let next = rest.first, next < member {
                merged.append(next)
                rest.removeFirst()
            }
            merged.append(member)
        }
        return merged + rest
    }
}
