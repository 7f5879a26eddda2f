// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

import StetStore

/// The members of one relationship of one object, or members that belong to no object yet.
///
/// Used by the code that `@Model` writes.
public struct _MembersOfObject<Member: Model> {
    private enum Place {
        /// The members of an object, in a context or in none.
        case owner(any Model, index: Int, _MemberCache)
        /// Members that are not given to an object yet.
        case free([Member])
    }

    private let place: Place

    init(_ members: some Sequence<Member>) {
        var seen: Set<ObjectIdentifier> = []
        place = .free(members.filter { seen.insert(ObjectIdentifier($0)).inserted })
    }

    public init(_ owner: any Model, _ index: Int, _ cache: inout _MemberCache?) {
        let present = cache ?? _MemberCache()
        cache = present
        place = .owner(owner, index: index, present)
    }

    /// The list in the owner's context; nil when the owner is in none.
    private var list: MemberList? {
        guard case .owner(let owner, let index, _) = place, let core = owner._$core else {
            return nil
        }
        return MemberList(core, owner, index)
    }

    /// The members of an uninserted object, or those that are not given to an object yet.
    private var held: [Member] {
        switch place {
        case .free(let members): members
        case .owner(let owner, let index, _):
            unsafeBitCast(owner._$heldMembers(of: index), to: [Member].self)
        }
    }

    // MARK: Reading

    private func ids(_ list: MemberList) -> [ObjectID] {
        guard case .owner(let owner, _, let cache) = place, let core = owner._$core else {
            return list.ids
        }
        if let known = cache.ids(core) { return known }
        let ids = list.ids
        cache.keep(ids, core)
        return ids
    }

    var count: Int {
        guard let list else { return held.count }
        guard case .owner(let owner, _, let cache) = place, let core = owner._$core,
            let known = cache.ids(core)
        else { return list.count }
        return known.count
    }

    func member(at index: Int) -> Member? {
        guard let list else { return held.element(at: index) }
        guard let id = ids(list).element(at: index), case .owner(let owner, _, _) = place else {
            return nil
        }
        return owner._$core?.resolve([id][...], as: Member.self).first
    }

    func index(of member: Member) -> Int? {
        guard let list else { return held.firstIndex { $0 === member } }
        return ids(list).firstIndex(of: member.id)
    }

    func contains(_ member: Member) -> Bool {
        list?.contains(member) ?? held.contains { $0 === member }
    }

    func makeIterator() -> _MemberIterator<Member> {
        guard let list, case .owner(let owner, _, _) = place, let core = owner._$core else {
            return _MemberIterator(held)
        }
        return _MemberIterator(core, ids(list))
    }

    // MARK: Editing

    func append(_ member: Member) {
        if let list { return list.append(member) }
        changeHeld { held in
            if !held.contains(where: { $0 === member }) { held.append(member) }
        }
    }

    func remove(_ member: Member) {
        if let list { return list.remove(member) }
        changeHeld { held in held.removeAll { $0 === member } }
    }

    func insert(_ member: Member, at index: Int) {
        if let list { return list.insert(member, at: index) }
        changeHeld { held in
            held.removeAll { $0 === member }
            trap(
                unless: (0...held.count).contains(index),
                "insert(_:at:) beyond the members of a relationship")
            held.insert(member, at: index)
        }
    }

    /// Replaces the members of the relationship with those of another one.
    public func assign(_ members: _MembersOfObject<Member>) {
        if case .owner(_, _, let mine) = place, case .owner(_, _, let other) = members.place,
            mine === other
        {
            return
        }
        let members = Array(IteratorSequence(members.makeIterator()))
        if let list { return list.assign(members) }
        changeHeld { held in
            var seen: Set<ObjectIdentifier> = []
            held = members.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
    }

    /// Gives these members to a new object.
    public func attach(to state: inout _ModelState, _ index: Int) {
        let members = Array(IteratorSequence(makeIterator()))
        if members.isEmpty { return }
        state.changeMembers(of: index) { $0 = unsafeBitCast(members, to: [AnyObject].self) }
    }

    private func changeHeld(_ change: (inout [AnyObject]) -> Void) {
        guard case .owner(let owner, let index, _) = place else {
            trap("members that belong to no object are not edited")
        }
        owner._$changeHeldMembers(of: index, change)
    }
}

extension Model {
    func _$heldMembers(of index: Int) -> [AnyObject] {
        _$inState { $0.members(of: index) }
    }

    /// Changes the members of an uninserted object; an object that was stored before gets none.
    func _$changeHeldMembers(of index: Int, _ change: (inout [AnyObject]) -> Void) {
        guard _$revision == .zero else { return }
        _$state.changeMembers(of: index, change)
    }
}

/// The ids of the members that were last read for an object.
///
/// Used by the code that `@Model` generates.
///
/// State: belongs to the isolation of the object.
public final class _MemberCache {
    private var known: (ids: [ObjectID], generation: UInt64)?

    init() {}

    /// Returns the cached ids; nil where the context may show others.
    func ids(_ core: ContextCore) -> [ObjectID]? {
        guard let known, known.generation == core.state.generation, !core.isBehind else {
            return nil
        }
        return known.ids
    }

    /// Keeps ids, but not those of a read that failed, or was made while objects were behind and
    /// showed other owners.
    func keep(_ ids: [ObjectID], _ core: ContextCore) {
        if core.failure == nil, !core.isBehind { known = (ids, core.state.generation) }
    }
}

/// Iterates over the members that a relationship had when the iterator was made.
public struct _MemberIterator<Member: Model>: IteratorProtocol {
    private static var pageSize: Int { 256 }

    private let core: ContextCore?
    /// The ids of the members that are not made yet.
    private var ids: ArraySlice<ObjectID>
    /// The members of a page, in a concrete array: reading an element does not look up its type.
    private var page: [AnyObject]
    /// The index of the next member in the page.
    private var position = 0

    init(_ core: ContextCore, _ ids: [ObjectID]) {
        self.core = core
        self.ids = ids[...]
        page = []
    }

    init(_ members: [Member]) {
        core = nil
        ids = []
        page = unsafeBitCast(members, to: [AnyObject].self)
    }

    /// Returns the next member; nil at the end, and when a read fails.
    public mutating func next() -> Member? {
        while position == page.count {
            guard let core, !ids.isEmpty else { return nil }
            // Releases the objects of the last page before those of the next page are made.
            (page, position) = ([], 0)
            let members = core.resolve(ids.prefix(Self.pageSize), as: Member.self)
            page = unsafeBitCast(members, to: [AnyObject].self)
            ids = ids.dropFirst(Self.pageSize)
        }
        position += 1
        return unsafeDowncast(page[position - 1], to: Member.self)
    }
}
