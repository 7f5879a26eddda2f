import StetStore
import StetTestSupport
import Testing

/// Members with unsaved changes on top of a revision, beside a plain model.
struct WorkingStateTests {
    /// The changes of one layer as plain values.
    private struct Layer {
        var members: [MembershipKey: Membership] = [:]
        var deleted: Set<ObjectKey> = []
    }

    /// A state of a shelf with layers, and what it must answer.
    private struct Model {
        let shelf: Shelf
        var revision: Revision
        var sent: Layer?
        var pending = Layer()

        func members(of owner: ObjectID, at end: MemberEnd) -> [MemberPlace] {
            var places: [ObjectID: MemberPlace] = [:]
            for member in shelf.members(of: owner, at: end, asOf: revision) {
                places[member.id] = member
            }
            for layer in [sent, pending].compactMap({ $0 }) {
                for (key, membership) in layer.members where key.end == end && key.owner == owner {
                    places[key.member] =
                        membership.isPresent
                        ? MemberPlace(
                            end.layout.isOrdered ? membership.position : nil, key.member) : nil
                }
            }
            return places.values.filter { !isDeleted(ObjectKey(end.member, $0.id)) }.sorted()
        }

        func isDeleted(_ key: ObjectKey) -> Bool {
            pending.deleted.contains(key) || sent?.deleted.contains(key) ?? false
        }

        func changedMembership(_ key: MembershipKey) -> Membership? {
            pending.members[key] ?? sent?.members[key]
        }
    }

    @Test(arguments: 0..<10)
    func membersAreThoseOfAPlainModel(seed: UInt64) throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 300 + seed)
        for _ in 0..<20 { try history.commit(to: shelf) }
        var model = Model(shelf: shelf, revision: shelf.revision)
        let state = WorkingState(Shelf.schema, at: shelf.revision)
        for round in 0..<120 {
            switch Int.random(in: 0..<20, using: &history.random) {
            case 0: try history.commit(to: shelf)
            case 1:
                // A save is in flight.
                model.sent = model.pending
                model.pending = Layer()
                state.sent = state.pending
                state.pending = WorkingState.Layer()
            case 2:
                model.sent = nil
                state.sent = nil
            case 3:
                model.pending = Layer()
                state.pending = WorkingState.Layer()
            case 4:
                model.revision = Revision(
                    UInt64.random(in: 0...shelf.revision.number, using: &history.random))
                state.move(to: model.revision)
            case 5: delete(&model, state, &history)
            default: override(&model, state, &history)
            }
            if round % 3 == 0 { try compare(model, state, "seed \(seed), round \(round)") }
        }
        try compare(model, state, "seed \(seed)")
    }

    private func compare(_ model: Model, _ state: WorkingState, _ note: Comment) throws {
        try model.shelf.file.read { reader in
            for end in Shelf.schema.ends {
                for number in numbers(ofEntity: end.owner) {
                    let owner = ObjectID.fixed(number)
                    let expected = model.members(of: owner, at: end)
                    #expect(try state.members(of: owner, at: end, reader) == expected, note)
                    #expect(
                        try state.memberCount(of: owner, at: end, reader) == expected.count, note)
                    if let last = expected.last?.position {
                        let bound = try state.lastPosition(of: owner, at: end, reader)
                        #expect(bound.map { $0 >= last } == true, note)
                    }
                    for member in numbers(ofEntity: end.member).map(ObjectID.fixed) {
                        #expect(
                            state.changedMembership(of: member, in: owner, at: end)
                                == model.changedMembership(MembershipKey(end, owner, member)),
                            note)
                    }
                }
            }
        }
        for key in model.shelf.keys {
            #expect(state.isDeleted(key) == model.isDeleted(key), note)
        }
    }

    private func numbers(ofEntity entity: EntityNumber) -> ClosedRange<Int> {
        [101...108, 201...203, 301...305][entity]
    }

    private func delete(
        _ model: inout Model, _ state: WorkingState, _ history: inout ShelfHistory
    ) {
        let key = ObjectKey.article(history.pick(history.articles))
        if model.pending.deleted.remove(key) != nil {
            state.pending.deleted.remove(key)
        } else {
            model.pending.deleted.insert(key)
            state.pending.deleted.insert(key)
        }
    }

    private func override(
        _ model: inout Model, _ state: WorkingState, _ history: inout ShelfHistory
    ) {
        let end = Shelf.schema.ends[
            Int.random(in: Shelf.schema.ends.indices, using: &history.random)]
        let owner = ObjectID.fixed(history.pick(Array(numbers(ofEntity: end.owner))))
        let member = ObjectID.fixed(history.pick(Array(numbers(ofEntity: end.member))))
        let membership: Membership? =
            switch Int.random(in: 0..<4, using: &history.random) {
            case 0: nil
            case 1: .absent
            default: .present(end.isOrdered ? history.position() : nil)
            }
        model.pending.members[MembershipKey(end, owner, member)] = membership
        state.pending.members.set(membership, of: member, in: owner, at: end)
    }

    // MARK: Limits

    private func notebookEnd() throws -> MemberEnd {
        try #require(Shelf.schema.end(ofEntity: Shelf.Number.article, slot: 1))
    }

    @Test(arguments: [2, 3])
    func membersAreNotReadAfterMoreForeignChangesThanTheLimit(limit: Int) throws {
        let shelf = try Shelf()
        try shelf.commit([.notebook(201): [.string("n")]])
        let state = WorkingState(Shelf.schema, at: 1, limit: limit)
        for number in 101...103 {
            try shelf.commit([
                .article(number): [.string("a"), .placed(.fixed(201), .at(number))]
            ])
        }
        let end = try notebookEnd()
        // Repeats the read, because the refusal must be permanent.
        for _ in 1...3 {
            let refusal = thrown(StoreError.self) {
                let members = try shelf.file.read {
                    try state.members(of: .fixed(201), at: end, $0)
                }
                #expect(members == [])
            }
            #expect(refusal == (limit == 3 ? nil : StoreError.snapshotTooOld(revision: 1, head: 4)))
        }
        state.move(to: 4)
        let members = try shelf.file.read { try state.members(of: .fixed(201), at: end, $0) }
        #expect(members.map(\.id) == [101, 102, 103].map(ObjectID.fixed))
    }

    @Test func membersAreNotReadOnceWhatHasChangedSinceWasTrimmed() throws {
        let shelf = try Shelf()
        try shelf.commit(
            [
                .notebook(201): [.string("n")], .article(101): [.string("a"), .null],
                .tag(301): [],
            ], [.tagging(101, 301): .present(nil)])
        let state = WorkingState(Shelf.schema, at: 1)
        try shelf.commit(
            [.article(101): [.string("a"), .placed(.fixed(201), .first)]],
            [.tagging(101, 301): .absent])
        try shelf.commit([.tag(302): []])
        try shelf.file.trim(through: 2)
        for end in Shelf.schema.ends {
            for owner in [101, 201, 301].map(ObjectID.fixed) {
                let refusal = thrown(StoreError.self) {
                    try shelf.file.read { _ = try state.members(of: owner, at: end, $0) }
                }
                let expected = StoreError.snapshotTooOld(revision: 1, head: 3)
                #expect(refusal == expected, "\(end) \(owner)")
            }
        }
    }

    // MARK: Overrides

    @Test func overridesBeyondTheLimitOfTheLogAreThoseThatWereSet() throws {
        let ends = try #require(Shelf.schema.ends(ofLink: Shelf.Number.tags))
        var overrides = MemberOverrides()
        let count = 1 << 18 + 10
        for number in 0..<count {
            overrides.set(
                number % 3 == 0 ? .absent : .present(nil), of: .fixed(number / 2),
                in: .fixed(1 << 30),
                at: ends.targets)
        }
        let list = overrides.list(of: .fixed(1 << 30), at: ends.targets)
        #expect(list.count == count / 2)
        for number in stride(from: 1, to: count, by: 997) {
            let last = number | 1
            #expect(list[.fixed(number / 2)] == (last % 3 == 0 ? .absent : .present(nil)))
        }
        #expect(overrides.owners(at: ends.targets) == [.fixed(1 << 30)])
        #expect(overrides.owners(at: ends.sources) == [])
        #expect(overrides.membership(of: .fixed(1), in: .fixed(1 << 30), at: ends.sources) == nil)
    }

    @Test func anOverrideThatIsTakenAwayLeavesNothing() throws {
        let end = try notebookEnd()
        var overrides = MemberOverrides()
        overrides.set(.present(.at(3)), of: .fixed(1), in: .fixed(2), at: end)
        #expect(!overrides.isEmpty)
        #expect(overrides.lastPosition(of: .fixed(2), at: end) == .at(3))
        overrides.set(nil, of: .fixed(1), in: .fixed(2), at: end)
        #expect(overrides.list(of: .fixed(2), at: end) == [:])
        #expect(overrides.owners(at: end) == [])
        #expect(overrides.isEmpty)
    }

    @Test(arguments: [0, 1, 300])
    func theLastPositionIsThatOfTheLastMember(count: Int) throws {
        let shelf = try Shelf()
        var objects: [ObjectKey: [Value]?] = [
            .notebook(201): [.string("n")], .notebook(202): [.string("m")],
        ]
        for number in 1_000..<1_000 + count {
            objects[.article(number)] = [.string("a"), .placed(.fixed(201), .at(number))]
        }
        // The neighbouring lists are not affected.
        objects[.article(900)] = [.string("a"), .placed(.fixed(202), .at(9_999))]
        try shelf.commit(objects)
        let end = try notebookEnd()
        let (state, former) = (
            WorkingState(Shelf.schema, at: 1), WorkingState(Shelf.schema, at: 0)
        )
        let found = try shelf.file.read { reader in
            [
                try reader.lastPosition(of: .fixed(201), at: end),
                try state.lastPosition(of: .fixed(201), at: end, reader),
                try former.lastPosition(of: .fixed(201), at: end, reader),
            ]
        }
        let last = count == 0 ? nil : ListPosition.at(1_000 + count - 1)
        #expect(found == [last, last, nil])
    }
}
