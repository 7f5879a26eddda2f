import StetTestSupport

@testable import Stet

/// A model with every hook; each test sets what they do.
@Model final class Diary {
    var title: String = ""
    var author: String?
    var next: Diary?
    @Transient var calls: [String] = []
    @Transient var script = Script()

    init(_ title: String, _ script: Script = Script()) {
        self.title = title
        self.script = script
    }

    func didInsert() {
        calls.append("didInsert")
        if author == nil { author = context?.author }
        script.onInsert(self)
    }

    func willDelete() {
        calls.append("willDelete")
        script.onDelete(self)
    }

    func didFetch() {
        calls.append("didFetch")
        FetchScript.current?.body(self)
    }
}

/// The actions of a diary's hooks, besides recording their calls.
struct Script {
    var onInsert: (Diary) -> Void = { _ in }
    var onDelete: (Diary) -> Void = { _ in }
}

/// The action of `didFetch`: an object that is being read has no script yet.
struct FetchScript: Sendable {
    @TaskLocal static var current: FetchScript?
    // Only the task that sets the action calls it.
    nonisolated(unsafe) let body: (Diary) -> Void

    static func run<Result>(
        _ body: @escaping (Diary) -> Void, while operation: () throws -> Result
    ) rethrows -> Result {
        try $current.withValue(FetchScript(body: body), operation: operation)
    }
}

@Model final class HookedAlbum {
    @Relationship(inverse: \HookedTrack.album) var tracks: ToMany<HookedTrack>
    init() {}
}

@Model final class HookedTrack {
    var album: HookedAlbum?
    @Transient var insertionCount = 0
    init() {}

    func didInsert() { insertionCount += 1 }
}

/// Hooks in an extension of the class.
@Model final class Extended {
    var title: String = ""
    init() {}
}

extension Extended {
    func didInsert() { title += "inserted " }
    func willSave() { if !title.hasSuffix("saved") { title += "saved" } }
}

/// Hooks in a protocol that the class adopts.
protocol Audited: Model {
    var auditor: String? { get set }
}

extension Audited {
    func didInsert() { auditor = context?.author }
}

@Model final class Audit: Audited {
    var auditor: String?
    init() {}
}

/// A model without hooks.
@Model final class Silent {
    var title: String = ""
    var diary: Diary?
    init() {}
}

/// A store of the models with hooks, and a context of lala's.
struct HookedStore {
    private let directory = TemporaryDirectory()
    let store: Store
    let context: ManagedContext

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Diary.self, Extended.self, Audit.self, Silent.self)
        context = store.context(author: "lala")
    }

    /// Inserts and saves a diary.
    func saved(_ title: String, next: Diary? = nil) throws -> Diary {
        let diary = Diary(title)
        diary.next = next
        context.insert(diary)
        try context.save()
        diary.calls = []
        return diary
    }
}
