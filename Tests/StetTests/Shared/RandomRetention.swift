import Foundation
import Stet
@testable import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// Random saves, undos, trims and redactions of three nodes that lag, are closed and lose their
/// files.
struct RandomRetention {
    private static let author = "lala"

    private let nodes: Nodes
    private let seed: UInt64
    private var generator: SeededGenerator
    private var stores: [String: Store] = [:]
    private var ids: [ObjectID] = []
    /// All names that an object has had, the last one last.
    private var names: [ObjectID: [String]] = [:]
    /// The names that must not be anywhere.
    private var redacted: Set<String> = []
    private var nameCount = 0

    init(_ nodes: Nodes, seed: UInt64) {
        (self.nodes, self.seed) = (nodes, seed)
        generator = SeededGenerator(seed: seed)
    }

    private mutating func random(_ count: Int) -> Int { .random(in: 0..<count, using: &generator) }

    /// Returns a random node, which is opened if it is closed.
    private mutating func node() throws -> Store {
        let name = "node \(random(3))"
        if let store = stores[name] { return store }
        do {
            let store = try nodes.open(name)
            stores[name] = store
            return store
        } catch let error as StoreError where error.code == .historyTrimmed {
            try removeFiles(of: name)
            let store = try nodes.open(name)
            stores[name] = store
            return store
        }
    }

    private func removeFiles(of name: String) throws {
        for file in try nodes.files where file.hasPrefix(name) {
            try FileManager.default.removeItem(atPath: nodes.directory.file(file))
        }
    }

    /// Closes a random node; returns its name.
    private mutating func close() -> String? {
        guard let name = stores.keys.sorted().randomElement(using: &generator) else { return nil }
        stores.removeValue(forKey: name)?.close()
        return name
    }

    mutating func step() async throws {
        do {
            switch random(16) {
            case 0..<6: try save()
            case 6: try await undoOrRedo { _ = try await $0.undo(author: Self.author) }
            case 7: try await undoOrRedo { _ = try await $0.redo(author: Self.author) }
            case 8, 9: try await node().refresh()
            case 10: try trim()
            case 11, 12: try redact()
            case 13: _ = close()
            case 14: if let name = close() { try removeFiles(of: name) }
            default:
                if random(2) == 0 { try await node().renewBase() } else { failNext() }
            }
        } catch let error as StoreError where error.code == .journalUnavailable {
            // An injected failure.
        } catch let error as StoreError where error.code == .historyTrimmed {
            // An open node lagged when the journal was trimmed.
            for name in stores.keys.sorted() {
                stores.removeValue(forKey: name)?.close()
                try removeFiles(of: name)
            }
        }
    }

    private mutating func undoOrRedo(_ body: (Store) async throws -> Void) async throws {
        do {
            try await body(node())
        } catch is UndoConflictError {
            // The object was changed or deleted since.
        } catch let error as StoreError where error.code == .erased {
            // The value that it would write back was redacted.
        }
    }

    private mutating func failNext() {
        switch random(3) {
        case 0: nodes.journal.failNext(.lostAnswer)
        case 1: nodes.journal.failNext(.lostRequest)
        default: nodes.journal.failNext(.unavailable)
        }
    }

    private mutating func save() throws {
        let context = try node().context(author: Self.author)
        nameCount += 1
        let name = "s\(seed)-\(nameCount)."
        var id = ids.randomElement(using: &generator)
        switch random(4) {
        case 0:
            let notebook = Notebook(name: name)
            context.insert(notebook)
            (id, ids) = (notebook.id, ids + [notebook.id])
        case 1:
            guard let id, let object = try context.object(Notebook.self, id: id) else { return }
            context.delete(object)
        default:
            guard let id, let object = try context.object(Notebook.self, id: id) else { return }
            object.name = name
        }
        do {
            try context.save()
            if let id { names[id, default: []].append(name) }
        } catch is ConflictError {
            // The node was behind.
        }
    }

    private mutating func trim() throws {
        let store = try node()
        let head = try store.revision().number
        try store.requestTrim(before: Revision(.random(in: 1...head + 1, using: &generator)))
            .confirm()
    }

    private mutating func redact() throws {
        let store = try node()
        guard let id = ids.randomElement(using: &generator) else { return }
        try StoreNode(store.file).follow()
        let present = try store.object(Notebook.self, id: id)?.name
        do {
            try store.requestRedaction(of: Notebook.self, id: id, \.name).confirm()
            redacted.formUnion(Set(names[id] ?? []).subtracting([present].compactMap { $0 }))
        } catch let error as StoreError where [.valueInUse, .notFound].contains(error.code) {}
    }

    /// Compares all nodes, and a new one.
    mutating func end() async throws {
        nodes.journal.failNext()
        stores.values.forEach { $0.close() }
        stores = [:]
        let all =
            try (0..<3).map { number in
                let name = "node \(number)"
                do {
                    return try nodes.open(name)
                } catch let error as StoreError where error.code == .historyTrimmed {
                    try removeFiles(of: name)
                    return try nodes.open(name)
                }
            } + [try nodes.open("new")]
        let last = try all[0].revision()
        for name in redacted { #expect(!nodes.journal.contains(name)) }
        let floor = try all.map { try $0.floor().number }.max() ?? 0
        for store in all {
            #expect(try store.revision() == last)
            #expect(try store.verify().problems == [])
            for number in floor...last.number {
                let names = try store.view(asOf: Revision(number)).fetch(Notebook.self)
                    .sorted(by: \.name).values(of: \.name)
                let expected = try all[0].view(asOf: Revision(number)).fetch(Notebook.self)
                    .sorted(by: \.name).values(of: \.name)
                #expect(names == expected)
                #expect(redacted.isDisjoint(with: names))
            }
        }
    }
}
