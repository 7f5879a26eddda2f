/// The members of an object in one of its relationships, in their order, as commits change them.
///
/// State: belongs to one observer; it has no lock.
package final class LiveMemberList<Payload: Equatable & Sendable> {
    package typealias Entries = SortedEntries<Payload>

    private let owner: ObjectID
    private let end: MemberEnd
    private let relationship: Int
    private let decode: (QueryState.Row) throws -> Payload
    /// The members that the observer has seen; nil before the first update.
    private var shown: [ObjectID: (revision: Revision, payload: Payload)]?
    private var order: Entries

    /// - Parameters:
    ///   - owner: the object, which need not exist.
    ///   - end: the relationship as an end of members.
    ///   - relationship: the number of the relationship.
    ///   - decode: makes of a member what is kept of it.
    package init(
        of owner: ObjectID, at end: MemberEnd, relationship: Int,
        _ decode: @escaping (QueryState.Row) throws -> Payload
    ) {
        self.owner = owner
        self.end = end
        self.relationship = relationship
        self.decode = decode
        order = Entries(sorted: [], isDescendingByID: false)
    }

    /// The changes that may change the list, or the members in it.
    package func interests(in schema: Schema) -> [FeedInterest] {
        var owners = FeedInterest(inEntity: end.owner, of: schema)
        owners.objects = [owner]
        owners.slots = []
        var members = FeedInterest(inEntity: end.member, of: schema)
        members.links = []
        return [owners, members]
    }

    /// Follows the commits up to the revision of a state.
    ///
    /// - Returns: the change of the list; nil when it is as it was.
    /// - Throws: `StoreError`, and what `decode` throws; nothing has moved then.
    /// - Complexity: O(members · log members), and a read for each.
    package func follow(
        _ backlog: FeedReader.Backlog, _ state: QueryState
    ) throws -> LiveUpdate<Payload>? {
        if backlog.isEmpty, shown != nil { return nil }
        let rows = try state.members(of: owner, entity: end.owner, relationship: relationship)
        var members: [ObjectID: (revision: Revision, payload: Payload)] = [:]
        let entries = try rows.enumerated().map { place, row in
            let known = shown?[row.id].flatMap { $0.revision == row.revision ? $0.payload : nil }
            let payload = try known ?? decode(row)
            members[row.id] = (row.revision, payload)
            let key = withUnsafeBytes(of: UInt64(place).bigEndian) { Array($0) }
            return Entries.Entry(id: row.id, key: key, payload: payload)
        }
        let now = Entries(sorted: entries, isDescendingByID: false)
        let update = LiveUpdate(
            now, 0..<now.count, after: order.entries(in: 0..<order.count))
        let isFirst = shown == nil
        order = now
        shown = members
        return isFirst || !update.isEmpty ? update : nil
    }
}
