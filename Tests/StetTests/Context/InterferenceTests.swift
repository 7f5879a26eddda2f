import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// A model whose hooks are set by each test; the suite is serialized.
@Model final class Hooked {
    var title: String = ""
    var flag: Bool = false
    var next: Hooked?
    var other: Hooked?
    @Attribute(.trimmed) var trimmed: String = ""
    @Transient var helper: Helper? = Hooked.onMake?()
    var count: Int = Hooked.defaultCount()
    init(_ title: String) { self.title = title }
    nonisolated(unsafe) static var onWillSave: ((Hooked) -> Void)?
    nonisolated(unsafe) static var onDeinit: ((Hooked) -> Void)?
    nonisolated(unsafe) static var onValidate: (() -> Void)?
    nonisolated(unsafe) static var onMake: (() -> Helper?)?
    nonisolated(unsafe) static var defaults = 0
    static func defaultCount() -> Int {
        defaults += 1
        return defaults
    }
    func willSave() { Hooked.onWillSave?(self) }
    deinit { Hooked.onDeinit?(self) }
    static var validators: Validators<Hooked> { Validators { _ in onValidate?() } }
    static func reset() {
        onWillSave = nil
        onDeinit = nil
        onValidate = nil
        onMake = nil
    }
}

final class Helper {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
    deinit { body() }
}

final class Box<T> {
    var value: T?
}

/// Objects that are moved between contexts, and hooks, validators and deinits that read or edit at
/// unexpected moments.
@Suite(.serialized) struct InterferenceTests {
    let directory = TemporaryDirectory()

    func open() throws -> Store {
        Hooked.reset()
        return try Store.open(at: directory.file(), for: Hooked.self)
    }

    func saved(_ titles: String...) throws -> (Store, ManagedContext, [Hooked]) {
        let store = try open()
        let context = store.context()
        let objects = titles.map { Hooked($0) }
        for object in objects { context.insert(object) }
        try context.save()
        return (store, context, objects)
    }

    static func open(_ directory: TemporaryDirectory) throws -> Store {
        Hooked.reset()
        return try Store.open(at: directory.file(), for: Hooked.self)
    }

    // MARK: Identity map

    @Test func anObjectOfAnotherContextDoesNotReplaceTheLoadedOne() throws {
        let store = try open()
        var first: ManagedContext? = store.context()
        let object = Hooked("a")
        first!.insert(object)
        try first!.save()
        first = nil
        #expect(object.context != nil)
        let second = store.context()
        let loaded = try #require(try second.object(Hooked.self, id: object.id))
        second.insert(object)
        #expect(try second.object(Hooked.self, id: object.id) === loaded)
        #expect(try second.fetch(Hooked.self).count() == 1)
        second.rollback()
        #expect(second.core.liveObjectCount == 1)
        #expect(try second.object(Hooked.self, id: object.id) === loaded)
    }

    @Test func aRefusedInsertionLeavesNoPointerToAFreedObject() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try InterferenceTests.open(directory)
            var first: ManagedContext? = store.context()
            var object: Hooked? = Hooked("a")
            let id = object!.id
            first!.insert(object!)
            try first!.save()
            first = nil
            let second = store.context()
            var loaded: Hooked? = try second.object(Hooked.self, id: id)
            second.insert(object!)
            second.rollback()
            let freed = Unmanaged.passUnretained(object!).toOpaque()
            object = nil
            var garbage: [[UInt64]] = []
            for count in 1..<40 {
                for _ in 0..<50 {
                    garbage.append([UInt64](repeating: 0x4141_4141_4141_4141, count: count))
                }
            }
            let table = second.core.table(for: Hooked.self)
            precondition(
                table.pointer(id) != UnsafeRawPointer(freed), "dangling pointer in the map")
            let again = try second.object(Hooked.self, id: id)
            precondition(again === loaded)
            loaded = nil
        }
    }

    @Test(arguments: [false, true])
    func insertingAnObjectOfAnotherContextIsRefused(isDeleted: Bool) throws {
        let store = try open()
        var first: ManagedContext? = store.context()
        let object = Hooked("a")
        first!.insert(object)
        try first!.save()
        if isDeleted {
            first!.delete(object)
            try first!.save()
        }
        let revision = try store.revision()
        first = nil
        let second = store.context()
        second.insert(object)
        let error = try #require(throws: ValidationError.self) { try second.save() }
        #expect(error.violations.map(\.code) == [.foreignObject])
        #expect(try store.revision() == revision)
        #expect(try store.verify().problems == [])
    }

    // MARK: Two contexts

    @Test func rollingBackOneObjectVoidsSnapshots() throws {
        let (_, context, objects) = try saved("a")
        objects[0].title = "b"
        let snapshot = context.snapshot()
        context.rollback(objects[0])
        #expect(snapshot.isVoid)
    }

    @Test func anObjectThatWasRolledBackCanBeInsertedIntoAnotherContext() throws {
        let store = try open()
        let first = store.context()
        let second = store.context()
        let object = Hooked("a")
        first.insert(object)
        let snapshot = first.snapshot()
        first.rollback(object)
        second.insert(object)
        #expect(snapshot.isVoid)
        #expect(object.context === second)
        #expect(!first.hasChanges)
        #expect(second.hasChanges)
    }

    @Test func aFailedEditLeavesAnObjectInOneContextOnly() throws {
        let store = try open()
        let first = store.context()
        let second = store.context()
        let object = Hooked("a")
        first.insert(object)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try first.edit {
                first.rollback(object)
                second.insert(object)
                throw Stop()
            }
        }
        let inFirst = try first.fetch(Hooked.self).count()
        let inSecond = try second.fetch(Hooked.self).count()
        #expect(inFirst + inSecond == 1)
        first.rollback()
        #expect(object.context === second)
        #expect(second.core.liveObjectCount == 1)
    }

    @Test func theOtherContextCanSaveAfterAFailedEdit() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let store = try InterferenceTests.open(directory)
            let first = store.context()
            let second = store.context()
            let object = Hooked("a")
            first.insert(object)
            _ = try? first.edit {
                first.rollback(object)
                second.insert(object)
                throw CocoaError(.featureUnsupported)
            }
            first.rollback()
            _ = try? second.save()
            let problems = try store.verify().problems
            precondition(problems.isEmpty, "\(problems)")
        }
    }

    // MARK: Following the store

    @Test func insertionsOfWillSaveAreMadeAgainWhenTheStoreHasMoved() throws {
        let (store, context, objects) = try saved("notebook", "a", "b")
        let (target, a, b) = (objects[0], objects[1], objects[2])
        let other = store.context()
        let otherB = try other.object(Hooked.self, id: b.id)!
        otherB.next = try other.object(Hooked.self, id: target.id)
        try other.save()
        Hooked.onWillSave = { object in
            if object === a, !object.flag {
                object.flag = true
                object.context?.insert(Hooked("log"))
            }
        }
        defer { Hooked.reset() }
        a.title = "edited"
        context.delete(target)
        try context.save()
        let all = try store.context().fetch(Hooked.self).all()
        #expect(all.first { $0.id == a.id }?.flag == true)
        #expect(all.contains { $0.title == "log" })
        #expect(try store.verify().problems == [])
    }
}
