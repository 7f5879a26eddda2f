/// Memberships that differ from the stored ones: the effect of a change set on the lists of
/// members.
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

    /// The overrides that are not in `lists` yet, because they may never be needed.
    private var log: [Entry] = []
    /// The greatest number of entries in the log.
    private static let logLimit = 1 << 18
    private var lists: [List: [ObjectID: Membership]] = [:]
    /// A position that no present member of an ordered list comes after, among those set here.
    private var lastPositions: [List: ListPosition] = [:]

    package init() {}

    /// True when there are no overrides.
    package var isEmpty: Bool { log.isEmpty && lists.isEmpty }

    /// Overrides a membership; nil removes the override.
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

    /// Returns the overrides of a list; empty when there are none.
    ///
    /// - Complexity: O(1), plus O(logged entries) at the first call after changes.
    package mutating func list(of owner: ObjectID, at end: MemberEnd) -> [ObjectID: Membership] {
        enter()
        return lists[List(end: end.number, owner: owner)] ?? [:]
    }

    /// Returns the override of one membership; nil when there is none.
    package mutating func membership(
        of member: ObjectID, in owner: ObjectID, at end: MemberEnd
    ) -> Membership? {
        enter()
        return lists[List(end: end.number, owner: owner)]?[member]
    }

    /// Returns a position that no member whose position was set here comes after; nil when there is
    /// none.
    package func lastPosition(of owner: ObjectID, at end: MemberEnd) -> ListPosition? {
        lastPositions[List(end: end.number, owner: owner)]
    }

    /// Returns the owners whose lists have overrides.
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
    /// Returns the members of a list with overrides, in its order.
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
