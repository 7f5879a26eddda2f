import Stet

/// Reads and writes a reference of the library's objects.
struct ReferenceAccess {
    let get: (any Thing) -> (any Thing)?
    let set: (any Thing, (any Thing)?) -> Void

    init<M: Thing, T: Thing>(_ path: ReferenceWritableKeyPath<M, T?>) {
        get = { ($0 as? M)?[keyPath: path] }
        set = { ($0 as? M)?[keyPath: path] = $1 as? T }
    }

    @MainActor static let all: [Relation: ReferenceAccess] = [
        .box: ReferenceAccess(\Item.box), .guarded: ReferenceAccess(\Item.guarded),
        .shelf: ReferenceAccess(\Item.shelf), .keeper: ReferenceAccess(\Item.keeper),
        .next: ReferenceAccess(\Item.next), .ally: ReferenceAccess(\Item.ally),
        .leafBox: ReferenceAccess(\Leaf.box), .stack: ReferenceAccess(\Leaf.stack),
        .boss: ReferenceAccess(\Box.boss),
    ]
}

/// Reads and edits a list of the library's objects.
struct ListAccess {
    let members: (any Thing) -> [any Thing]
    let count: (any Thing) -> Int
    let contains: (any Thing, any Thing) -> Bool
    let append: (any Thing, any Thing) -> Void
    let remove: (any Thing, any Thing) -> Void
    let assign: (any Thing, [any Thing]) -> Void
    private(set) var insert: (any Thing, any Thing, Int) -> Void = { _, _, _ in }
    private(set) var move: (any Thing, Int, Int) -> Void = { _, _, _ in }
    /// Returns whether the subscript and `firstIndex(of:)` agree with the iterator.
    private(set) var isConsistent: (any Thing, [any Thing]) -> Bool = { _, _ in true }

    init<M: Thing, List: _ToManyProperty>(_ path: ReferenceWritableKeyPath<M, List>)
    where List.Element: Thing {
        func list(_ owner: any Thing) -> List? { (owner as? M)?[keyPath: path] }
        members = { owner in list(owner).map { Array($0) as [any Thing] } ?? [] }
        count = { list($0)?.count ?? 0 }
        contains = { owner, member in
            (member as? List.Element).map { list(owner)?.contains($0) ?? false } ?? false
        }
        append = { owner, member in
            if let member = member as? List.Element { list(owner)?.append(member) }
        }
        remove = { owner, member in
            if let member = member as? List.Element { list(owner)?.remove(member) }
        }
        assign = { owner, members in
            (owner as? M)?[keyPath: path] = List(members.compactMap { $0 as? List.Element })
        }
    }

    init<M: Thing, E: Thing>(ordered path: ReferenceWritableKeyPath<M, OrderedToMany<E>>) {
        self.init(path)
        insert = { owner, member, index in
            if let member = member as? E { (owner as? M)?[keyPath: path].insert(member, at: index) }
        }
        move = { owner, from, to in (owner as? M)?[keyPath: path].move(from: from, to: to) }
        isConsistent = { owner, members in
            guard let list = (owner as? M)?[keyPath: path] else { return false }
            return members.enumerated().allSatisfy { index, member in
                list[index] === member && (member as? E).map(list.firstIndex) == index
            }
        }
    }

    @MainActor static let all: [List: ListAccess] = [
        List(relation: .box, isAtSource: false): ListAccess(\Box.items),
        List(relation: .guarded, isAtSource: false): ListAccess(\Box.guards),
        List(relation: .shelf, isAtSource: false): ListAccess(ordered: \Box.shelf),
        List(relation: .keeper, isAtSource: false): ListAccess(\Box.kept),
        List(relation: .leafBox, isAtSource: false): ListAccess(\Box.leaves),
        List(relation: .stack, isAtSource: false): ListAccess(ordered: \Box.stack),
        List(relation: .pins, isAtSource: true): ListAccess(ordered: \Box.pins),
        List(relation: .marks, isAtSource: true): ListAccess(\Box.marks),
        List(relation: .badges, isAtSource: true): ListAccess(\Box.badges),
        List(relation: .tags, isAtSource: true): ListAccess(\Item.tags),
        List(relation: .tags, isAtSource: false): ListAccess(\Tag.items),
        List(relation: .course, isAtSource: true): ListAccess(ordered: \Item.course),
        List(relation: .course, isAtSource: false): ListAccess(\Tag.course),
        List(relation: .holders, isAtSource: true): ListAccess(\Tag.holders),
    ]
}
