import StetStore
import StetTestSupport

/// A store with all kinds of members, and beside it a plain array of what it must have contained at
/// each revision.
///
/// Articles stand in the list of a notebook in an order, have tags in none, and other articles that
/// are related in an order, without an inverse.
final class Shelf {
    struct State {
        var values: [ObjectKey: [Value]] = [:]
        /// The revision of each object's last change, a deletion included.
        var revisions: [ObjectKey: Revision] = [:]
        /// Links that are present.
        var links: [LinkKey: Membership] = [:]
        /// The revision of each link's last change, a removal included.
        var linkRevisions: [LinkKey: Revision] = [:]
    }

    enum Number {
        static let article: EntityNumber = 1
        static let notebook: EntityNumber = 2
        static let tag: EntityNumber = 3
        static let related = 1
        static let tags = 2
    }

    static let schema: Schema = {
        do {
            return try Schema(
                entities: [article, notebook, tag],
                links: [
                    LinkType(
                        name: "Article.related", source: "Article", target: "Article",
                        isOrdered: true),
                    LinkType(name: "Article.tags", source: "Article", target: "Tag"),
                ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    private static let article = Entity(
        name: "Article",
        properties: [
            Property(name: "title", type: .string),
            Property(
                name: "notebook", type: .reference, isOptional: true, target: "Notebook",
                hasPosition: true),
        ],
        relationships: [
            Relationship(
                name: "related", target: "Article", members: .targets(ofLinks: "Article.related"),
                isOrdered: true),
            Relationship(
                name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags")),
        ])

    private static let notebook = Entity(
        name: "Notebook", properties: [Property(name: "name", type: .string)],
        relationships: [
            Relationship(
                name: "articles", target: "Article", members: .references(property: "notebook"),
                isOrdered: true)
        ])

    private static let tag = Entity(
        name: "Tag", properties: [],
        relationships: [
            Relationship(
                name: "articles", target: "Article", members: .sources(ofLinks: "Article.tags"))
        ])

    let directory: StoreDirectory
    private(set) var file: StoreFile
    /// The states; the index is the number of the revision.
    private(set) var states = [State()]
    private(set) var commits: [Commit] = []

    var now: State { states[states.count - 1] }
    var revision: Revision { Revision(UInt64(states.count - 1)) }

    init() throws {
        directory = try StoreDirectory()
        file = try directory.openUnsynced(schema: Self.schema)
    }

    func reopen() throws {
        file.close()
        file = try directory.open(schema: Self.schema)
    }

    // MARK: Commits

    /// Sets objects and links; nil deletes an object.
    @discardableResult
    func commit(
        _ objects: [ObjectKey: [Value]?], _ links: [LinkKey: Membership] = [:],
        _ note: EditNote = EditNote()
    ) throws -> Commit {
        let commit = try file.commit(
            edits(objects), links: changes(links), note)
        follow(commit, objects, links)
        return commit
    }

    /// Takes what a commit has done, which was made in another way, into the plain states.
    func follow(_ commit: Commit, _ objects: [ObjectKey: [Value]?], _ links: [LinkKey: Membership])
    {
        var state = now
        for (key, values) in objects {
            state.values[key] = values
            state.revisions[key] = commit.revision
        }
        for (key, membership) in links where membership != now.links[key] ?? .absent {
            state.links[key] = membership.isPresent ? membership : nil
            state.linkRevisions[key] = commit.revision
        }
        states.append(state)
        commits.append(commit)
    }

    /// Takes what an undo has done into the plain states.
    func follow(_ commit: Commit) {
        var objects: [ObjectKey: [Value]?] = [:]
        var links: [LinkKey: Membership] = [:]
        for change in commit.changeSet.changes {
            guard let number = Self.schema.number(ofEntity: change.entity) else { continue }
            let key = ObjectKey(number, change.id)
            if change.kind != .update || !change.properties.isEmpty {
                var values = now.values[key] ?? Self.blank(number)
                for property in change.properties {
                    guard let slot = Self.schema.entities[number].slot(of: property.name)
                    else { continue }
                    values[slot] = property.new
                }
                objects[key] = .some(change.kind == .delete ? nil : values)
            }
            for relationship in change.relationships {
                let link = relationship.name == "tags" ? Number.tags : Number.related
                for member in relationship.members {
                    links[LinkKey(link: link, source: change.id, target: member.id)] = member.new
                }
            }
        }
        follow(commit, objects, links)
    }

    private static func blank(_ entity: EntityNumber) -> [Value] {
        schema.entities[entity].properties.map { _ in .null }
    }

    func edits(_ objects: [ObjectKey: [Value]?]) -> [Edit] {
        objects.map { key, values in
            Edit(key, from: now.values[key], to: values, base: now.revisions[key] ?? .zero)
        }
    }

    func changes(_ links: [LinkKey: Membership]) -> [LinkChange] {
        links.compactMap { key, membership in
            let before = now.links[key] ?? .absent
            return before == membership
                ? nil
                : LinkChange(
                    key, before: before, after: membership,
                    previous: now.linkRevisions[key] ?? .zero)
        }
    }

    // MARK: The plain model

    /// The members of an owner at an end at a revision, in their order.
    func members(
        of owner: ObjectID, at end: MemberEnd, asOf revision: Revision
    ) -> [MemberPlace] {
        members(of: owner, at: end, in: states[Int(revision.number)])
    }

    func members(of owner: ObjectID, at end: MemberEnd, in state: State) -> [MemberPlace] {
        var members: [MemberPlace] = []
        if case .reference(let slot) = end.source {
            for (key, values) in state.values where key.entity == end.member {
                guard values[slot].target == owner else { continue }
                members.append(MemberPlace(values[slot].position, key.id))
            }
        } else {
            for (key, membership) in state.links where key.link == end.link {
                let member =
                    end.source == .targets(link: key.link)
                    ? (key.source, key.target) : (key.target, key.source)
                guard member.0 == owner else { continue }
                members.append(
                    MemberPlace(end.layout.isOrdered ? membership.position : nil, member.1))
            }
        }
        return members.sorted()
    }

    /// Forgets the revisions of links that were removed before the journal begins, and not changed
    /// since.
    func forgetLinks(through floor: Revision) {
        let forgotten = now.linkRevisions.filter { $1 <= floor && now.links[$0] == nil }.keys
        for index in states.indices.dropFirst(Int(floor.number)) {
            for key in forgotten { states[index].linkRevisions[key] = nil }
        }
    }

    /// All objects that there ever were.
    var keys: [ObjectKey] { Set(states.flatMap(\.values.keys)).sorted() }
}

extension Value {
    /// The position of a placed reference.
    var position: ListPosition? {
        if case .placed(_, let position) = self { position } else { nil }
    }
}

extension ObjectKey {
    static func article(_ number: Int) -> ObjectKey { ObjectKey(Shelf.Number.article, number) }
    static func notebook(_ number: Int) -> ObjectKey { ObjectKey(Shelf.Number.notebook, number) }
    static func tag(_ number: Int) -> ObjectKey { ObjectKey(Shelf.Number.tag, number) }
}

extension LinkKey {
    static func tagging(_ article: Int, _ tag: Int) -> LinkKey {
        LinkKey(link: Shelf.Number.tags, source: .fixed(article), target: .fixed(tag))
    }

    static func relating(_ article: Int, _ other: Int) -> LinkKey {
        LinkKey(link: Shelf.Number.related, source: .fixed(article), target: .fixed(other))
    }
}

extension ListPosition {
    /// A position that is the same in every run; a greater number comes later.
    static func at(_ number: Int) -> ListPosition {
        let bytes = withUnsafeBytes(of: (UInt64(number) ^ 1 << 63).bigEndian) { Array($0) }
        return ListPosition(bytes: bytes) ?? .first
    }
}

/// Random commits of objects, references and links that fit together.
struct ShelfHistory {
    var random: SeededGenerator
    /// Few enough objects that they meet, come and go.
    let articles = Array(101...108)
    let notebooks = Array(201...203)
    let tags = Array(301...305)

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func commit(to shelf: Shelf, _ note: EditNote = EditNote()) throws {
        while true {
            let (objects, links) = changes(of: shelf.now)
            if objects.isEmpty, links.isEmpty { continue }
            try shelf.commit(objects, links, note)
            return
        }
    }

    /// Changes that leave no reference and no link to what is not there.
    mutating func changes(
        of state: Shelf.State
    ) -> (objects: [ObjectKey: [Value]?], links: [LinkKey: Membership]) {
        var after = state
        for _ in 0..<Int.random(in: 1...6, using: &random) { change(&after) }
        var objects: [ObjectKey: [Value]?] = [:]
        for key in Set(state.values.keys).union(after.values.keys)
        where state.values[key] != after.values[key] {
            objects[key] = .some(after.values[key])
        }
        var links: [LinkKey: Membership] = [:]
        for key in Set(state.links.keys).union(after.links.keys)
        where state.links[key] != after.links[key] {
            links[key] = after.links[key] ?? .absent
        }
        return (objects, links)
    }

    private mutating func change(_ state: inout Shelf.State) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: insert(.notebook(pick(notebooks)), [.string("n")], &state)
        case 1: insert(.tag(pick(tags)), [], &state)
        case 2, 3: insert(.article(pick(articles)), [.string("a"), .null], &state)
        case 4: delete(&state)
        case 5, 6: place(&state)
        default: link(&state)
        }
    }

    mutating func pick(_ numbers: [Int]) -> Int {
        numbers[Int.random(in: numbers.indices, using: &random)]
    }

    mutating func position() -> ListPosition { .at(Int.random(in: 0..<20, using: &random)) }

    private func insert(_ key: ObjectKey, _ values: [Value], _ state: inout Shelf.State) {
        if state.values[key] == nil { state.values[key] = values }
    }

    private mutating func delete(_ state: inout Shelf.State) {
        guard let key = state.values.keys.sorted().randomElement(using: &random) else { return }
        state.values[key] = nil
        state.links = state.links.filter { link, _ in
            link.source != key.id && link.target != key.id
        }
        for (other, values) in state.values where values.contains(where: { $0.target == key.id }) {
            state.values[other] = [values[0], .null]
        }
    }

    private mutating func place(_ state: inout Shelf.State) {
        let (article, notebook) = (ObjectKey.article(pick(articles)), pick(notebooks))
        guard state.values[article] != nil, state.values[.notebook(notebook)] != nil else { return }
        state.values[article] = [.string("a"), .placed(.fixed(notebook), position())]
    }

    private mutating func link(_ state: inout Shelf.State) {
        let article = pick(articles)
        let isOrdered = Bool.random(using: &random)
        let other = isOrdered ? ObjectKey.article(pick(articles)) : .tag(pick(tags))
        guard state.values[.article(article)] != nil, state.values[other] != nil else { return }
        let key = LinkKey(
            link: isOrdered ? Shelf.Number.related : Shelf.Number.tags, source: .fixed(article),
            target: other.id)
        let isRemoval = state.links[key] != nil && Int.random(in: 0..<3, using: &random) > 0
        state.links[key] = isRemoval ? nil : .present(isOrdered ? position() : nil)
    }
}
