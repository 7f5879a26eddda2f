import Foundation
import Observation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Model(.observable) final class Watched {
    @Attribute(.trimmed) var title: String = ""
    var rating: Int = 0
    var next: Watched?
    @Attribute(.stamped(.update)) var updated: Date?
    init(_ title: String) { self.title = title }
}

/// A model with the same properties, without observation.
@Model final class Unwatched {
    @Attribute(.trimmed) var title: String = ""
    var rating: Int = 0
    var next: Unwatched?
    @Attribute(.stamped(.update)) var updated: Date?
    init(_ title: String) { self.title = title }
}

@Suite struct ObservationTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private let object: Watched

    init() throws {
        store = try Store.open(at: directory.file(), for: Watched.self, Unwatched.self)
        context = store.context()
        object = Watched("first")
        context.insert(object)
        try context.save()
    }

    /// Returns whether reading something is notified of a change while `change` runs.
    private func isTold<Value>(
        of read: () -> Value, by change: () throws -> Void
    ) rethrows -> Bool {
        let told = Told()
        withObservationTracking {
            _ = read()
        } onChange: {
            told.names.withLock { _ = $0.insert("read") }
        }
        try change()
        return told.names.withLock { $0 } == ["read"]
    }

    /// Returns the properties of the object that are notified of a change.
    private func told(by change: () throws -> Void) rethrows -> Set<String> {
        let told = Told()
        for (name, read) in [
            ("title", { _ = object.title }), ("rating", { _ = object.rating }),
            ("next", { _ = object.next }), ("updated", { _ = object.updated }),
            ("isDeleted", { _ = object.isDeleted }),
        ] as [(String, () -> Void)] {
            withObservationTracking(read) { told.names.withLock { _ = $0.insert(name) } }
        }
        try change()
        return told.names.withLock { $0 }
    }

    private final class Told: Sendable {
        let names = Monitor<Set<String>>([])
    }

    @Test func anEditTellsOfItsProperty() {
        #expect(told { object.title = "other" } == ["title"])
        #expect(told { object.next = object } == ["next"])
        #expect(told {} == [])
    }

    @Test func anEditThatIsRefusedTellsOfNothing() throws {
        context.delete(object)
        #expect(told { object.title = "other" } == [])
    }

    @Test func anObjectInNoContextIsObserved() {
        let free = Watched("free")
        #expect(isTold(of: { free.title }, by: { free.title = "other" }))
    }

    @Test func aRollbackTellsOfWhatItPutsBack() {
        object.title = "other"
        object.next = object
        #expect(told { context.rollback() } == ["title", "next"])
        object.rating = 3
        #expect(told { context.rollback(object) } == ["rating"])
    }

    @Test func aRestoreTellsOfWhatItPutsBack() {
        object.title = "other"
        let snapshot = context.snapshot()
        object.rating = 3
        #expect(told { context.restore(snapshot) } == ["rating"])
        #expect(told { context.restore(snapshot) } == [])
    }

    @Test func anEditThatThrowsTellsOfWhatItPutsBack() throws {
        #expect(
            told {
                _ = try? context.edit {
                    object.rating = 4
                    throw CancellationError()
                }
            } == ["rating"])
        #expect(object.rating == 0)
    }

    @Test func aRefreshTellsOfWhatOthersHaveChanged() throws {
        let other = store.context()
        let theirs = try #require(try other.object(Watched.self, id: object.id))
        theirs.rating = 5
        try other.save()
        #expect(try told { try context.refresh() } == ["rating", "updated"])
        other.delete(theirs)
        try other.save()
        #expect(try told { try context.refresh() } == ["isDeleted"])
    }

    @Test func aDeleteRuleTellsOfTheReferenceThatItEnds() throws {
        let target = Watched("target")
        object.next = target
        try context.save()
        context.delete(target)
        #expect(try told { try context.save() } == ["next", "updated"])
        #expect(object.next == nil)
    }

    @Test func normalisationAndStampsOfASaveAreTold() throws {
        object.title = "  other "
        #expect(try told { try context.save() } == ["title", "updated"])
        #expect(object.title == "other")
        object.rating = 2
        #expect(try told { try context.save() } == ["updated"])
    }

    @Test func aSaveThatFailsTellsOfWhatItPutsBack() throws {
        struct Refused: Error {}
        context.willCommit { _ in throw Refused() }
        object.rating = 2
        let told = told { _ = try? context.save() }
        #expect(told == ["rating"])
        #expect(object.rating == 0)
    }

    @Test func deletionAndItsEndAreTold() {
        #expect(told { context.delete(object) } == ["isDeleted"])
        #expect(told { context.insert(object) } == ["isDeleted"])
        context.delete(object)
        #expect(told { context.rollback() } == ["isDeleted"])
        #expect(!object.isDeleted)
    }

    @Test func whatWasFetchedIsObserved() throws {
        let other = store.context()
        let theirs = try #require(try other.fetch(Watched.self).first())
        #expect(isTold(of: { theirs.rating }, by: { theirs.rating = 1 }))
    }

    @Test func aModelThatDoesNotAskPaysNothing() {
        #expect((Watched.self as Any) is any Observable.Type)
        #expect((Unwatched.self as Any) is any Observable.Type == false)
        func fields(_ object: Any) -> [String?] { Mirror(reflecting: object).children.map(\.label) }
        let plain = ["_title", "_rating", "_next", "_updated", "_$state"]
        #expect(Set(fields(Unwatched(""))) == Set(plain))
        #expect(Set(fields(Watched(""))) == Set(plain + ["_$registrar"]))
        #expect(MemoryLayout<_ObjectRegistrar>.size == 8)
        let unwatched = Unwatched("")
        #expect(!isTold(of: { unwatched.title }, by: { unwatched.title = "other" }))
    }
}
