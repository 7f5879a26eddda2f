import StetStore
import Testing

@testable import Stet

/// What no hook may call.
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
                _ = try context.fetch(Diary.self)
            }
        }
        expectTrap("\(forbidden.message) inside didFetch()", result)
    }
}
