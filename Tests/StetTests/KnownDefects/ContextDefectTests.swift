import Foundation
import Stet
import StetTestSupport
import Testing

/// Defects of contexts that attacks have found, each in the program that showed it.
@MainActor struct ContextDefectTests {
    private typealias Part = Crates.Part
    private typealias Crate = Crates.Crate

    // MARK: Places and members

    @Test("D1 rolling one object back leaves no place behind")
    func aPlaceGoesWithItsReference() throws {
        let scene = try CrateScene()
        let (context, a, b, part) = (
            scene.mine.context, scene.mine.a, scene.mine.b, scene.mine.parts[0]
        )
        b.shelf.append(part)
        context.rollback(part)
        #expect(a.shelf.names == ["1"])
        #expect(b.shelf.isEmpty)
        #expect(try context.save() == nil)
        #expect(try scene.stored().a.shelf.names == ["1"])
    }

    @Test("D1 an append that is taken back leaves no place behind in a merge")
    func anAppendThatIsTakenBackLeavesNothing() throws {
        let scene = try CrateScene()
        let (mine, theirs) = (scene.mine, scene.theirs)
        mine.b.shelf.append(mine.parts[0])
        mine.b.shelf.remove(mine.parts[0])
        mine.b.number = 1
        theirs.parts[1].number = 3
        try theirs.context.save()
        try mine.context.refresh()
        let commit = try #require(try mine.context.save())
        let changes = commit.changeSet.changes.map { "\($0.kind) \($0.entity)" }
        #expect(changes == ["update Crate", "update Part"])
        let stored = try scene.stored()
        #expect(stored.a.shelf.isEmpty)
        #expect(stored.b.shelf.isEmpty)
    }

    @Test("D2 members are right when pending objects are deleted, and when they come back")
    func membersFollowTheDeletionOfPendingObjects() throws {
        let scene = try CrateScene()
        let (context, a) = (scene.mine.context, scene.mine.a)
        for part in scene.mine.parts {
            part.number = 1
            a.parts.append(part)
        }
        #expect(a.parts.count == 3)
        for part in scene.mine.parts { context.delete(part) }
        #expect(a.parts.count == 0)
        #expect(a.parts.isEmpty)
        #expect(a.parts.first == nil)
        #expect(Array(a.parts).isEmpty)
        context.insert(scene.mine.parts[1])
        #expect(a.parts.names == ["2"])
        #expect(a.parts.count == 1)
    }

    @Test("D7 an appended member is the last one, also after one that was set from its own side")
    func anAppendedMemberIsTheLastOne() throws {
        let scene = try CrateScene()
        let (context, b, parts) = (scene.mine.context, scene.mine.b, scene.mine.parts)
        parts[1].shelf = b
        b.shelf.append(parts[2])
        #expect(b.shelf.names == ["2", "3"])
        try context.save()
        #expect(try scene.stored().b.shelf.names == ["2", "3"])
    }

    @Test("Low 4 inserting a member where it stands changes nothing")
    func insertingAMemberWhereItStandsIsNoChange() throws {
        let scene = try CrateScene()
        let (context, a, part) = (scene.mine.context, scene.mine.a, scene.mine.parts[0])
        a.shelf.insert(part, at: 0)
        #expect(try context.save() == nil)
    }

    // MARK: Merges

    @Test("D3 where the store wins, nothing of others is overwritten or deleted")
    func theStoreWinsOverAReferenceToWhatIsGone() throws {
        for policy in [MergePolicy.mergeStoreWins, .custom { $0.theirs }] {
            let scene = try CrateScene(policy)
            let (mine, theirs) = (scene.mine, scene.theirs)
            let target = Crate(name: "c")
            theirs.context.insert(target)
            try theirs.context.save()
            try mine.context.refresh()
            let x = try #require(try mine.context.object(Crate.self, id: target.id))
            mine.parts[0].crate = x
            mine.petal.crate = x
            theirs.parts[0].crate = theirs.b
            theirs.petal.crate = theirs.b
            theirs.context.delete(target)
            try theirs.context.save()
            #expect(try mine.context.save() == nil)
            let stored = try scene.stored()
            #expect(stored.parts[0].crate === stored.b)
            #expect(stored.petal.crate === stored.b)
        }
    }

    @Test("D5 a member that two contexts add is there once, and can be saved")
    func aMemberThatBothAddIsThereOnce() throws {
        for policy in [MergePolicy.fail, .mergeStoreWins, .mergeContextWins] {
            let scene = try CrateScene(policy)
            for view in [scene.theirs, scene.mine] {
                view.b.pins.append(view.parts[0])
                view.parts[0].marks.append(view.mark)
                if view === scene.theirs { try view.context.save() }
            }
            try scene.mine.context.refresh()
            #expect(scene.mine.b.pins.names == ["1"])
            #expect(scene.mine.parts[0].marks.count == 1)
            scene.mine.parts[0].marks.remove(scene.mine.mark)
            try scene.mine.context.save()
            let stored = try scene.stored()
            #expect(stored.b.pins.names == ["1"])
            #expect(stored.parts[0].marks.isEmpty)
        }
    }

    @Test("D6 an append to a list whose owner others have deleted is let go where the store wins")
    func anOwnerThatIsGoneIsNoContention() throws {
        let scene = try CrateScene(.mergeStoreWins)
        scene.mine.b.shelf.append(scene.mine.parts[1])
        scene.theirs.context.delete(scene.theirs.b)
        try scene.theirs.context.save()
        #expect(try scene.mine.context.save() == nil)
        #expect(scene.mine.parts[1].shelf == nil)
        #expect(try scene.store.verify().problems == [])
    }

    @Test("D8 an orphaning is not dropped by a merge, whether or not it is refreshed before")
    func anOrphaningSurvivesAMerge() throws {
        for refreshes in [false, true] {
            let scene = try CrateScene(.mergeStoreWins)
            scene.mine.petal.crate = nil
            scene.theirs.petal.number = 5
            try scene.theirs.context.save()
            if refreshes { try scene.mine.context.refresh() }
            let commit = try #require(try scene.mine.context.save())
            #expect(commit.changeSet.changes(of: .delete).map(\.entity) == ["Petal"])
            #expect(try scene.store.context().fetch(Crates.Petal.self).all() == [])
        }
    }

    @Test("D10 a refused edit after a merge leaves the context where it was")
    func aRefusedEditLeavesTheContextWhereItWas() throws {
        for keepsPending in [false, true] {
            let scene = try CrateScene(.mergeContextWins)
            let (mine, theirs) = (scene.mine, scene.theirs)
            mine.parts[1].key = "k"
            theirs.parts[0].crate = theirs.b
            theirs.parts[2].key = "k"
            try theirs.context.save()
            let error = #expect(throws: ValidationError.self) {
                if keepsPending {
                    mine.parts[0].number = 6
                    _ = try mine.context.save(onFailure: .keepPending)
                } else {
                    _ = try mine.context.edit { mine.parts[0].number = 6 }
                }
            }
            #expect(error?.violations.map(\.code) == [.notUnique])
            let crate = try #require(mine.parts[0].crate)
            #expect(crate.parts.names == ["1"])
            #expect([mine.a, mine.b].filter { $0 !== crate }.allSatisfy { $0.parts.isEmpty })
            let name = crate.name
            let found = try mine.context.fetch(Part.self) { $0.crate?.name == name }.all()
            #expect(found.map(\.id) == [mine.parts[0].id])
            mine.parts[1].key = "other"
            try mine.context.save()
            #expect(try scene.stored().parts[0].crate?.name == "b")
        }
    }

    @Test("D11 what is stamped only for a change that is merged away is not written")
    func aStampWithoutAChangeIsNotWritten() throws {
        let scene = try CrateScene(.mergeStoreWins)
        let before = scene.mine.a.updated
        scene.mine.a.parent = scene.mine.b
        scene.theirs.context.delete(scene.theirs.b)
        try scene.theirs.context.save()
        #expect(try scene.mine.context.save() == nil)
        #expect(scene.mine.a.parent == nil)
        #expect(scene.mine.a.updated == before)
    }

    @Test("D12 a cascade follows the references that are saved, not those that others have cleared")
    func aCascadeFollowsWhatOthersHaveMadeOfAReference() throws {
        let scene = try CrateScene(.mergeContextWins)
        scene.theirs.parts[0].next = scene.theirs.parts[1]
        try scene.theirs.context.save()
        try scene.mine.context.refresh()
        scene.mine.context.delete(scene.mine.parts[0])
        scene.theirs.parts[0].next = scene.theirs.parts[2]
        try scene.theirs.context.save()
        try scene.mine.context.save()
        #expect(try scene.store.context().fetch(Part.self).all().names == ["2"])
        #expect(try scene.store.verify().problems == [])
    }

    // MARK: Objects without a context

    @Test("D14 a long chain that is released outside a context needs no deep stack")
    func aLongChainIsReleased() throws {
        let scene = try CrateScene()
        // `STET_CHAIN=1000000` once by hand.
        let count = ProcessInfo.processInfo.environment["STET_CHAIN"].flatMap { Int($0) }
        for isRolledBack in [false, true] {
            weak var last: Part?
            do {
                var head = Part(name: "0")
                last = head
                for number in 1..<(count ?? 200_000) {
                    let part = Part(name: "\(number)")
                    part.next = head
                    head = part
                }
                if isRolledBack {
                    scene.mine.context.insert(head)
                    scene.mine.context.rollback()
                }
                #expect(head.next != nil)
            }
            #expect(last == nil, "rolled back: \(isRolledBack)")
        }
    }

    @Test("Service 1 an object keeps its context, and answers with its members")
    func anObjectKeepsItsContext() throws {
        let scene = try CrateScene()
        let part = try #require(
            try scene.store.context().object(Part.self, id: scene.mine.parts[0].id))
        #expect(part.crate?.name == "a")
        #expect(part.crate?.parts.count == 1)
        part.number = 9
        #expect(part.context?.hasChanges == true)
        try part.context?.save()
        #expect(try scene.stored().parts[0].number == 9)
    }

    @Test("Low 1 an object of a context that has gone, never saved, keeps what it refers to")
    func anObjectThatWasNeverSavedKeepsItsReferences() throws {
        let scene = try CrateScene()
        let part = Part(name: "new")
        part.crate = Crate(name: "new")
        scene.store.context().insert(part)
        #expect(part.crate?.name == "new")
        try part.context?.save()
        let fresh = try #require(try scene.store.context().object(Part.self, id: part.id))
        #expect(fresh.crate?.name == "new")
    }
}
