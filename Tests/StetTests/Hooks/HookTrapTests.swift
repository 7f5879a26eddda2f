import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// The calls that are forbidden in hooks.
enum Forbidden: String, CaseIterable, Codable {
    case save, edit, validate, refresh, rollback, rollbackOfOne, restore

    func call(_ diary: Diary, _ context: ManagedContext, _ snapshot: ManagedContext.Snapshot) {
        switch self {
        case .save: _ = try? context.save()
        case .edit: _ = try? context.edit {}
        case .validate: try? context.validate()
        case .refresh: try? context.refresh()
        case .rollback: context.rollback()
        case .rollbackOfOne: context.rollback(diary)
        case .restore: context.restore(snapshot)
        }
    }

    var message: String {
        switch self {
        case .save: "save(_:)"
        case .edit: "edit(_:_:)"
        case .validate: "validate()"
        case .refresh: "refresh()"
        case .rollback: "rollback()"
        case .rollbackOfOne: "rollback(_:)"
        case .restore: "restore(_:)"
        }
    }
}

/// A model whose default value reads or saves.
@Model private final class Eager {
    var title: String = ""
    var diary: Diary?
    @Transient var seen = Eager.onMake?() ?? 0
    init() {}
    @TaskLocal static var make: Make?
    static var onMake: (() -> Int)? { make?.body }

    struct Make: Sendable {
        // Only the task that sets the action calls it.
        nonisolated(unsafe) let body: () -> Int
    }
}

@Suite struct HookTrapTests {
    private func expectTrap(
        _ message: String, _ result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation
    ) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(message), sourceLocation: location)
    }

    @Test(arguments: Forbidden.allCases)
    func didInsertTraps(forbidden: Forbidden) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [forbidden] in
            let scratch = try HookedStore()
            let context = scratch.context
            let before = context.snapshot()
            context.insert(
                Diary("a", Script(onInsert: { forbidden.call($0, context, before) })))
        }
        expectTrap("\(forbidden.message) inside didInsert()", result)
    }

    @Test(arguments: Forbidden.allCases)
    func willDeleteTraps(forbidden: Forbidden) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [forbidden] in
            let scratch = try HookedStore()
            let context = scratch.context
            let diary = try scratch.saved("a")
            let before = context.snapshot()
            diary.script.onDelete = { forbidden.call($0, context, before) }
            context.delete(diary)
        }
        expectTrap("\(forbidden.message) inside willDelete()", result)
    }

    @Test(arguments: Forbidden.allCases)
    func didFetchTraps(forbidden: Forbidden) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [forbidden] in
            let scratch = try HookedStore()
            _ = try scratch.saved("a")
            let context = scratch.store.context()
            let before = context.snapshot()
            try FetchScript.run({ forbidden.call($0, context, before) }) {
                _ = try context.fetch(Diary.self).all()
            }
        }
        expectTrap("\(forbidden.message) inside didFetch()", result)
    }

    @Test func aDefaultValueThatSavesTraps() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let directory = TemporaryDirectory()
            let store = try Store.open(at: directory.file(), for: Eager.self, Diary.self)
            let context = store.context()
            context.insert(Eager())
            try context.save()
            let other = store.context()
            let save = Eager.Make {
                _ = try? other.save()
                return 1
            }
            try Eager.$make.withValue(save) { _ = try other.fetch(Eager.self).all() }
        }
        expectTrap("save(_:) inside a read", result)
    }

    @Test func didFetchOfWhatADefaultValueReadsWaitsForTheEndOfTheRead() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Eager.self, Diary.self)
        let context = store.context()
        context.insert(Eager())
        context.insert(Diary("a"))
        try context.save()
        let other = store.context()
        nonisolated(unsafe) var kept: [Diary] = []
        var callsInside: [[String]] = []
        let fetch = Eager.Make {
            kept = (try? other.fetch(Diary.self).all()) ?? []
            callsInside = kept.map(\.calls)
            return kept.count
        }
        let eager = try Eager.$make.withValue(fetch) { try other.fetch(Eager.self).all() }
        #expect(eager.map(\.seen) == [1])
        #expect(callsInside == [[]])
        #expect(kept.map(\.calls) == [["didFetch"]])
    }
}
