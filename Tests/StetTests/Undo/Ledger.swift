import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// The models of the undo tests.
enum Ledger {
    @Model final class Notebook {
        @Attribute(.unique) var name: String
        var colour: String?
        @Attribute(.stamped(.update)) var updated: Date?
        @Relationship(deleteRule: .cascade, inverse: \Article.notebook) var articles:
            ToMany<Article>
        @Relationship(inverse: \Article.shelf) var shelf: OrderedToMany<Article>
        @Relationship(deleteRule: .deny, inverse: \Seal.notebook) var seals: ToMany<Seal>

        init(name: String) { self.name = name }
    }

    @Model final class Article {
        @Attribute(.notEmpty, .trimmed) var title: String
        @Attribute(.range(0...5)) var rating: Int = 0
        @Attribute(.stamped(.update)) var updated: Date?
        var notebook: Notebook?
        var shelf: Notebook?
        var next: Article?
        @Relationship(inverse: \Tag.articles) var tags: ToMany<Tag>
        var sources: OrderedToMany<Article>

        init(title: String, notebook: Notebook? = nil) {
            self.title = title
            self.notebook = notebook
        }

        static var validators: Validators<Article> {
            Validators { validation in
                guard let new = validation.new, new.title == new.id.description else { return }
                validation.report(\.title, "a title is no id")
            }
        }
    }

    @Model final class Tag {
        var name: String
        var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }

    @Model final class Seal {
        @Relationship(.required) var notebook: Notebook?
        var note: String = ""

        init(notebook: Notebook?) { self.notebook = notebook }
    }

    static let models: [any Model.Type] = [Notebook.self, Article.self, Tag.self, Seal.self]
}

/// All objects of a store by id: their values without the stamps, which time moves on, then for
/// each type of links whose source they are the targets.
typealias LedgerState = [ObjectID: [Value]]

/// A store that several authors write to, and that is closed and opened again.
final class LedgerDesk {
    typealias Notebook = Ledger.Notebook
    typealias Article = Ledger.Article
    typealias Tag = Ledger.Tag
    typealias Seal = Ledger.Seal

    private let directory = TemporaryDirectory()
    private(set) var store: Store
    private var seconds = 0.0

    init() throws { store = try Self.open(directory) }

    private static func open(_ directory: TemporaryDirectory) throws -> Store {
        try Store.open(at: directory.file("diary.stet"), for: Ledger.models)
    }

    /// One commit of an author.
    @discardableResult
    func edit(
        _ author: String?, scope: String? = nil, _ label: String? = nil,
        _ body: (ManagedContext) throws -> Void
    ) throws -> Revision {
        let context = store.context(author: author, scope: scope)
        try body(context)
        return try #require(try context.save(label)).revision
    }

    /// An object in a context.
    func object<M: Model>(_ type: M.Type, _ id: ObjectID, _ context: ManagedContext) throws -> M {
        try #require(try context.object(type, id: id))
    }

    /// Edits one object.
    @discardableResult
    func edit<M: Model>(
        _ author: String?, _ type: M.Type, _ id: ObjectID, _ body: (M) throws -> Void
    ) throws -> Revision {
        try edit(author) { context in try body(try object(type, id, context)) }
    }

    func delete<M: Deletable>(_ author: String?, _ type: M.Type, _ id: ObjectID) throws {
        try edit(author) { context in context.delete(try object(type, id, context)) }
    }

    /// Returns the state at a revision, by default the present one.
    func state(asOf revision: Revision? = nil) throws -> LedgerState {
        try store.file.read { reader in
            let schema = store.file.schema
            let revision = try revision ?? reader.head().revision
            var state: LedgerState = [:]
            var entityNames: [ObjectID: String] = [:]
            for (number, entity) in schema.entities.numbered {
                try reader.forEachRecord(ofEntity: number, asOf: revision) { id, record in
                    let body = try RecordBody(record.body, of: entity)
                    entityNames[id] = entity.name
                    state[id] = try entity.properties.slots
                        .filter { entity.properties[$0].stamp == nil }.map { try body.value($0) }
                    return true
                }
            }
            for link in schema.links.indices {
                guard let end = schema.ends(ofLink: link + 1)?.targets else { continue }
                for source in state.keys.sorted() {
                    guard schema.entities[end.owner].name == entityNames[source] else {
                        continue
                    }
                    let targets = try reader.linkedMembers(of: source, at: end, asOf: revision)
                    state[source]?.append(
                        .list(targets.map { .reference($0.id) }))
                }
            }
            return state
        }
    }

    /// The value of a property now; nil when the object does not exist.
    func value(_ id: ObjectID, _ name: String) throws -> Value? {
        try store.file.read { reader in
            let head = try reader.head().revision
            for (number, entity) in store.file.schema.entities.numbered {
                guard let slot = entity.slot(of: name) else { continue }
                let found = try reader.withRecord(ofEntity: number, id, asOf: head) { record in
                    try RecordBody(record.body, of: entity).value(slot)
                }
                if let found { return found }
            }
            return nil
        }
    }

    /// Closes the store and opens it again; it must be in order, and as it was.
    func reopen(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let before = try state()
        #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
        store.close()
        store = try Self.open(directory)
        #expect(try state() == before, sourceLocation: sourceLocation)
    }

    /// The state must be this one, now and when the store is opened again.
    func expect(_ state: LedgerState, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try self.state() == state, sourceLocation: sourceLocation)
        try reopen(sourceLocation: sourceLocation)
    }

    /// Undoes as an author, which is expected to be refused, with nothing changed: the conflicts.
    func conflicts(
        _ author: String, _ policy: UndoPolicy = .fail,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [UndoConflict] {
        let (before, revision) = (try state(), try store.revision())
        let stack = try store.undoStack(author: author)
        let error = #expect(throws: UndoConflictError.self, sourceLocation: sourceLocation) {
            try self.store.undo(author: author, policy: policy)
        }
        #expect(try state() == before, sourceLocation: sourceLocation)
        #expect(try store.revision() == revision, sourceLocation: sourceLocation)
        #expect(try store.undoStack(author: author) == stack, sourceLocation: sourceLocation)
        return error?.conflicts ?? []
    }

    /// Returns the order of a list as a context shows it.
    func order(_ notebook: ObjectID) throws -> String {
        let context = store.context()
        return try withExtendedLifetime(context) {
            try object(Notebook.self, notebook, context).shelf.map(\.title).joined()
        }
    }
}

extension [UndoConflict] {
    var kinds: [String] { map(\.kind.rawValue) }
}
