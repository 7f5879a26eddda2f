import StetStore
import Testing

@testable import Stet

@Suite struct DidInsertTests {
    @Test func defaultsFromTheContextArePartOfTheInsert() throws {
        let scratch = try HookedStore()
        let diary = Diary("a")
        #expect(diary.calls == [])
        scratch.context.insert(diary)
        #expect(diary.author == "lala")
        #expect(diary.calls == ["didInsert"])
        let commit = try #require(try scratch.context.save())
        #expect(commit.changes(of: Diary.self).map(\.kind) == [.insert])
        #expect(commit.changes(of: Diary.self).first?.new[\.author] == "lala")
    }

    @Test func whatIsReachedIsInItsContextBeforeAnyHookRuns() throws {
        let scratch = try HookedStore()
        let target = Diary("target")
        var isThere = false
        let diary = Diary("a", Script(onInsert: { isThere = $0.next?.context === $0.context }))
        diary.next = target
        scratch.context.insert(diary)
        #expect(isThere)
        #expect(target.calls == ["didInsert"])
        #expect(target.author == "lala")
    }

    @Test func whatIsReachedBySaveOnlyIsCalled() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        let late = Diary("late")
        diary.next = late
        #expect(late.calls == [])
        let commit = try #require(try scratch.context.save())
        #expect(late.calls == ["didInsert"])
        #expect(commit.changes(of: Diary.self).map(\.kind) == [.update, .insert])
        #expect(commit.changes(of: Diary.self).last?.new[\.author] == "lala")
    }

    @Test func itIsNotCalledAgainByRestoreSaveFetchOrATakenBackDeletion() throws {
        let scratch = try HookedStore()
        let context = scratch.context
        let diary = Diary("a")
        let before = context.snapshot()
        context.insert(diary)
        let inserted = context.snapshot()
        context.delete(diary)
        context.insert(diary)
        context.restore(inserted)
        context.insert(diary)
        #expect(diary.calls == ["didInsert", "willDelete"])
        context.restore(before)
        #expect(diary.context == nil)
        #expect(diary.author == nil)
        context.insert(diary)
        try context.save()
        _ = try context.fetch(Diary.self).all()
        #expect(diary.calls == ["didInsert", "willDelete", "didInsert"])
    }

    @Test func aRollbackTakesItsEffectsBack() throws {
        let scratch = try HookedStore()
        let context = scratch.context
        let log = try scratch.saved("log")
        let made = Diary("made")
        let diary = Diary(
            "a",
            Script(onInsert: { diary in
                diary.title = "changed"
                log.title = "changed"
                diary.context?.insert(made)
            }))
        context.insert(diary)
        #expect(log.title == "changed")
        #expect(made.context === context)
        context.rollback()
        #expect(diary.title == "a")
        #expect(diary.author == nil)
        #expect(diary.context == nil)
        #expect(log.title == "log")
        #expect(made.context == nil)
        #expect(!context.hasChanges)
    }

    @Test func aCycleOfInsertionsCallsEachObjectOnce() throws {
        let scratch = try HookedStore()
        let (one, two) = (Diary("one"), Diary("two"))
        one.script.onInsert = { $0.context?.insert(two) }
        two.script.onInsert = { $0.context?.insert(one) }
        scratch.context.insert(one)
        #expect(one.calls == ["didInsert"])
        #expect(two.calls == ["didInsert"])
        #expect(try scratch.context.save()?.changeSet.changes.count == 2)
    }

    @Test func aMemberOfAnInsertedObjectIsNotInserted() throws {
        let context = try Store.inMemory(for: HookedAlbum.self, HookedTrack.self).context()
        let track = HookedTrack()
        context.insert(track)
        try context.save()
        let (album, other) = (HookedAlbum(), HookedTrack())
        album.tracks = ToMany([track, other])
        context.insert(album)
        #expect(track.album === album)
        #expect(track.insertionCount == 1)
        #expect(other.insertionCount == 1)
        let second = HookedAlbum()
        second.tracks = ToMany([track])
        context.insert(second)
        #expect(track.insertionCount == 1)
    }

    @Test func insertionsWithoutAnEndAreRefused() throws {
        let scratch = try HookedStore()
        @Sendable func another(_ diary: Diary) {
            diary.context?.insert(Diary("more", Script(onInsert: another)))
        }
        scratch.context.insert(Diary("first", Script(onInsert: another)))
        let error = try #require(throws: ValidationError.self) { try scratch.context.save() }
        #expect(error.violations.map(\.code) == [.unsettled])
        #expect(
            error.description == "Diary was reached by didInsert inside 64 other hooks")
        #expect(!scratch.context.hasChanges)
        #expect(try scratch.store.revision() == 0)
    }

    @Test func hooksInExtensionsAndInProtocolsAreCalled() throws {
        let scratch = try HookedStore()
        let (extended, audit) = (Extended(), Audit())
        scratch.context.insert(extended)
        scratch.context.insert(audit)
        try scratch.context.save()
        #expect(extended.title == "inserted saved")
        #expect(audit.auditor == "lala")
    }

    @Test func whichHooksAModelHasIsKnownFromItsType() {
        #expect(Diary._$hasDidInsert)
        #expect(Diary._$hasWillDelete)
        #expect(Diary._$hasDidFetch)
        #expect(Extended._$hasDidInsert)
        #expect(Extended._$hasEditingHook)
        #expect(!Extended._$hasDidFetch)
        #expect(Audit._$hasDidInsert)
        #expect(!Audit._$hasWillDelete)
        #expect(!Audit._$hasDidFetch)
        #expect(!Silent._$hasDidInsert)
        #expect(!Silent._$hasEditingHook)
        #expect(!Silent._$hasDidFetch)
    }

    @Test func anAppliedChangeSetIsTakenAsItIs() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        scratch.context.insert(Diary("new"))
        scratch.context.delete(diary)
        let changes = scratch.context.changes
        let other = scratch.store.context(author: "other")
        try other.apply(changes)
        #expect(other.changes == changes)
        let calls = other.core.pending.objects.compactMap { ($0.object as? Diary)?.calls }
        #expect(calls.count == 2)
        #expect(!calls.joined().contains("didInsert"))
        #expect(!calls.joined().contains("willDelete"))
    }
}
