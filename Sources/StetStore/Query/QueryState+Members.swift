/// Facts about members that the conditions of a query have read, to be used again.
final class MemberFacts {
    /// The numbers of members at an end.
    fileprivate struct Counts {
        /// The number of lists that were counted one by one.
        var askedCount = 0
        /// The number of lists that were read by themselves as of an earlier revision.
        var readCount = 0
        /// The numbers of all owners that have members; nil until many were asked for.
        var known: [ObjectID: Int]?
    }

    fileprivate var counts: [EndNumber: Counts] = [:]
    /// The lists that are others in the last commit than at the revision; nil when too much has
    /// changed since.
    fileprivate var foreign: [EndNumber: ForeignChanges.Lists?] = [:]
    /// The results of conditions of members, by their scope.
    fileprivate var tested: [Int: TestedMembers] = [:]
}

extension QueryState {
    /// Returns the members of an owner at an end, in order.
    func members(of owner: ObjectID, at end: MemberEnd) throws -> [MemberPlace] {
        guard try hasStoredList(of: owner, at: end) else {
            return try view.state.members(of: owner, at: end, reader)
        }
        var members: [MemberPlace] = []
        try reader.forEachMember(of: owner, at: end) { id, position in
            members.append(MemberPlace(position, id))
            return true
        }
        return members
    }

    /// Calls `body` with each member of an owner at an end until it returns false.
    @inline(__always)
    func forEachMember(
        of owner: ObjectID, at end: MemberEnd, _ body: (ObjectID) throws -> Bool
    ) throws {
        try visit()
        if try isOfLastCommit || hasStoredList(of: owner, at: end) {
            return try reader.forEachMember(of: owner, at: end) { id, _ in try body(id) }
        }
        for member in try view.state.members(of: owner, at: end, reader)
        where try !body(member.id) { return }
    }

    /// Returns whether the list of an owner in the last commit is the one that the query reads.
    private func hasStoredList(of owner: ObjectID, at end: MemberEnd) throws -> Bool {
        if isOfLastCommit { return true }
        if view.state.mayChangeList(of: owner, at: end) { return false }
        if isOfLastRevision { return true }
        return try foreignListsOfMany(at: end).map { $0[owner] == nil } ?? false
    }

    /// Returns the lists as `foreignLists` does; nil for the first lists of links that are read,
    /// whose entries show by themselves what has changed.
    private func foreignListsOfMany(at end: MemberEnd) throws -> ForeignChanges.Lists? {
        if !end.isReference, memberFacts.foreign[end.number] == nil {
            memberFacts.counts[end.number, default: MemberFacts.Counts()].readCount += 1
            if memberFacts.counts[end.number]?.readCount ?? 0 <= 16 { return nil }
        }
        return try foreignLists(at: end)
    }

    /// Returns the lists that are others in the last commit than at the revision; nil when too much
    /// has changed since.
    private func foreignLists(at end: MemberEnd) throws -> ForeignChanges.Lists? {
        if isOfLastRevision { return [:] }
        if let known = memberFacts.foreign[end.number] { return known }
        let lists =
            try isFarBehind(ofEntity: end.owner)
            ? nil : view.state.foreignLists(at: end, reader)
        memberFacts.foreign[end.number] = .some(lists)
        return lists
    }

    /// Returns the members of a relationship of an object, in the order of the relationship or of
    /// their ids.
    package func members(
        of owner: ObjectID, entity: EntityNumber, relationship index: Int
    ) throws -> [Row] {
        let relationship = self.entity(entity).relationships[index]
        guard let end = schema.membersEnd(of: relationship) else { return [] }
        return try members(of: owner, at: end).compactMap { try row(end.member, $0.id) }
    }

    /// Returns the results of the condition of members with a scope.
    func testedMembers(inScope scope: Int) -> TestedMembers {
        if let known = memberFacts.tested[scope] { return known }
        let new = TestedMembers()
        memberFacts.tested[scope] = new
        return new
    }

    /// Returns the number of members of an owner.
    ///
    /// - Complexity: O(chunks of the list); from the 64th call for an end on, O(1) after a scan of
    ///   all lists of the end. O(members) where something on top of the revision concerns the list.
    func memberCount(of owner: ObjectID, at end: MemberEnd) throws -> Int {
        let foreign = isOfLastRevision ? [:] : try foreignListsOfMany(at: end)
        guard isOfLastCommit || !view.state.mayChangeList(of: owner, at: end), let foreign else {
            try visit()
            return try view.state.members(of: owner, at: end, reader).count
        }
        return try storedCount(of: owner, at: end) + (foreign[owner] ?? 0)
    }

    /// Returns the number of members of an owner in the last commit.
    private func storedCount(of owner: ObjectID, at end: MemberEnd) throws -> Int {
        if let known = memberFacts.counts[end.number]?.known { return known[owner] ?? 0 }
        memberFacts.counts[end.number, default: MemberFacts.Counts()].askedCount += 1
        guard memberFacts.counts[end.number]?.askedCount == 64 else {
            return try reader.memberCount(of: owner, at: end)
        }
        var known: [ObjectID: Int] = [:]
        try reader.forEachMemberCount(at: end) { owner, count in
            try visit()
            known[owner] = count
            return true
        }
        memberFacts.counts[end.number]?.known = known
        return known[owner] ?? 0
    }

    /// Returns whether all lists of an end can be counted: nothing is on top of the revision, and
    /// little has changed since.
    func countsMembers(at end: MemberEnd) throws -> Bool {
        try view.state.isUnchanged && foreignLists(at: end) != nil
    }

    /// Calls `body` with each owner that has members at an end and with their number, until it
    /// returns false.
    ///
    /// - Complexity: one walk over all lists of the end.
    func forEachMemberCount(
        at end: MemberEnd, _ body: (_ owner: ObjectID, _ count: Int) throws -> Bool
    ) throws {
        guard let foreign = try foreignLists(at: end) else {
            throw StoreError.snapshotTooOld(
                revision: revision, head: try reader.head().revision)
        }
        var goesOn = true
        try reader.forEachMemberCount(at: end) { owner, count in
            try visit()
            let former = foreign.isEmpty ? count : count + (foreign[owner] ?? 0)
            goesOn = try former <= 0 || body(owner, former)
            return goesOn
        }
        for (owner, count) in foreign where goesOn && count > 0 {
            // Those that still have members were among the others.
            if try reader.memberCount(of: owner, at: end) == 0 { goesOn = try body(owner, count) }
        }
    }

    /// Returns the objects with the most members, if a query requests no others.
    func mostMembers(_ query: StoreQuery) throws -> QueryRun.Access? {
        guard query.condition == .everything, query.after == nil,
            query.limit != nil, let order = query.order.first, order.isDescending,
            case .members(.count, let members, .everything) = order.node, members.owner == .root
        else { return nil }
        let relationship = entity(query.entity).relationships[members.relationship]
        guard let end = schema.membersEnd(of: relationship), try countsMembers(at: end),
            let most = try ownersOfMostMembers(at: end, limit: query.end)
        else { return nil }
        let path = QueryPath.counted(relationship, .greaterOrEqual, most.least, isExact: true)
        return .ids(most.ids, path, others: [])
    }

    /// Returns the owners with the most members at an end, `limit` of them and all that have as
    /// many as the last, with the least number of members among them; nil when fewer have any.
    ///
    /// - Complexity: one walk over all lists of the end; memory for those that may still be among
    ///   the ones with the most.
    func ownersOfMostMembers(
        at end: MemberEnd, limit: Int
    ) throws -> (ids: [ObjectID], least: Int)? {
        if limit == 0 { return nil }
        var best: [(id: ObjectID, count: Int)] = []
        var least = 1
        /// Removes the owners that have fewer members than `limit` others.
        func cut() {
            if best.count < limit { return }
            best.sort { $0.count > $1.count }
            least = best[limit - 1].count
            while let last = best.last, last.count < least { best.removeLast() }
        }
        var mostKept = 1_024
        try forEachMemberCount(at: end) { owner, count in
            if count < least { return true }
            best.append((owner, count))
            if best.count >= mostKept {
                cut()
                mostKept = max(mostKept, best.count * 2)
            }
            return true
        }
        cut()
        return best.count < limit ? nil : (best.map(\.id).sorted(), least)
    }
}

extension QueryState.Row {
    /// Returns the target of the reference in a slot.
    func reference(_ slot: Slot) throws(DecodingFailure) -> ObjectID? {
        var reader = reader
        if reader.isNull(slot: slot) { return nil }
        let id = reader.id(slot: slot)
        if reader.isDamaged {
            throw DecodingFailure("the reference of object \(self.id) is damaged")
        }
        return id
    }
}
