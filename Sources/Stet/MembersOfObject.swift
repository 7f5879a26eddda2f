// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

import StetStore

/// The members of one relationship of one object, or members that belong to no object yet.
///
/// Used by the code that `@Model` writes.
public struct MembersOfObject<Member: Model> {
    /// nil for members that belong to no object yet.
    let owner: (any Model)?
    /// The place of the relationship among those of the owner.
    let index: Int
    let storage: MemberStorage<Member>

    init(_ members: some Sequence<Member>) {
        owner = nil
        index = 0
        storage = MemberStorage()
        append(contentsOf: Array(members))
    }

    public init(_ owner: any Model, _ index: Int, _ storage: inout MemberStorage<Member>?) {
        self.owner = owner
        self.index = index
        let present = storage ?? MemberStorage()
        storage = present
        self.storage = present
    }

    /// The context, the owner and its relationship; nil while the owner is in no context.
    private var place: (context: ManagedContext, owner: any Model, MemberRelationship)? {
        guard let owner, let context = owner._$context else { return nil }
        return (context, owner, context.relationship(of: owner, index))
    }

    // MARK: Reading

    private var ids: [ObjectID] {
        guard let (context, owner, relationship) = place else { return [] }
        if let known = storage.known, known.generation == context.memberGeneration {
            return known.ids
        }
        let ids = context.members(of: owner.id, relationship)
        storage.known = (ids, context.memberGeneration)
        return ids
    }

    var count: Int { place == nil ? storage.held.count : ids.count }

    func member(at index: Int) -> Member? {
        guard let (context, _, _) = place else {
            return storage.held.indices.contains(index) ? storage.held[index] : nil
        }
        let ids = ids
        return ids.indices.contains(index) ? context.resolve(ids[index], as: Member.self) : nil
    }

    func index(of member: Member) -> Int? {
        place == nil
            ? storage.held.firstIndex { $0 === member } : ids.firstIndex(of: member.id)
    }

    func contains(_ member: Member) -> Bool {
        guard let (context, owner, relationship) = place else {
            return storage.held.contains { $0 === member }
        }
        return context.isMember(member, of: owner, relationship)
    }

    func makeIterator() -> MemberIterator<Member> {
        guard let (context, _, _) = place else { return MemberIterator(storage.held) }
        return MemberIterator(context, ids)
    }

    // MARK: Editing

    func append(_ member: Member) {
        if let (context, owner, relationship) = place {
            context.append(member, to: owner, relationship)
        } else if mayHold(), !storage.held.contains(where: { $0 === member }) {
            storage.held.append(member)
        }
    }

    private func append(contentsOf members: [Member]) {
        var seen = Set(storage.held.map(ObjectIdentifier.init))
        storage.held += members.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    func remove(_ member: Member) {
        if let (context, owner, relationship) = place {
            context.remove(member, from: owner, relationship)
        } else if mayHold() {
            storage.held.removeAll { $0 === member }
        }
    }

    func insert(_ member: Member, at index: Int) {
        if let (context, owner, relationship) = place {
            context.insert(member, at: index, of: owner, relationship)
        } else if mayHold() {
            storage.held.removeAll { $0 === member }
            precondition(
                (0...storage.held.count).contains(index),
                "insert(_:at:) beyond the members of a relationship")
            storage.held.insert(member, at: index)
        }
    }

    /// What a new object holds for these members.
    public func initialStorage() -> MemberStorage<Member> {
        if owner == nil { return storage }
        let initial = MemberStorage<Member>()
        initial.held = Array(IteratorSequence(makeIterator()))
        return initial
    }

    /// Gives the relationship the members of another one.
    public func assign(_ members: MembersOfObject<Member>) {
        if members.storage === storage { return }
        let members = Array(IteratorSequence(members.makeIterator()))
        if let (context, owner, relationship) = place {
            context.assign(members, to: owner, relationship)
        } else if mayHold() {
            storage.held = []
            append(contentsOf: members)
        }
    }

    /// False for an object that outlives its context: it has no members, and gets none.
    private func mayHold() -> Bool { owner?._$revision ?? .zero == .zero }
}

/// What an object holds for one of its to-many relationships.
///
/// Used by the code that `@Model` writes.
///
/// State: belongs to the isolation of the object.
public final class MemberStorage<Member: Model> {
    /// The members of an object that is in no context, in order.
    var held: [Member] = []
    /// What the context has read, and how often it had changed then.
    var known: (ids: [ObjectID], generation: UInt64)?

    init() {}

    /// Shows the members that are held to the visitor.
    public static func _visit(
        _ storage: MemberStorage?, relationship: Int, _ visitor: inout ReferenceVisitor
    ) {
        guard let storage, !storage.held.isEmpty else { return }
        visitor.members.append((relationship, storage.held))
    }

    /// Takes members that were held, or gives them back.
    public static func _mutate(
        _ storage: inout MemberStorage?, relationship: Int, _ mutation: ReferenceMutation
    ) {
        switch mutation {
        case .release: storage?.held = []
        case .hold(let members):
            guard let found = members.first(where: { $0.relationship == relationship }) else {
                return
            }
            let present = storage ?? MemberStorage()
            present.held = found.members.compactMap { $0 as? Member }
            storage = present
        case .adopt, .refer: break
        }
    }
}

/// Goes through the members of a relationship as they were when it was made.
public struct MemberIterator<Member: Model>: IteratorProtocol {
    private static var pageSize: Int { 256 }

    private let context: ManagedContext?
    /// Those that are not made yet.
    private var ids: ArraySlice<ObjectID>
    /// Members, in a concrete array: taking an element out does not look up its type.
    private var page: [AnyObject]
    /// Where the next one stands in the page.
    private var position = 0

    init(_ context: ManagedContext, _ ids: [ObjectID]) {
        self.context = context
        self.ids = ids[...]
        page = []
    }

    init(_ members: [Member]) {
        context = nil
        ids = []
        page = unsafeBitCast(members, to: [AnyObject].self)
    }

    /// The next member; nil at the end, and when a read fails.
    public mutating func next() -> Member? {
        while position == page.count {
            guard let context, !ids.isEmpty else { return nil }
            // Those of the last page may go before those of the next one are made.
            (page, position) = ([], 0)
            let members = context.resolve(ids.prefix(Self.pageSize), as: Member.self)
            page = unsafeBitCast(members, to: [AnyObject].self)
            ids = ids.dropFirst(Self.pageSize)
        }
        position += 1
        return unsafeDowncast(page[position - 1], to: Member.self)
    }
}
