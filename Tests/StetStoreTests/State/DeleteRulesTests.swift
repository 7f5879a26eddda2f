import StetStore
import StetTestSupport
import Testing

/// The effects of delete rules on a deletion, in a plain graph of objects.
struct DeleteRulesTests {
    /// Objects, references and links as sets; an end's members are searched for.
    private struct PlainGraph: DeletionGraph {
        let schema: Schema
        var deleted: Set<ObjectKey> = []
        /// The target of each reference.
        var targets: [ObjectKey: [Slot: ObjectID]] = [:]
        var links: Set<LinkKey> = []
        /// The paths of the rules that have deleted objects.
        var paths: [ObjectKey: String] = [:]

        func isDeleted(_ object: ObjectKey) -> Bool { deleted.contains(object) }

        func members(of owner: ObjectKey, at end: MemberEnd) -> [ObjectID] {
            let members: [ObjectID] =
                switch end.source {
                case .reference(let slot):
                    targets.filter { $0.key.entity == end.member && $0.value[slot] == owner.id }
                        .map(\.key.id)
                case .targets(let link):
                    links.filter { $0.link == link && $0.source == owner.id }.map(\.target)
                case .sources(let link):
                    links.filter { $0.link == link && $0.target == owner.id }.map(\.source)
                }
            return members.filter { !deleted.contains(ObjectKey(end.member, $0)) }.sorted()
        }

        func target(of object: ObjectKey, slot: Slot) -> ObjectID? { targets[object]?[slot] }

        mutating func delete(_ object: ObjectKey, path: String) {
            deleted.insert(object)
            paths[object] = path
        }

        mutating func remove(_ membership: MembershipKey, path: String?) {
            if let link = membership.end.linkKey(membership.owner, membership.member) {
                links.remove(link)
            } else {
                targets[ObjectKey(membership.end.member, membership.member)]?[
                    membership.end.slot] = nil
            }
        }
    }

    private enum Number {
        static let article: EntityNumber = 1
        static let attachment: EntityNumber = 2
        static let notebook: EntityNumber = 3
        static let tag: EntityNumber = 4
        static let drafts = 1
        static let tags = 2
    }

    /// A relationship of notebooks with each rule, by references and by links.
    private static func schema(
        articles: DeleteRule, drafts: DeleteRule, attachment: DeleteRule = .nullify
    ) throws -> Schema {
        try Schema(
            entities: [
                Entity(
                    name: "Article",
                    properties: [
                        Property(
                            name: "notebook", type: .reference, isOptional: true,
                            target: "Notebook"),
                        Property(
                            name: "attachment", type: .reference, isOptional: true,
                            target: "Attachment", deleteRule: attachment),
                    ],
                    relationships: [
                        Relationship(
                            name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags"))
                    ]),
                Entity(name: "Attachment", properties: []),
                Entity(
                    name: "Notebook", properties: [],
                    relationships: [
                        Relationship(
                            name: "articles", target: "Article",
                            members: .references(property: "notebook"), deleteRule: articles),
                        Relationship(
                            name: "drafts", target: "Article",
                            members: .targets(ofLinks: "Notebook.drafts"), deleteRule: drafts),
                    ]),
                Entity(name: "Tag", properties: []),
            ],
            links: [
                LinkType(name: "Article.tags", source: "Article", target: "Tag"),
                LinkType(name: "Notebook.drafts", source: "Notebook", target: "Article"),
            ])
    }

    private let notebook = ObjectKey(Number.notebook, 201)
    private let article = ObjectKey(Number.article, 101)
    private let draft = ObjectKey(Number.article, 102)
    private let tagging = LinkKey(link: 1, source: .fixed(101), target: .fixed(401))
    private let drafting = LinkKey(link: 2, source: .fixed(201), target: .fixed(102))

    /// A notebook with an article, which has a tag and an attachment, and a draft.
    private func graph(_ schema: Schema) -> PlainGraph {
        PlainGraph(
            schema: schema,
            targets: [article: [0: notebook.id, 1: .fixed(301)], draft: [:]],
            links: [tagging, drafting])
    }

    private func deleting(_ object: ObjectKey, in graph: PlainGraph) throws -> PlainGraph {
        var graph = graph
        graph.deleted.insert(object)
        try DeleteRules.propagate([object], in: &graph)
        return graph
    }

    @Test func nullifyTakesTheMembersOutAndKeepsThem() throws {
        let before = graph(try Self.schema(articles: .nullify, drafts: .nullify))
        let after = try deleting(notebook, in: before)
        #expect(after.deleted == [notebook])
        #expect(after.targets[article] == [1: .fixed(301)])
        #expect(after.links == [tagging])
        #expect(try DeleteRules.denials(of: [notebook], in: after) == [])
    }

    @Test func cascadeDeletesTheMembersAndTheirLinks() throws {
        let before = graph(try Self.schema(articles: .cascade, drafts: .cascade))
        let after = try deleting(notebook, in: before)
        #expect(after.deleted == [notebook, article, draft])
        #expect(after.links == [])
        #expect(after.paths == [article: "Notebook.articles", draft: "Notebook.drafts"])
        #expect(try DeleteRules.denials(of: after.deleted, in: after) == [])
    }

    @Test func cascadeOfAReferenceDeletesWhatItRefersTo() throws {
        let before = graph(
            try Self.schema(articles: .nullify, drafts: .nullify, attachment: .cascade))
        let attachment = ObjectKey(Number.attachment, 301)
        let after = try deleting(article, in: before)
        #expect(after.deleted == [article, attachment])
        #expect(after.paths == [attachment: "Article.attachment"])
        // Deleting the attachment clears the reference instead.
        let other = try deleting(attachment, in: before)
        #expect(other.deleted == [attachment])
        #expect(other.targets[article] == [0: notebook.id])
    }

    @Test(arguments: [DeleteRule.deny, .none])
    func denyAndNoneLeaveTheMembersAndNameThem(rule: DeleteRule) throws {
        let before = graph(try Self.schema(articles: rule, drafts: rule))
        let after = try deleting(notebook, in: before)
        #expect(after.deleted == [notebook])
        #expect(after.targets == before.targets)
        #expect(after.links == before.links)
        let denials = try DeleteRules.denials(of: [notebook], in: after)
        #expect(denials.map(\.text) == ["201.articles, 0: [101]", "201.drafts, 1: [102]"])
        // Members that are also deleted do not prevent the deletion.
        var both = before
        both.deleted = [notebook, article, draft]
        try DeleteRules.propagate(both.deleted.sorted(), in: &both)
        #expect(try DeleteRules.denials(of: both.deleted, in: both) == [])
    }

    @Test func denyOfAReferenceNamesWhatItRefersTo() throws {
        let before = graph(
            try Self.schema(articles: .nullify, drafts: .nullify, attachment: .deny))
        let after = try deleting(article, in: before)
        let denials = try DeleteRules.denials(of: [article], in: after)
        #expect(denials.map(\.text) == ["101.attachment, 1: reference [301]"])
        var both = after
        both.deleted.insert(ObjectKey(Number.attachment, 301))
        #expect(try DeleteRules.denials(of: [article], in: both) == [])
    }

    @Test func aDenialNamesAtMostAHundredObjects() throws {
        var graph = PlainGraph(schema: try Self.schema(articles: .deny, drafts: .nullify))
        for number in 1...150 {
            graph.targets[ObjectKey(Number.article, number)] = [0: notebook.id]
        }
        let after = try deleting(notebook, in: graph)
        let denial = try #require(try DeleteRules.denials(of: [notebook], in: after).first)
        #expect(denial.blocking == (1...100).map(ObjectID.fixed))
    }

    // MARK: Whole graphs

    @Test(arguments: 0..<40)
    func whatIsDeletedIsTheClosureOfTheCascades(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let rules: [DeleteRule] = [.nullify, .cascade, .deny, .none]
        func rule() -> DeleteRule { rules.randomElement(using: &random) ?? .nullify }
        let (articles, drafts) = (rule(), rule())
        let attachment: DeleteRule = Bool.random(using: &random) ? .cascade : .nullify
        var graph = PlainGraph(
            schema: try Self.schema(articles: articles, drafts: drafts, attachment: attachment))
        for number in 101...115 {
            var targets: [Slot: ObjectID] = [:]
            if Bool.random(using: &random) {
                targets[0] = .fixed(.random(in: 201...204, using: &random))
            }
            if Bool.random(using: &random) {
                targets[1] = .fixed(.random(in: 301...304, using: &random))
            }
            graph.targets[ObjectKey(Number.article, number)] = targets
            graph.links.insert(
                LinkKey(
                    link: Number.tags, source: .fixed(.random(in: 201...204, using: &random)),
                    target: .fixed(number)))
        }
        let first = (0..<3).map { _ in
            ObjectKey(Number.notebook, Int.random(in: 201...204, using: &random))
        }
        var expected = Set(first)
        var isGrowing = true
        while isGrowing {
            let count = expected.count
            for (key, targets) in graph.targets {
                let notebook = targets[0].map { ObjectKey(Number.notebook, $0) }
                if articles == .cascade, let notebook, expected.contains(notebook) {
                    expected.insert(key)
                }
                if attachment == .cascade, expected.contains(key), let target = targets[1] {
                    expected.insert(ObjectKey(Number.attachment, target))
                }
            }
            for link in graph.links
            where drafts == .cascade
                && expected.contains(ObjectKey(Number.notebook, link.source))
            {
                expected.insert(ObjectKey(Number.article, link.target))
            }
            isGrowing = expected.count > count
        }
        graph.deleted = Set(first)
        try DeleteRules.propagate(Array(Set(first)), in: &graph)
        #expect(graph.deleted == expected)
        // Members remain only where a rule forbids the deletion.
        let denied = Set(try DeleteRules.denials(of: graph.deleted, in: graph).map(\.property))
        for key in graph.deleted {
            for end in graph.schema.ends(ofOwner: key.entity)
            where !graph.members(of: key, at: end).isEmpty {
                let name = graph.schema.relationship(at: end)?.name
                #expect(name.map(denied.contains) == true, "seed \(seed)")
            }
        }
    }

    // MARK: Depth

    /// Each object refers to the one before it, and to the one after it.
    private struct Chain: DeletionGraph {
        let schema: Schema
        let count: Int
        var deleted: [Bool]

        func isDeleted(_ object: ObjectKey) -> Bool { deleted[object.id.number] }

        func members(of owner: ObjectKey, at end: MemberEnd) -> [ObjectID] {
            let number = owner.id.number + (end.slot == 0 ? 1 : -1)
            return deleted.indices.contains(number) && !deleted[number] ? [.fixed(number)] : []
        }

        func target(of object: ObjectKey, slot: Slot) -> ObjectID? {
            let number = object.id.number + (slot == 0 ? -1 : 1)
            return deleted.indices.contains(number) ? .fixed(number) : nil
        }

        mutating func delete(_ object: ObjectKey, path: String) {
            deleted[object.id.number] = true
        }

        mutating func remove(_ membership: MembershipKey, path: String?) {}
    }

    @Test(arguments: [true, false])
    func aChainOfAMillionObjectsIsDeleted(byReferences: Bool) throws {
        let previous = Property(
            name: "previous", type: .reference, isOptional: true, target: "Page")
        let next = Property(
            name: "next", type: .reference, isOptional: true, target: "Page",
            deleteRule: byReferences ? .cascade : .nullify)
        let followers = Relationship(
            name: "followers", target: "Page", members: .references(property: "previous"),
            deleteRule: byReferences ? .nullify : .cascade)
        let schema = try Schema(entities: [
            Entity(name: "Page", properties: [previous, next], relationships: [followers])
        ])
        let count = 1_000_000
        var chain = Chain(
            schema: schema, count: count, deleted: Array(repeating: false, count: count))
        chain.deleted[0] = true
        try DeleteRules.propagate([ObjectKey(1, 0)], in: &chain)
        #expect(chain.deleted.count { $0 } == count)
    }
}

extension DeleteRules.Denial {
    fileprivate var text: String {
        "\(object.id.number).\(property), \(slot): \(isOfReference ? "reference " : "")"
            + "\(blocking.map(\.number))"
    }
}
