import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

extension AdversarialTests {
    // MARK: settle

    @Test func undeletedInWillSaveMayBeReferredTo() throws {
        let (store, context, objects) = try saved("x", "a")
        let (x, a) = (objects[0], objects[1])
        Hooked.onWillSave = { object in
            if object === a, object.next !== x {
                object.context?.insert(x)
                object.next = x
            }
        }
        defer { Hooked.reset() }
        context.delete(x)
        a.title = "edited"
        try context.save()
        #expect(!x.isDeleted)
        #expect(a.next === x)
        #expect(try store.verify().problems == [])
    }

    @Test func undeletedInWillSaveIsNormalised() throws {
        let (_, context, objects) = try saved("x", "a")
        let (x, a) = (objects[0], objects[1])
        Hooked.onWillSave = { object in if object === a { object.context?.insert(x) } }
        defer { Hooked.reset() }
        x.trimmed = "  space "
        context.delete(x)
        a.title = "edited"
        try context.save()
        #expect(x.trimmed == "space")
    }

    @Test func anUnsettledInsertIsNamed() throws {
        let store = try open()
        let context = store.context()
        Hooked.onWillSave = { $0.context?.insert(Hooked("one more")) }
        defer { Hooked.reset() }
        context.insert(Hooked("a"))
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(!error.violations.isEmpty)
    }

    // MARK: willCommit

    @Test func undeletedInWillCommit() throws {
        let (store, context, objects) = try saved("x")
        let x = objects[0]
        context.delete(x)
        let token = context.willCommit { _ in context.insert(x) }
        defer { token.cancel() }
        #expect(throws: ValidationError.self) { try context.save() }
        let isStored = try store.context().object(Hooked.self, id: x.id) != nil
        #expect(isStored == !x.isDeleted)
    }

    @Test func editInAValidator() throws {
        let (store, context, objects) = try saved("x")
        let x = objects[0]
        x.title = "first"
        Hooked.onValidate = { x.title = "second" }
        defer { Hooked.reset() }
        _ = try? context.save()
        let stored = try store.context().object(Hooked.self, id: x.id)!.title
        #expect(x.hasChanges || x.title == stored)
    }

    // MARK: deinit of user classes

    @Test func deinitThatLooksAtTheContextAfterAFailedEdit() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try AdversarialTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in _ = context.hasChanges }
            _ = try? context.edit {
                context.insert(Hooked("a"))
                throw CocoaError(.featureUnsupported)
            }
        }
    }

    @Test func deinitThatLooksAtTheContextAfterASave() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try AdversarialTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in _ = context.hasChanges }
            context.insert(Hooked("a"))
            try context.save()
        }
    }

    @Test func deinitThatLooksAtTheContextAfterARollback() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try AdversarialTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in
                context.insert(Hooked("reborn"))
                Hooked.onDeinit = nil
            }
            context.insert(Hooked("a"))
            context.rollback()
        }
    }

    // A transient helper of a dying object fetches on the context.

    // MARK: Default expressions

    @Test func defaultExpressionThatFetchesKeepsIdentity() throws {
        let (store, _, _) = try saved("x", "y", "z")
        let context = store.context()
        nonisolated(unsafe) var kept: [Hooked] = []
        Hooked.onMake = {
            Hooked.onMake = nil
            kept = (try? context.fetch(Hooked.self)) ?? []
            return nil
        }
        let all = try context.fetch(Hooked.self)
        let one = all.map { ObjectIdentifier($0) }
        let two = kept.map { ObjectIdentifier($0) }
        #expect(one == two)
        #expect(context.core.liveObjectCount == 3)
    }

    // MARK: References to what is deleted

    @Test func referenceToAnObjectWhoseDeletionIsSaved() throws {
        let (_, context, objects) = try saved("x", "a")
        let (x, a) = (objects[0], objects[1])
        context.delete(x)
        try context.save()
        a.next = x
        do {
            try context.save(onFailure: .keepPending)
            #expect(a.next == nil)
        } catch let error as ValidationError {
            print("REVIEW validation", error)
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func misuseCanBeMended() throws {
        let (store, context, objects) = try saved("x", "a")
        let foreign = store.context()
        let y = Hooked("y")
        foreign.insert(y)
        objects[0].next = y
        objects[0].title = "good"
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        objects[0].next = objects[1]
        #expect(throws: Never.self) { try context.save(onFailure: .keepPending) }
    }

    @Test func rollbackOfADeletedObjectForgetsItsMisuse() throws {
        let (_, context, objects) = try saved("x")
        context.delete(objects[0])
        try context.save()
        objects[0].title = "edit"
        context.rollback(objects[0])
        #expect(!context.hasChanges)
    }

    // MARK: Retention

    @Test func contextAndObjectsAreFreed() throws {
        let store = try open()
        weak var weakContext: ManagedContext?
        weak var weakA: Hooked?
        weak var weakN: Hooked?
        do {
            let context = store.context()
            weakContext = context
            let a = Hooked("a")
            weakA = a
            context.insert(a)
            try context.save()
            let n = Hooked("n")
            weakN = n
            n.next = a
            a.next = n
            let snapshot = context.snapshot()
            a.title = "z"
            context.restore(snapshot)
            try context.save()
        }
        #expect(weakContext == nil && weakA == nil && weakN == nil)
    }

    @Test func failedSaveOfACycleDoesNotLeak() throws {
        let store = try open()
        weak var weakA: Hooked?
        do {
            let context = store.context()
            let a = Hooked("a")
            weakA = a
            let b = Hooked("b")
            context.insert(a)
            context.insert(b)
            a.next = b
            b.next = a
            context.rollback()
        }
        #expect(weakA == nil)
    }

    @Test func rollbackOfTwoInsertedOnesThatReferToEachOther() throws {
        let store = try open()
        weak var weakA: Hooked?
        do {
            let context = store.context()
            let a = Hooked("a")
            weakA = a
            let b = Hooked("b")
            context.insert(a)
            context.insert(b)
            a.next = b
            b.next = a
            context.rollback(a)
            #expect(a.context == nil && b.next === a)
            context.rollback(b)
            #expect(!context.hasChanges)
        }
        #expect(weakA == nil)
    }

    @Test func uninsertedTargetOfADeletedObject() throws {
        let (store, context, objects) = try saved("x")
        let x = objects[0]
        x.next = Hooked("n")
        context.delete(x)
        context.insert(x)
        try context.save()
        #expect(x.next?.title == "n")
        #expect(try store.verify().problems == [])
    }

}
