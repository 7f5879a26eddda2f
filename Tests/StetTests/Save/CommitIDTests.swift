#if STET_FAULTS
    import Foundation
    import StetStore
    import StetTestModels
    import StetTestSupport
    import Testing

    @testable import Stet

    /// Ids of commits that belong to another history, and the outcome of saves that are under way.
    @MainActor @Suite struct CommitIDTests {
        private let directory = TemporaryDirectory()

        private func open(_ name: String) throws -> Store {
            try Store.open(at: directory.file(name), for: Notebook.self, Article.self)
        }

        private func insert(_ name: String, _ context: ManagedContext) throws {
            context.insert(Notebook(name: name))
            try context.save(name)
        }

        private func expectWrongStore(_ body: () async throws -> Void) async {
            let error = await #expect(throws: StoreError.self) { try await body() }
            #expect(error?.code == .wrongStore)
        }

        // MARK: Another history

        /// A store that was restored from a backup of revision 1, and an id that was made at 3.
        private func restored() throws -> (store: Store, id: CommitID) {
            let original = try open("original.stet")
            try insert("one", original.context(author: "a"))
            original.close()
            try FileManager.default.copyItem(
                atPath: directory.file("original.stet"), toPath: directory.file("restored.stet"))
            let later = try open("original.stet")
            for name in ["two", "three"] { try insert(name, later.context()) }
            let id = try later.context().makeCommitID()
            later.close()
            return (try open("restored.stet"), id)
        }

        @Test func anIDFromBeyondTheHeadIsRefusedAndNothingIsSaved() async throws {
            let (store, id) = try restored()
            let context = store.context(author: "a")
            let notebook = Notebook(name: "payment")
            for _ in 0..<3 {
                context.insert(notebook)
                await expectWrongStore {
                    try await context.save(id: id, onFailure: .keepPending)
                }
                #expect(context.hasChanges)
                func saveNow() throws { try context.save(id: id) }
                await expectWrongStore { try saveNow() }
                #expect(!context.hasChanges)
            }
            await expectWrongStore { try await store.undo(author: "a", id: id) }
            #expect(try store.revision() == 1)
            #expect(store.outcome(of: id) == .unknown)
        }

        /// The store of `restored()` with commits of its own beyond the revision of the id.
        private func overtaken() throws -> (store: Store, id: CommitID) {
            let (store, id) = try restored()
            for name in ["other two", "other three", "other four"] {
                try insert(name, store.context(author: "a"))
            }
            return (store, id)
        }

        @Test(arguments: [0, 3] as [Revision])
        func anIDIsRefusedAfterTheCopyHasOvertakenIt(floor: Revision) async throws {
            let (store, id) = try overtaken()
            if floor > .zero { try store.requestTrim(before: floor.next).confirm() }
            let context = store.context(author: "a")
            context.insert(Notebook(name: "payment"))
            await expectWrongStore { try await context.save(id: id, onFailure: .keepPending) }
            #expect(context.hasChanges)
            await expectWrongStore { try await store.undo(author: "a", id: id) }
            await expectWrongStore { try await store.revert(4, id: id) }
            #expect(store.outcome(of: id) == .unknown)
            #expect(id.base == 3)
            #expect(try store.revision() == 4)
        }

        @Test func anIDOfTheCommonHistoryIsTakenInTheCopyToo() async throws {
            let original = try open("original.stet")
            try insert("one", original.context())
            let id = try original.context().makeCommitID()
            original.close()
            try FileManager.default.copyItem(
                atPath: directory.file("original.stet"), toPath: directory.file("copy.stet"))
            let copy = try open("copy.stet")
            try insert("two", copy.context())
            #expect(copy.outcome(of: id) == .notCommitted)
            let context = copy.context()
            context.insert(Notebook(name: "payment"))
            let commit = try #require(try await context.save(id: id))
            #expect(commit.id == id)
            #expect(commit.revision == 3)
            #expect(copy.outcome(of: id) == .committed(commit))
        }

        @Test func anIDOfTheLastTrimmedCommitIsTaken() async throws {
            let store = try open("trimmed.stet")
            let context = store.context()
            for name in ["one", "two"] { try insert(name, context) }
            let id = try context.makeCommitID()
            try store.requestTrim(before: .max).confirm()
            try store.file.trim(through: 2)
            #expect(store.outcome(of: id) == .notCommitted)
            context.insert(Notebook(name: "three"))
            #expect(try await context.save(id: id)?.revision == 3)
        }

        // MARK: Under way

        @Test func theOutcomeOfASaveThatWaitsForItsTurnIsUnknown() async throws {
            let desk = try Desk()
            let (context, store) = (desk.context, desk.store)
            let id = try context.makeCommitID()
            desk.notebook.name = "first"
            desk.hold()
            let first = await desk.send("first")
            desk.notebook.name = "second"
            let second = Task { try await context.save("second", id: id) }
            await until { !context.core.saves.waiting.isEmpty }
            #expect(store.outcome(of: id) == .unknown)
            try await desk.release()
            _ = try await first.value
            let commit = try #require(try await second.value)
            #expect(store.outcome(of: id) == .committed(commit))
        }

        @Test func theOutcomeOfASaveThatIsBeingPreparedIsUnknown() async throws {
            let desk = try Desk()
            let (context, store) = (desk.context, desk.store)
            let id = try context.makeCommitID()
            var seen: [Outcome] = []
            let observer = context.willCommit { _ in seen.append(store.outcome(of: id)) }
            defer { observer.cancel() }
            // The writer first refuses the save, because the notebook has another article now.
            try desk.elsewhere { other in
                let theirs = try other.object(Notebook.self, id: desk.notebook.id)
                other.insert(Article(title: "theirs", notebook: theirs))
            }
            context.delete(desk.notebook)
            let commit = try #require(try await context.save(id: id))
            #expect(seen == [.unknown, .unknown])
            #expect(store.outcome(of: id) == .committed(commit))
        }

        @Test func aSaveThatHasFailedIsNotUnderWayAnyMore() async throws {
            let desk = try Desk()
            let (context, store) = (desk.context, desk.store)
            let id = try context.makeCommitID()
            desk.notebook.name = ""
            await #expect(throws: ValidationError.self) { try await context.save(id: id) }
            #expect(store.outcome(of: id) == .notCommitted)
            desk.notebook.name = ""
            func saveNow() throws { try context.save(id: id) }
            #expect(throws: ValidationError.self) { try saveNow() }
            #expect(store.outcome(of: id) == .notCommitted)
        }

        @Test func theOutcomeOfAnUndoThatIsBeingPreparedIsUnknown() async throws {
            let desk = try Desk()
            let store = desk.store
            let id = try desk.context.makeCommitID()
            var seen: [Outcome] = []
            let policy = UndoPolicy.resolve { _ in
                seen.append(store.outcome(of: id))
                return .keep
            }
            desk.notebook.name = "mine"
            try desk.saveNow("mine")
            try desk.renameElsewhere()
            _ = try await store.undo(author: "lala", policy: policy, id: id)
            #expect(seen == [.unknown])
            // The step had no remaining effects, and was removed from its stack.
            let last = try #require(try store.journal().last)
            #expect(store.outcome(of: id) == .committed(last))
            #expect(last.changeCount == 0)
        }

        @Test func anIDIsOfOneKindOfCommit() async throws {
            let desk = try Desk()
            let (context, store) = (desk.context, desk.store)
            let (first, second) = try (context.makeCommitID(), context.makeCommitID())
            desk.notebook.name = "saved"
            try await context.save(id: first)
            try await store.undo(author: "lala", id: second)
            func expectInUse(_ body: () async throws -> Void) async {
                let error = await #expect(throws: StoreError.self) { try await body() }
                #expect(error?.code == .commitIDInUse)
            }
            await expectInUse { try await store.redo(author: "lala", id: second) }
            await expectInUse { try await store.undo(author: "lala", id: first) }
            await expectInUse { try await store.revert(2, id: second) }
            try context.refresh()
            desk.notebook.name = "other"
            await expectInUse { try await context.save(id: second) }
            #expect(try store.revision() == 3)
            #expect(try await store.undo(author: "lala", id: second)?.revision == 3)
            #expect(try await store.redo(author: "lala")?.revision == 4)
        }

        @Test func aStoreThatCannotBeReadMakesNoID() throws {
            let desk = try Desk()
            desk.store.close()
            let error = #expect(throws: StoreError.self) { try desk.context.makeCommitID() }
            #expect(error?.code == .storeClosed)
        }

        @Test func anUndoWithAnIDOfAnotherStoreIsRefused() async throws {
            let desk = try Desk()
            let id = try Scratch().store.context().makeCommitID()
            await expectWrongStore { try await desk.store.undo(author: "lala", id: id) }
            #expect(try desk.store.revision() == 1)
        }
    }
#endif
