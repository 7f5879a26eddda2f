import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Links as pairs: what commits of them leave at both ends, at each revision.
struct LinkPairTests {
    private func end(_ link: Int) throws -> LinkEnds {
        try #require(Shelf.schema.ends(ofLink: link))
    }

    /// Compares the members of every object at every end at a revision with the plain model.
    private func compare(_ shelf: Shelf, asOf revision: Revision, _ note: Comment) throws {
        let state = WorkingState(Shelf.schema, at: revision)
        let links = Set(shelf.states.flatMap(\.links.keys)).sorted()
        try shelf.file.read { reader in
            for end in Shelf.schema.ends {
                for key in shelf.keys where key.entity == end.owner {
                    let expected = shelf.members(of: key.id, at: end, asOf: revision)
                    #expect(try state.members(of: key.id, at: end, reader) == expected, note)
                    #expect(
                        try state.memberCount(of: key.id, at: end, reader) == expected.count, note)
                }
            }
            let plain = shelf.states[Int(revision.number)]
            for key in links {
                let link = try reader.link(key, asOf: revision)
                #expect(link.membership == plain.links[key] ?? .absent, note)
                #expect(link.revision == plain.linkRevisions[key] ?? .zero, note)
            }
        }
    }

    private func verified(_ shelf: Shelf, _ note: Comment) throws {
        let report = try shelf.file.verify()
        #expect(report.problems == [], note)
        #expect(report.linkCount == shelf.now.links.count, note)
        #expect(report.objectCount == shelf.now.values.count, note)
    }

    // MARK: Random histories

    @Test(arguments: 0..<12)
    func membersAreThoseOfEachRevision(seed: UInt64) throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: seed)
        for _ in 0..<60 { try history.commit(to: shelf) }
        if seed % 2 == 1 { try shelf.reopen() }
        for number in 0...shelf.revision.number {
            try compare(shelf, asOf: Revision(number), "seed \(seed), as of \(number)")
        }
        try verified(shelf, "seed \(seed)")
    }

    @Test(arguments: 0..<6)
    func membersAreThoseOfEachRevisionThatATrimLeaves(seed: UInt64) throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 100 + seed)
        for round in 0..<4 {
            for _ in 0..<15 { try history.commit(to: shelf) }
            let floor = Revision(
                UInt64.random(in: 1...shelf.revision.number, using: &history.random))
            try shelf.file.trim(through: floor)
            let note: Comment = "seed \(seed), round \(round)"
            try verified(shelf, note)
            let first = try shelf.file.read { try $0.floor() }
            // Removed links that no revision can show are forgotten, with their revisions.
            shelf.forgetLinks(through: first)
            for number in first.number...shelf.revision.number {
                try compare(shelf, asOf: Revision(number), "\(note), as of \(number)")
            }
        }
        try shelf.file.trim(through: .max)
        try verified(shelf, "seed \(seed), trimmed")
        shelf.forgetLinks(through: shelf.revision)
        try compare(shelf, asOf: shelf.revision, "seed \(seed), trimmed")
        try history.commit(to: shelf)
        try verified(shelf, "seed \(seed), gone on with")
    }

    @Test(arguments: 0..<6)
    func changeSetsAndHistoriesShowTheChangedMembers(seed: UInt64) throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 200 + seed)
        for _ in 0..<40 { try history.commit(to: shelf) }
        var histories: [ObjectKey: [Revision]] = [:]
        for (index, commit) in shelf.commits.enumerated() {
            let (before, after) = (shelf.states[index], shelf.states[index + 1])
            let stored = try shelf.file.read { try $0.commit(commit.revision) }
            #expect(stored == commit)
            let shown = stored.changeSet.changes.map(Described.init)
            #expect(shown == Described.all(from: before, to: after), "seed \(seed), \(index)")
            for change in stored.changeSet.changes {
                let entity = try #require(Shelf.schema.number(ofEntity: change.entity))
                histories[ObjectKey(entity, change.id), default: []].append(commit.revision)
            }
        }
        for (key, revisions) in histories {
            let found = try shelf.file.read { try $0.history(ofEntity: key.entity, key.id) }
            #expect(found.map(\.revision) == revisions.reversed(), "seed \(seed), \(key)")
        }
        let end = shelf.revision.number
        for (first, last) in [(0, end), (end, 0), (end / 3, end), (end, end / 2)] {
            let difference = try shelf.file.read {
                try $0.difference(from: Revision(first), to: Revision(last))
            }
            #expect(
                difference.changes.map(Described.init)
                    == Described.all(from: shelf.states[Int(first)], to: shelf.states[Int(last)]),
                "seed \(seed), \(first) to \(last)")
        }
    }

    /// The effect of a change, without the titles.
    private struct Described: Hashable {
        var entity: String
        var id: ObjectID
        var kind: ChangeKind
        var notebook: [Value]
        var members: [RelationshipChange]

        init(_ change: ObjectChange) {
            entity = change.entity
            id = change.id
            kind = change.kind
            notebook = change["notebook"].map { [$0.old, $0.new] } ?? []
            members = change.relationships
        }

        private init(_ key: ObjectKey, _ before: Shelf.State, _ after: Shelf.State) {
            let (old, new) = (before.values[key], after.values[key])
            entity = Shelf.schema.entities[key.entity].name
            id = key.id
            kind = old == nil ? .insert : new == nil ? .delete : .update
            notebook = []
            if key.entity == Shelf.Number.article {
                let values = [old?[1] ?? .null, new?[1] ?? .null]
                if kind != .update || values[0] != values[1] { notebook = values }
            }
            members = Self.relationships(of: key, before, after)
        }

        static func all(from before: Shelf.State, to after: Shelf.State) -> [Described] {
            Set(before.values.keys).union(after.values.keys).sorted().filter { key in
                before.values[key] != after.values[key]
                    || !relationships(of: key, before, after).isEmpty
            }.map { Described($0, before, after) }
        }

        private static func relationships(
            of key: ObjectKey, _ before: Shelf.State, _ after: Shelf.State
        ) -> [RelationshipChange] {
            guard key.entity == Shelf.Number.article else { return [] }
            return [("related", Shelf.Number.related), ("tags", Shelf.Number.tags)].compactMap {
                name, link in
                let members = Set(before.links.keys).union(after.links.keys).sorted()
                    .filter { $0.link == link && $0.source == key.id }
                    .map { link in
                        RelationshipChange.Member(
                            id: link.target, old: before.links[link] ?? .absent,
                            new: after.links[link] ?? .absent)
                    }.filter { $0.old != $0.new }
                return members.isEmpty ? nil : RelationshipChange(name: name, members: members)
            }
        }
    }

    // MARK: Refusals

    private func shelf() throws -> Shelf {
        let shelf = try Shelf()
        try shelf.commit(
            [
                .article(101): [.string("one"), .null], .article(102): [.string("two"), .null],
                .tag(301): [], .tag(302): [],
            ],
            [.tagging(101, 301): .present(nil), .relating(101, 102): .present(.at(5))])
        return shelf
    }

    private func refusal(_ shelf: Shelf, _ change: LinkChange) -> [CommitRefusal.Reason]? {
        thrown(CommitRefusal.self) { try shelf.file.commit([], links: [change]) }?.reasons
    }

    @Test func aLinkThatIsNotAsItWasIsRefused() throws {
        let shelf = try shelf()
        let (tagging, relating) = (LinkKey.tagging(101, 301), LinkKey.relating(101, 102))
        let moved = LinkChange(
            relating, before: .present(.at(5)), after: .present(.at(9)), previous: 1)
        for change in [
            LinkChange(tagging, before: .absent, after: .present(nil), previous: .zero),
            LinkChange(tagging, before: .present(nil), after: .absent, previous: .zero),
            LinkChange(relating, before: .present(.at(6)), after: .absent, previous: 1),
            LinkChange(.tagging(101, 302), before: .absent, after: .present(nil), previous: 1),
        ] {
            #expect(refusal(shelf, change) == [.linkChanged(change.key)])
        }
        _ = try shelf.file.commit([], links: [moved])
        #expect(refusal(shelf, moved) == [.linkChanged(relating)])
        #expect(try shelf.file.verify().problems == [])
    }

    @Test func aLinkOfAnObjectThatIsNotThereIsRefusedAtBothEnds() throws {
        let shelf = try shelf()
        let ends = try end(Shelf.Number.tags)
        for (source, target, end, owner, member) in [
            (101, 309, ends.sources, 309, 101), (109, 301, ends.targets, 109, 301),
        ] {
            let change = LinkChange(
                .tagging(source, target), before: .absent, after: .present(nil), previous: .zero)
            #expect(
                refusal(shelf, change)
                    == [.ownerMissing(MembershipKey(end, .fixed(owner), .fixed(member)))])
        }
    }

    @Test func anObjectThatStillHasALinkIsNotDeleted() throws {
        let shelf = try shelf()
        let ends = try end(Shelf.Number.tags)
        let refusal = thrown(CommitRefusal.self) { try shelf.commit([.tag(301): nil]) }
        #expect(
            refusal?.reasons
                == [.stillReferenced(MembershipKey(ends.sources, .fixed(301), .fixed(101)))])
        try shelf.commit([.tag(301): nil], [.tagging(101, 301): .absent])
        #expect(try shelf.file.verify().problems == [])
    }

    /// The chain of a link continues through the time in which its objects were deleted.
    @Test func anObjectThatComesBackHasTheLinksThatItHadBefore() throws {
        let shelf = try shelf()
        try shelf.commit([.tag(301): nil], [.tagging(101, 301): .absent])
        let forgetful = LinkChange(
            .tagging(101, 301), before: .absent, after: .present(nil), previous: .zero)
        let refusal = thrown(CommitRefusal.self) {
            try shelf.file.commit(shelf.edits([.tag(301): []]), links: [forgetful])
        }
        #expect(refusal?.reasons == [.linkChanged(.tagging(101, 301))])
        try shelf.commit([.tag(301): []], [.tagging(101, 301): .present(nil)])
        for number in 1...3 { try compare(shelf, asOf: Revision(UInt64(number)), "\(number)") }
        try verified(shelf, "restored")
    }

    @Test func linksOfOneCommitAreGivenAndTakenInAnyOrder() throws {
        let one = try Shelf()
        let other = try Shelf()
        let objects: [ObjectKey: [Value]?] = [
            .article(101): [.string("one"), .null], .tag(301): [], .tag(302): [], .tag(303): [],
        ]
        let links = [303, 301, 302].map { number in
            LinkChange(
                .tagging(101, number), before: .absent, after: .present(nil), previous: .zero)
        }
        _ = try one.file.commit(one.edits(objects), links: links)
        _ = try other.file.commit(other.edits(objects), links: links.reversed())
        #expect(try one.file.dump()["members"] == other.file.dump()["members"])
        #expect(
            try one.file.members(of: .article(101), "tags") == [301, 302, 303].map(ObjectID.fixed))
    }

    // MARK: Redaction

    @Test func aRedactedCommitKeepsItsLinks() throws {
        let shelf = try shelf()
        let key = ObjectKey.article(101)
        try shelf.commit(
            [key: [.string("public"), .null]], [.relating(101, 102): .present(.at(9))])
        try shelf.commit([key: [.string("last"), .null]], [.tagging(101, 301): .absent])
        _ = try shelf.file.redact(
            RedactionRequest(entity: key.entity, object: key.id, slots: [0]))
        #expect(try shelf.file.read { try $0.commit(1) }.isRedacted)
        for number in 1...3 { try compare(shelf, asOf: Revision(UInt64(number)), "\(number)") }
        try verified(shelf, "redacted")
        let history = try shelf.file.read { try $0.history(ofEntity: key.entity, key.id) }
        #expect(
            history.map { $0.change.relationships.map(\.name) } == [
                ["tags"], ["related"], ["related", "tags"],
            ])
        try shelf.file.trim(through: 2)
        try verified(shelf, "trimmed")
        shelf.forgetLinks(through: 2)
        try compare(shelf, asOf: 2, "trimmed")
    }

    // MARK: Damage

    @Test func verifyFindsEveryAlteredByteOfMembers() throws {
        let shelf = try shelf()
        try shelf.commit(
            [.notebook(201): [.string("n")]], [.tagging(101, 301): .absent])
        try shelf.commit([.article(102): [.string("two"), .placed(.fixed(201), .at(3))]])
        var missed: [String] = []
        for (key, value) in try #require(try shelf.file.dump()["members"]) {
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1 << UInt8(index % 8)
                try shelf.file.tamper("members", key, damaged)
                if try shelf.file.verify().isClean { missed.append("\(key) \(index)") }
                // Repeats it with a correct checksum.
                guard index >= MemberChunk.headerByteCount else { continue }
                try shelf.file.tamper("members", key, resealed(damaged, at: key))
                if try shelf.file.verify().isClean { missed.append("sealed \(key) \(index)") }
            }
            try shelf.file.tamper("members", key, nil)
            if try shelf.file.verify().isClean { missed.append("\(key) gone") }
            try shelf.file.tamper("members", key, value)
        }
        #expect(missed == [])
        try verified(shelf, "as it was")
    }

    /// A list with the checksum of its bytes.
    private func resealed(_ value: [UInt8], at key: [UInt8]) -> [UInt8] {
        var sealed = value
        let entries = Array(value.dropFirst(MemberChunk.headerByteCount))
        key.withUnsafeBytes { key in
            entries.withUnsafeBytes { entries in
                sealed.withUnsafeMutableBytes { sealed in
                    MemberChunk.store(
                        entries, count: Int(value[6]), presentCount: Int(value[4]), in: sealed,
                        at: key)
                }
            }
        }
        return sealed
    }

    @Test func verifyNamesAMemberThatIsMissingAndOneThatDoesNotBelong() throws {
        let shelf = try shelf()
        let sources = try end(Shelf.Number.tags).sources
        let key = MemberKey.prefix(sources.number, .fixed(301))
        let value = try #require(try shelf.file.dump()["members"]?[key])
        try shelf.file.tamper("members", key, nil)
        #expect(
            try shelf.file.verify().problems == [
                "The members of \(ObjectID.fixed(301)) lack \(ObjectID.fixed(101)), "
                    + "which belongs to them."
            ])
        try shelf.file.tamper("members", key, value)
        let other = MemberKey.prefix(sources.number, .fixed(302))
        try shelf.file.tamper("members", other, resealed(value, at: other))
        #expect(
            try shelf.file.verify().problems == [
                "The members of \(ObjectID.fixed(302)) name \(ObjectID.fixed(101)), "
                    + "which does not belong to them so."
            ])
    }
}
