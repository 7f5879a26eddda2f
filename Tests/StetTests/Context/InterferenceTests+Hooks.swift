import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

extension InterferenceTests {
    // MARK: willSave

    @Test func anObjectInsertedAgainInWillSaveMayBeReferredTo() throws {
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

    @Test func anObjectInsertedAgainInWillSaveIsNormalised() throws {
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

    @Test func endlessInsertionsInWillSaveAreReported() throws {
        let store = try open()
        let context = store.context()
        Hooked.onWillSave = { $0.context?.insert(Hooked("one more")) }
        defer { Hooked.reset() }
        context.insert(Hooked("a"))
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(Set(error.violations.map(\.code)) == [.unsettled])
    }

    // MARK: willCommit

    @Test func insertingADeletedObjectInWillCommitRefusesTheSave() throws {
        let (store, context, objects) = try saved("x")
        let x = objects[0]
        context.delete(x)
        let token = context.willCommit { _ in context.insert(x) }
        defer { token.cancel() }
        #expect(throws: ValidationError.self) { try context.save() }
        let isStored = try store.context().object(Hooked.self, id: x.id) != nil
        #expect(isStored)
        #expect(!x.isDeleted)
    }

    @Test func anEditInAValidatorRefusesTheSave() throws {
        let (store, context, objects) = try saved("x")
        let x = objects[0]
        x.title = "first"
        Hooked.onValidate = { x.title = "second" }
        defer { Hooked.reset() }
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code).contains(.editedDuringCommit))
        #expect(try store.context().object(Hooked.self, id: x.id)?.title == "x")
        #expect(x.title == "x")
        #expect(!x.hasChanges)
    }

    // MARK: Deinits of models

    @Test func aDeinitMayReadTheContextAfterAFailedEdit() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try InterferenceTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in _ = context.hasChanges }
            _ = try? context.edit {
                context.insert(Hooked("a"))
                throw CocoaError(.featureUnsupported)
            }
        }
    }

    @Test func aDeinitMayReadTheContextAfterASave() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try InterferenceTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in _ = context.hasChanges }
            context.insert(Hooked("a"))
            try context.save()
        }
    }

    @Test func aDeinitMayInsertIntoTheContextAfterARollback() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try InterferenceTests.open(directory)
            let context = store.context()
            Hooked.onDeinit = { [unowned(unsafe) context] _ in
                context.insert(Hooked("reborn"))
                Hooked.onDeinit = nil
            }
            context.insert(Hooked("a"))
            context.rollback()
        }
    }

    // MARK: Default values

    @Test func aDefaultValueThatFetchesKeepsTheIdentityOfObjects() throws {
        let (store, _, _) = try saved("x", "y", "z")
        let context = store.context()
        nonisolated(unsafe) var kept: [Hooked] = []
        Hooked.onMake = {
            Hooked.onMake = nil
            kept = (try? context.fetch(Hooked.self).all()) ?? []
            return nil
        }
        let all = try context.fetch(Hooked.self).all()
        let one = all.map { ObjectIdentifier($0) }
        let two = kept.map { ObjectIdentifier($0) }
        #expect(one == two)
        #expect(context.core.liveObjectCount == 3)
    }

    // MARK: Violations

    @Test func aReferenceToADeletedObjectIsRefused() throws {
        let (_, context, objects) = try saved("x", "a")
        let (x, a) = (objects[0], objects[1])
        context.delete(x)
        try context.save()
        a.next = x
        #expect(a.next == nil)
        let error = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error.violations.map(\.code) == [.deletedObjectEdited])
    }

    @Test func aRefusedReferenceCanBeCorrected() throws {
        let (store, context, objects) = try saved("x", "a")
        let foreign = store.context()
        let y = Hooked("y")
        foreign.insert(y)
        objects[0].next = y
        objects[0].title = "good"
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        objects[0].next = objects[1]
        try context.save(onFailure: .keepPending)
        #expect(!context.hasChanges)
    }

    @Test func rollingBackADeletedObjectForgetsItsViolation() throws {
        let (_, context, objects) = try saved("x")
        context.delete(objects[0])
        try context.save()
        objects[0].title = "edit"
        context.rollback(objects[0])
        #expect(!context.hasChanges)
        #expect(try context.save() == nil)
    }

    // MARK: Lifetimes

    @Test func aContextAndItsObjectsAreFreed() throws {
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
        #expect(weakContext == nil)
        #expect(weakA == nil)
        #expect(weakN == nil)
    }

    /// Inserts two objects that refer to each other.
    private func insertedCycle(in context: ManagedContext) -> (Hooked, Hooked) {
        let (a, b) = (Hooked("a"), Hooked("b"))
        context.insert(a)
        context.insert(b)
        a.next = b
        b.next = a
        return (a, b)
    }

    @Test func aCycleOfInsertedObjectsIsFreedAfterARollback() throws {
        let store = try open()
        weak var weakA: Hooked?
        do {
            let context = store.context()
            weakA = insertedCycle(in: context).0
            context.rollback()
        }
        #expect(weakA == nil)
    }

    @Test func theObjectsOfACycleCanBeRolledBackOneByOne() throws {
        let store = try open()
        weak var weakA: Hooked?
        do {
            let context = store.context()
            let (a, b) = insertedCycle(in: context)
            weakA = a
            context.rollback(a)
            #expect(a.context == nil)
            #expect(b.next === a)
            context.rollback(b)
            #expect(!context.hasChanges)
        }
        #expect(weakA == nil)
    }

    @Test func anObjectInsertedAgainInsertsItsNewTarget() throws {
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
