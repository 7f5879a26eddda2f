import StetStore
import StetTestSupport
import Testing

/// Undo, redo and revert of memberships and positions.
struct UndoMemberTests {
    private let shelf: Shelf
    private static let owner = UndoOwner(author: "a", scope: nil)

    init() throws { shelf = try Shelf() }

    private var file: StoreFile { shelf.file }

    @discardableResult
    private func undo(
        _ request: UndoRequest = .undo(owner), _ policy: UndoPolicy = .fail
    ) throws -> Commit? {
        let commit = try file.undo(request, policy)
        // Discarding a step makes a commit as well.
        let head = try file.read { try $0.head().revision }
        if head > shelf.revision { shelf.follow(try file.read { try $0.commit(head) }) }
        return commit
    }

    private func save(
        _ objects: [ObjectKey: [Value]?], _ links: [LinkKey: Membership] = [:],
        by author: String = "a"
    ) throws {
        try shelf.commit(objects, links, EditNote(author: author))
    }

    /// The kinds of the conflicts of an undo that is refused.
    private func conflicts(_ request: UndoRequest = .undo(owner)) throws -> [UndoConflict] {
        do {
            _ = try undo(request)
            return []
        } catch UndoWork.Refusal.conflicts(let conflicts, _) {
            return conflicts
        }
    }

    private func placed(_ notebook: Int, _ position: Int) -> [Value] {
        [.string("a"), .placed(.fixed(notebook), .at(position))]
    }

    /// Two notebooks, the first of which has articles at the positions 1, 2, and so on.
    private func fill(_ articles: ClosedRange<Int>, related: Bool = false) throws {
        var objects: [ObjectKey: [Value]?] = [
            .notebook(201): [.string("n")], .notebook(202): [.string("m")], .tag(301): [],
        ]
        var links: [LinkKey: Membership] = [:]
        objects[.article(100)] = [.string("source"), .null]
        for number in articles {
            objects[.article(number)] = placed(201, number - articles.lowerBound + 1)
            links[.relating(100, number)] = .present(.at(number - articles.lowerBound + 1))
        }
        try save(objects, links, by: "setup")
    }

    private func articles(_ notebook: Int = 201) throws -> [Int] {
        try file.members(of: .notebook(notebook), "articles").map(\.number)
    }

    private func related() throws -> [Int] {
        try file.members(of: .article(100), "related").map(\.number)
    }

    private func verified(_ note: Comment = "") throws {
        #expect(try file.verify().problems == [], note)
        for end in Shelf.schema.ends {
            for key in shelf.now.values.keys where key.entity == end.owner {
                let state = WorkingState(Shelf.schema, at: shelf.revision)
                let members = try file.read { try state.members(of: key.id, at: end, $0) }
                #expect(
                    members == shelf.members(of: key.id, at: end, asOf: shelf.revision), note)
            }
        }
    }

    // MARK: Random histories

    @Test(arguments: 0..<10)
    func undoingEverythingAndRedoingItPassesThroughTheSameStates(seed: UInt64) throws {
        var history = ShelfHistory(seed: 400 + seed)
        let count = 25
        for _ in 0..<count { try history.commit(to: shelf, EditNote(author: "a")) }
        func expect(_ index: Int) throws {
            let note: Comment = "seed \(seed), \(index)"
            #expect(shelf.now.values == shelf.states[index].values, note)
            #expect(shelf.now.links == shelf.states[index].links, note)
        }
        for index in (0..<count).reversed() {
            #expect(try undo() != nil)
            try expect(index)
        }
        #expect(try undo() == nil)
        try verified("seed \(seed), undone")
        for index in 1...count {
            #expect(try undo(.redo(Self.owner)) != nil)
            try expect(index)
        }
        try verified("seed \(seed), redone")
    }

    @Test(arguments: 0..<15)
    func aRevertChangesNothingButWhatItsCommitHasChanged(seed: UInt64) throws {
        var history = ShelfHistory(seed: 500 + seed)
        for _ in 0..<25 { try history.commit(to: shelf) }
        for round in 0..<25 {
            let note: Comment = "seed \(seed), round \(round)"
            let number = Int.random(in: 1...Int(shelf.revision.number), using: &history.random)
            let policies: [UndoPolicy] = [.fail, .skip, .overwrite]
            let (before, after) = (shelf.states[number - 1], shelf.states[number])
            let present = shelf.now
            do {
                guard
                    try undo(
                        .revert(Revision(UInt64(number))), policies[round % policies.count]) != nil
                else { continue }
            } catch UndoWork.Refusal.conflicts(let conflicts, _) {
                #expect(!conflicts.isEmpty, note)
                #expect(round % 3 != 1, note)
                continue
            }
            // An overwriting revert also changes the dependants of the objects that it deletes.
            if round % 3 != 2 { expectNothingElse(before, after, present, note) }
            expectTheSameOrder(before, after, present, note)
            if round % 5 == 0 { try verified(note) }
        }
        try verified("seed \(seed)")
    }

    private func expectNothingElse(
        _ before: Shelf.State, _ after: Shelf.State, _ present: Shelf.State, _ note: Comment
    ) {
        let now = shelf.now
        for key in Set(present.values.keys).union(now.values.keys)
        where before.values[key] == after.values[key] {
            let (old, new) = (present.values[key], now.values[key])
            #expect(old?.map(\.withoutPosition) == new?.map(\.withoutPosition), note)
        }
        for key in Set(present.links.keys).union(now.links.keys)
        where before.links[key] == after.links[key] {
            // A link between two deleted objects is deleted with them.
            let ids = Set(now.values.keys.map(\.id))
            if !ids.contains(key.source), !ids.contains(key.target) { continue }
            #expect((present.links[key] == nil) == (now.links[key] == nil), note)
        }
        for key in Set(before.links.keys).union(after.links.keys) {
            let isPresent = now.links[key] != nil
            #expect(
                isPresent == (present.links[key] != nil) || isPresent == (before.links[key] != nil),
                note)
        }
    }

    /// Members that the commit has not placed stand in the order in which they stood.
    private func expectTheSameOrder(
        _ before: Shelf.State, _ after: Shelf.State, _ present: Shelf.State, _ note: Comment
    ) {
        for end in Shelf.schema.ends where end.layout.isOrdered {
            for owner in (100...210).map(ObjectID.fixed) {
                func list(_ state: Shelf.State) -> [ObjectID: MemberPlace] {
                    Dictionary(
                        uniqueKeysWithValues: shelf.members(of: owner, at: end, in: state)
                            .map { ($0.id, $0) })
                }
                let (old, new) = (list(before), list(after))
                func others(_ state: Shelf.State) -> [ObjectID] {
                    shelf.members(of: owner, at: end, in: state).map(\.id)
                        .filter { old[$0] == new[$0] }
                }
                let remaining = Set(others(shelf.now))
                #expect(
                    others(present).filter(remaining.contains)
                        == others(shelf.now).filter(Set(others(present)).contains), note)
            }
        }
    }

    // MARK: Moves

    @Test func anUndoneMoveReordersNothingElse() throws {
        try fill(101...105)
        try save([.article(101): placed(201, 9)], [.relating(100, 101): .present(.at(9))])
        #expect(try articles() == [102, 103, 104, 105, 101])
        // Another author reverses the others, and moves one to another list.
        try save(
            [
                .article(105): placed(201, 1), .article(104): placed(201, 2),
                .article(102): placed(201, 4), .article(103): placed(202, 1),
            ],
            [
                .relating(100, 105): .present(.at(1)), .relating(100, 104): .present(.at(2)),
                .relating(100, 102): .present(.at(4)), .relating(100, 103): .absent,
            ], by: "b")
        #expect(try articles() == [105, 104, 102, 101])
        try undo()
        #expect(try articles() == [101, 105, 104, 102])
        #expect(try related() == [101, 105, 104, 102])
        #expect(try articles(202) == [103])
        try verified()
        try undo(.redo(Self.owner))
        #expect(try articles() == [105, 104, 102, 101])
        #expect(try related() == [105, 104, 102, 101])
        try verified()
    }

    @Test func anUndoneMoveReturnsBehindTheNeighbourThatItHad() throws {
        try fill(101...104)
        try save([.article(103): placed(201, 0)], [.relating(100, 103): .present(.at(0))])
        try save(
            [.article(102): placed(201, 20)], [.relating(100, 102): .present(.at(20))], by: "b")
        #expect(try articles() == [103, 101, 104, 102])
        try undo()
        // Its place was after 102.
        #expect(try articles() == [101, 104, 102, 103])
        #expect(try related() == [101, 104, 102, 103])
        try verified()
    }

    @Test func aMoveIsNoConflictWithAnotherMove() throws {
        try fill(101...103)
        try save([.article(101): placed(201, 9)], [.relating(100, 101): .present(.at(9))])
        try save(
            [.article(101): placed(201, 15)], [.relating(100, 101): .present(.at(15))], by: "b")
        #expect(try undo() == nil)
        #expect(try articles() == [102, 103, 101])
        #expect(try related() == [102, 103, 101])
        try verified()
    }

    @Test func aMoveToAnotherListIsAConflictWithAnotherOne() throws {
        try fill(101...103)
        try save([.notebook(203): [.string("third")]], by: "b")
        try save([.article(101): placed(202, 1)])
        try save([.article(101): placed(203, 7)], by: "b")
        let conflict = try #require(try conflicts().first)
        #expect(conflict.kind == .changed)
        #expect(conflict.property == "notebook")
        #expect(
            [conflict.before, conflict.after, conflict.current] == [
                .placed(.fixed(201), .at(1)), .placed(.fixed(202), .at(1)),
                .placed(.fixed(203), .at(7)),
            ])
        #expect(try undo(.undo(Self.owner), .skip) == nil)
        #expect(try articles(203) == [101])
        #expect(try undo(.revert(3), .overwrite) != nil)
        #expect(try articles() == [101, 102, 103])
        try verified()
    }

    /// An application knows owners and no positions.
    @Test func anAnswerThatNamesAnOwnerPutsTheObjectLast() throws {
        try fill(101...103)
        try save([.article(101): placed(202, 1)])
        try save([.article(101): [.string("a"), .null]], by: "b")
        try undo(.undo(Self.owner), .resolve { _ in .set(["notebook": .reference(.fixed(201))]) })
        #expect(try articles() == [102, 103, 101])
        try verified()
    }

    // MARK: Memberships

    @Test func anUndoneMembershipIsThereOrIsNotAtBothEnds() throws {
        try fill(101...102)
        try save([:], [.tagging(101, 301): .present(nil)])
        try save([:], [.tagging(102, 301): .present(nil)], by: "b")
        try undo()
        #expect(try file.members(of: .tag(301), "articles") == [.fixed(102)])
        #expect(try file.members(of: .article(101), "tags") == [])
        try undo(.redo(Self.owner))
        #expect(try file.members(of: .tag(301), "articles") == [101, 102].map(ObjectID.fixed))
        try verified()
    }

    @Test func aMembershipThatOthersHaveRemovedOrAddedIsNoConflict() throws {
        try fill(101...102)
        try save([:], [.tagging(101, 301): .present(nil)])
        try save([:], [.tagging(101, 301): .absent], by: "b")
        #expect(try undo() == nil)
        try save([:], [.tagging(101, 301): .present(nil)], by: "b")
        try save([:], [.tagging(101, 301): .absent])
        try save([:], [.tagging(101, 301): .present(nil)], by: "b")
        #expect(try undo() == nil)
        #expect(try file.members(of: .tag(301), "articles") == [.fixed(101)])
        try verified()
    }

    @Test func aMembershipOfAnObjectThatIsGoneIsAConflictThatCanBeSkipped() throws {
        try fill(101...102)
        try save([:], [.tagging(101, 301): .present(nil)], by: "b")
        try save(
            [.article(102): placed(201, 8)],
            [.tagging(101, 301): .absent])
        try save([.tag(301): nil], by: "b")
        let conflict = try #require(try conflicts().first)
        #expect(conflict.kind == .targetGone)
        #expect(conflict.property == "tags")
        #expect(conflict.object == .fixed(101))
        #expect(conflict.others == [.fixed(301)])
        // The rest of the commit is undone.
        let commit = try #require(try undo(.undo(Self.owner), .skip))
        #expect(commit.changeSet.changes.map(\.id) == [.fixed(102)])
        #expect(commit.metadata[PreparedUndo.skippedKey]?.hasPrefix("1; targetGone") == true)
        try verified()
    }

    @Test func aRestoredObjectHasItsMembershipsAndItsPositionsAgain() throws {
        try fill(101...103)
        try save([:], [.tagging(102, 301): .present(nil)], by: "b")
        let before = shelf.now
        try save(
            [.article(102): nil], [.tagging(102, 301): .absent, .relating(100, 102): .absent])
        try undo()
        #expect(shelf.now.values == before.values)
        #expect(shelf.now.links == before.links)
        #expect(try articles() == [101, 102, 103])
        #expect(try related() == [101, 102, 103])
        try verified()
    }

    @Test func anUndoneInsertionTakesTheMembershipsThatItHadAlong() throws {
        try fill(101...102)
        try save(
            [.article(109): placed(201, 9), .tag(309): []], [.tagging(109, 309): .present(nil)])
        try undo()
        #expect(try articles() == [101, 102])
        try verified()
        try undo(.redo(Self.owner))
        #expect(try file.members(of: .tag(309), "articles") == [.fixed(109)])
        try verified()
    }

    @Test func anUndoneInsertionThatOthersHaveLinkedIsAConflict() throws {
        try fill(101...102)
        try save([.tag(309): []])
        try save([:], [.tagging(101, 309): .present(nil)], by: "b")
        let conflict = try #require(try conflicts().first)
        #expect(conflict.kind == .collateral)
        #expect(conflict.others == [.fixed(101)])
        #expect(try undo(.undo(Self.owner), .skip) == nil)
        #expect(try file.members(of: .tag(309), "articles") == [.fixed(101)])
        #expect(try undo(.revert(2), .overwrite) != nil)
        #expect(try file.members(of: .article(101), "tags") == [])
        try verified()
    }

    /// A link between two objects that are both removed concerns no remaining object.
    @Test func aLinkThatOthersHaveMadeBetweenTwoUndoneObjectsGoesWithThem() throws {
        try fill(101...102)
        try save([.article(109): [.string("a"), .null], .tag(309): []])
        try save([:], [.tagging(109, 309): .present(nil)], by: "b")
        try undo()
        #expect(shelf.now.links[.tagging(109, 309)] == nil)
        #expect(shelf.now.values[.tag(309)] == nil)
        #expect(shelf.now.values[.article(109)] == nil)
        try verified()
    }
}

extension ObjectID {
    /// The number from which `fixed` made the id.
    var number: Int { Int(low & ~(1 << 63)) }
}

extension Value {
    /// A placed reference as one that names its owner only.
    var withoutPosition: Value { target.map(Value.reference) ?? self }
}
