#if STET_FAULTS
    import Foundation
    import Stet
    import StetTestModels
    import StetTestSupport
    import Testing

    /// An undo by a process that is killed, retried by another process with the same id.
    @Suite struct KilledUndoTests {
        private let directory = TemporaryDirectory()
        private let path: String
        private let article: ObjectID
        private let id: CommitID
        private let edit: Revision

        /// A store with an edit of the author "child", which is to be undone.
        init() throws {
            path = directory.file()
            let store = try Self.open(path)
            defer { store.close() }
            let context = store.context(author: "child")
            let article = Article(title: "before", notebook: Notebook(name: "n"))
            context.insert(article)
            try context.save("insert")
            article.title = "after"
            article.notebook = nil
            edit = try #require(try context.save("edit")).revision
            self.article = article.id
            id = try store.makeCommitID()
        }

        private static func open(_ path: String) throws -> Store {
            try Store.open(at: path, for: Notebook.self, Article.self)
        }

        private func undo(killedAt call: String, _ count: Int = 1) throws -> ChildProcess.Outcome {
            let text = String(decoding: try JSONEncoder().encode(id), as: UTF8.self)
            return try ChildProcess.run(["undo", path, text, call, "\(count)"])
        }

        /// Expects the edit to be there, or to be undone.
        private func expect(isUndone: Bool, in store: Store) throws {
            let context = store.context()
            let object = try #require(try context.object(Article.self, id: article))
            #expect(object.title == (isUndone ? "before" : "after"))
            #expect((object.notebook != nil) == isUndone)
            let stack = try store.undoStack(author: "child")
            #expect(stack.undo.map(\.label) == (isUndone ? ["insert"] : ["edit", "insert"]))
            #expect(stack.redo.map(\.label) == (isUndone ? ["edit"] : []))
            #expect(try store.revision().number == edit.number + (isUndone ? 1 : 0))
            #expect(try store.verify().problems == [])
        }

        /// Expects a retry with the id to give the one commit that undoes the edit.
        private func expectRetries() throws {
            let store = try Self.open(path)
            defer { store.close() }
            let commit = try #require(try store.undo(author: "child", id: id))
            #expect(commit.cause == .undo(of: edit))
            try expect(isUndone: true, in: store)
            #expect(try store.undo(author: "child", id: id) == commit)
            try expect(isUndone: true, in: store)
        }

        @Test("U26 An undo that is killed at any write leaves nothing, and a retry makes it once")
        func anUndoIsKilledAtEachWrite() throws {
            var outcome = try undo(killedAt: "put", 1)
            var kills = 0
            while outcome.wasKilled {
                kills += 1
                let store = try Self.open(path)
                try expect(isUndone: false, in: store)
                store.close()
                outcome = try undo(killedAt: "put", kills + 1)
            }
            #expect(kills > 2)
            #expect(outcome.lines == ["undone \(edit.number + 1)"])
            try expectRetries()
        }

        @Test(
            "U26 An undo that is killed while it commits is made once by a retry",
            arguments: [("commit", false), ("reportOfCommit", true)])
        func anUndoIsKilledAtItsCommit(call: String, isMade: Bool) throws {
            let outcome = try undo(killedAt: call)
            #expect(outcome.wasKilled)
            #expect(outcome.lines == [])
            let store = try Self.open(path)
            try expect(isUndone: isMade, in: store)
            store.close()
            try expectRetries()
        }
    }
#endif
