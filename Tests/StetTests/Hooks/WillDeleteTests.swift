import StetStore
import Testing

@testable import Stet

@Suite struct WillDeleteTests {
    @Test func theObjectCanBeReadAndEditedAndIsNotDeletedYet() throws {
        let scratch = try HookedStore()
        let target = try scratch.saved("target")
        let diary = try scratch.saved("a", next: target)
        var wasDeleted: Bool?
        diary.script.onDelete = { diary in
            wasDeleted = diary.isDeleted
            diary.next?.title = "its referrer went"
            diary.title = "last words"
        }
        scratch.context.delete(diary)
        #expect(wasDeleted == false)
        #expect(diary.isDeleted)
        #expect(diary.title == "last words")
        let changes = try #require(try scratch.context.save()).changes(of: Diary.self)
        #expect(changes.map(\.kind) == [.update, .delete])
        #expect(changes.first?.new[\.title] == "its referrer went")
    }

    @Test func itIsCalledOncePerDeletion() throws {
        let scratch = try HookedStore()
        let context = scratch.context
        let diary = try scratch.saved("a")
        context.delete(diary)
        context.delete(diary)
        #expect(diary.calls == ["willDelete"])
        context.insert(diary)
        context.delete(diary)
        #expect(diary.calls == ["willDelete", "willDelete"])
        try context.save()
        context.delete(diary)
        #expect(diary.calls == ["willDelete", "willDelete"])
    }

    @Test func deletionsInACycleEnd() throws {
        let scratch = try HookedStore()
        let (one, two) = (try scratch.saved("one"), try scratch.saved("two"))
        one.script.onDelete = { $0.context?.delete(two) }
        two.script.onDelete = { $0.context?.delete(one) }
        scratch.context.delete(one)
        #expect(one.calls == ["willDelete"])
        #expect(two.calls == ["willDelete"])
        #expect(one.isDeleted)
        #expect(two.isDeleted)
        #expect(try scratch.context.save()?.changeSet.changes.map(\.kind) == [.delete, .delete])
    }

    @Test func aRollbackTakesItsEffectsBack() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        let log = Diary("log")
        diary.script.onDelete = { diary in
            diary.title = "changed"
            diary.context?.insert(log)
        }
        scratch.context.delete(diary)
        scratch.context.rollback()
        #expect(diary.title == "a")
        #expect(!diary.isDeleted)
        #expect(log.context == nil)
    }

    @Test func deletionsWithoutAnEndAreRefused() throws {
        let scratch = try HookedStore()
        let diary = try scratch.saved("a")
        @Sendable func another(_ diary: Diary) {
            let next = Diary("more", Script(onDelete: another))
            diary.context?.insert(next)
            diary.context?.delete(next)
        }
        diary.script.onDelete = another
        scratch.context.delete(diary)
        let error = try #require(throws: ValidationError.self) { try scratch.context.save() }
        #expect(error.violations.contains { $0.code == .unsettled })
        #expect(!diary.isDeleted)
    }
}
