import StetStore
import Testing

@testable import Stet
@testable import StetLMDB

@Suite struct DidFetchTests {
    @Test func itIsCalledOnceWhereverAnObjectIsMadeFromItsRecord() throws {
        let scratch = try HookedStore()
        let target = try scratch.saved("target")
        let diary = try scratch.saved("a", next: target)
        let byFetch = scratch.store.context()
        let fetched = try byFetch.fetch(Diary.self).all()
        _ = try byFetch.fetch(Diary.self).all()
        #expect(fetched.map(\.calls) == [["didFetch"], ["didFetch"]])
        let byID = scratch.store.context()
        let found = try #require(try byID.object(Diary.self, id: diary.id))
        #expect(found.calls == ["didFetch"])
        #expect(found.next?.calls == ["didFetch"])
        #expect(diary.calls == [])
        #expect(target.calls == [])
    }

    @Test func aResultWithoutObjectsMakesNoneAndTheFirstOneMakesOne() throws {
        let scratch = try HookedStore()
        for title in ["a", "b", "c"] { _ = try scratch.saved(title) }
        let diaries = scratch.store.context().fetch(Diary.self)
        var calls = 0
        try FetchScript.run({ _ in calls += 1 }) { () throws -> Void in
            #expect(try diaries.count() == 3)
            #expect(try diaries.exists())
            #expect(try diaries.ids().count == 3)
            #expect(try diaries.snapshots().map(\.title) == ["a", "b", "c"])
            #expect(calls == 0)
            #expect(try diaries.first()?.title == "a")
            #expect(calls == 1)
            #expect(try diaries.all().map(\.title) == ["a", "b", "c"])
        }
        #expect(calls == 4)
    }

    @Test func itIsNotCalledWhenALivingObjectFollowsTheStore() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        let other = scratch.store.context()
        let seen = try #require(try other.object(Diary.self, id: diary.id))
        diary.title = "b"
        try scratch.context.save()
        try other.refresh()
        #expect(seen.title == "b")
        #expect(seen.calls == ["didFetch"])
    }

    @Test func editsInItAreRefusedAndToldByTheNextSave() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        let context = scratch.store.context()
        let found = try FetchScript.run({ diary in
            diary.title = "edited"
            diary.context?.insert(Diary("made"))
            diary.context?.delete(diary)
        }) { try #require(try context.object(Diary.self, id: diary.id)) }
        #expect(found.title == "a")
        #expect(!found.isDeleted)
        #expect(!found.hasChanges)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.editedDuringFetch, .editedDuringFetch])
        #expect(
            error.violations.first?.message
                == "Diary was edited by didFetch; it may set @Transient properties only")
        #expect(try context.save() == nil)
        found.title = "by hand"
        #expect(try context.save() != nil)
    }

    @Test func aReadInsideItMayReadMoreAndMeetsNoOpenTransaction() throws {
        let scratch = try HookedStore()
        let target = try scratch.saved("target")
        _ = try scratch.saved("a", next: target)
        let context = scratch.store.context()
        var readers: [Int] = []
        let all = try FetchScript.run({ diary in
            readers.append(
                scratch.store.file.environment.state.withLock {
                    $0.openTransactions.beginningsOfReads.count
                })
            diary.calls.append(diary.next?.title ?? "none")
            _ = try? diary.context?.fetch(Diary.self).all()
        }) { try context.fetch(Diary.self).all() }
        #expect(all.map(\.calls) == [["didFetch", "none"], ["didFetch", "target"]])
        #expect(readers == [0, 0])
    }

    @Test func aLongChainOfReferencesNeedsNoDeepStack() throws {
        let scratch = try HookedStore()
        var next: Diary?
        for index in 0..<20_000 {
            let diary = Diary("\(index)")
            diary.next = next
            scratch.context.insert(diary)
            next = diary
        }
        try scratch.context.save()
        let first = try #require(next)
        let context = scratch.store.context()
        var kept: [Diary] = []
        try FetchScript.run({ diary in
            if let next = diary.next { kept.append(next) }
        }) { kept.append(try #require(try context.object(Diary.self, id: first.id))) }
        #expect(kept.count == 20_000)
        #expect(kept.allSatisfy { $0.calls == ["didFetch"] })
    }

    @Test func theHookOfAnObjectThatASaveReadsIsPartOfTheSave() throws {
        let scratch = try HookedStore()
        let target = try scratch.saved("target")
        let referrer = try scratch.saved("referrer", next: target).id
        let context = scratch.store.context()
        let found = try #require(try context.object(Diary.self, id: target.id))
        context.delete(found)
        // The delete rule fetches the referrer.
        let error = try FetchScript.run({ $0.title = "edited" }) {
            try #require(throws: ValidationError.self) { try context.save() }
        }
        #expect(error.violations.map(\.object) == [referrer])
        #expect(error.violations.map(\.code) == [.editedDuringFetch])
        #expect(!found.isDeleted)
    }
}
