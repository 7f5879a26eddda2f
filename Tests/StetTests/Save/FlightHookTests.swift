import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Model private final class Counted {
    var title: String
    var saves: Int = 0
    var next: Counted?
    @Transient var lastTitle = ""

    init(_ title: String) { self.title = title }

    func willSave() {
        guard lastTitle != title else { return }
        lastTitle = title
        saves += 1
    }
}

/// A model whose objects count the preparations that they are part of.
@Model private final class Prepared {
    var count: Int = 0
    var other: Prepared?
    @Transient var isCounted = false

    init() {}

    func willSave() {
        isCounted.toggle()
        if isCounted { count += 1 }
    }
}

/// A model whose insertion is counted by what refers to it.
@Model private final class Entry {
    var entries: Int = 0
    var book: Entry?
    var target: Entry?

    init() {}

    func didInsert() { book?.entries += 1 }
}

@MainActor @Suite struct FlightHookTests {
    private let directory = TemporaryDirectory()

    @Test func hooksRunOncePerSaveOnWhatIsPendingThen() async throws {
        let store = try Store.open(at: directory.file(), for: Counted.self)
        let context = store.context()
        let counted = Counted("one")
        context.insert(counted)
        try await context.save()
        #expect(counted.saves == 1)
        counted.title = "two"
        let held = HeldWriter(store.file.environment)
        let save = Task { try await context.save() }
        await until { context.core.saves.inFlight != nil }
        #expect(counted.saves == 2)
        counted.title = "three"
        held.release()
        #expect(try await save.value?.changes(of: Counted.self).first?.new[\.saves] == 2)
        #expect(counted.saves == 2)
        #expect(try await context.save()?.changes(of: Counted.self).first?.new[\.saves] == 3)
    }

    @Test func hooksSeeThePendingChangesAnewWhenASaveIsPreparedAgain() async throws {
        let store = try Store.open(at: directory.file(), for: Prepared.self)
        let context = store.context()
        let (target, object) = (Prepared(), Prepared())
        context.insert(target)
        context.insert(object)
        try await context.save()
        #expect(target.count == 1)
        #expect(object.count == 1)
        let other = store.context()
        let referrer = Prepared()
        referrer.other = try other.object(Prepared.self, id: target.id)
        other.insert(referrer)
        try await other.save()
        context.delete(target)
        object.other = object
        let held = HeldWriter(store.file.environment)
        let save = Task { try await context.save() }
        await until { context.core.saves.inFlight != nil }
        #expect(object.count == 2)
        held.release()
        let commit = try #require(try await save.value)
        // Prepared twice, counted once.
        #expect(commit.changeSet.changes.map(\.kind) == [.delete, .update, .update])
        #expect(object.count == 2)
        let fresh = store.context()
        #expect(try fresh.object(Prepared.self, id: referrer.id)?.other == nil)
        #expect(try store.verify().problems == [])
    }

    @Test func whatDidInsertChangesInASaveIsChangedOnceWhenTheSaveIsPreparedAgain() async throws {
        let store = try Store.open(at: directory.file(), for: Entry.self)
        let context = store.context()
        let (book, target) = (Entry(), Entry())
        context.insert(book)
        context.insert(target)
        try await context.save()
        let other = store.context()
        let referrer = Entry()
        referrer.target = try other.object(Entry.self, id: target.id)
        other.insert(referrer)
        try await other.save()
        context.delete(target)
        // The save inserts the entry, because the book refers to it.
        let entry = Entry()
        entry.book = book
        book.target = entry
        let commit = try #require(try await context.save())
        #expect(book.entries == 1)
        #expect(entry.context === context)
        #expect(commit.changeSet.changes.map(\.kind).filter { $0 == .insert }.count == 1)
        #expect(try store.verify().problems == [])
    }
}
