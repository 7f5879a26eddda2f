import Foundation
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// The contract of the save sequence, step by step, up to validation.
@Suite struct SaveSequenceContractTests {
    // MARK: 0 to 2

    @Test("0: whatever the save has changed by itself is as before when it fails")
    func whatTheSaveChangedIsPutBack() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a", "b", "referrer")
        saved[2].partner = saved[1]
        try context.save()
        let updated = saved.map(\.updated)
        context.willCommit { _ in throw Stop() }
        saved[0].title = "  padded "
        saved[0].onSave = { subject in
            subject.onSave = nil
            subject.count = 7
            subject.context?.insert(Subject("log"))
        }
        context.delete(saved[1])
        #expect(throws: Stop.self) { try context.save(onFailure: .keepPending) }
        #expect(saved[0].title == "  padded ")
        #expect(saved[0].count == 0)
        #expect(saved[2].partner === saved[1])
        #expect(!saved[2].hasChanges)
        #expect(saved.map(\.updated) == updated)
        #expect(try context.fetch(Subject.self).count() == 2)
        #expect(context.changes.changes.map(\.kind) == [.update, .delete])
    }

    @Test("1: changed attributes are normalised, others not")
    func onlyChangedAttributesAreNormalised() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a")
        // Stored without normalisation, like the data of an older version of the model.
        let other = subjects.store.context()
        let raw = Subject("b")
        raw.onSave = { if $0.title != "raw" { $0.title = "  raw " } }
        other.insert(raw)
        let change = try #require(other.changes.changes.first)
        #expect(change["title"]?.new == .string("b"))
        saved[0].title = "\n\ttrim me \u{3000}"
        try context.save()
        #expect(saved[0].title == "trim me")
        // A change by a hook is normalised, too.
        try other.save()
        #expect(raw.title == "raw")
    }

    @Test("2: delete rules act on the stored reverse index, whatever is loaded")
    func deleteRulesDoNotDependOnWhatIsLoaded() throws {
        for loads in [true, false] {
            let subjects = try Subjects()
            let (writer, saved) = try subjects.saved("target", "one", "two")
            for subject in saved { subject.partner = saved[0] }
            try writer.save()
            let context = subjects.store.context()
            let loaded = loads ? try context.fetch(Subject.self).all() : []
            let target = try #require(try context.object(Subject.self, id: saved[0].id))
            context.delete(target)
            let commit = try #require(try context.save())
            #expect(commit.changes(of: Subject.self).map(\.kind) == [.delete, .update, .update])
            #expect(loaded.filter { !$0.isDeleted && $0.partner != nil }.isEmpty)
            let reader = subjects.store.context()
            #expect(try reader.fetch(Subject.self).all().map(\.partner) == [nil, nil])
            #expect(try subjects.store.verify().problems == [])
        }
    }

    @Test("2: delete rules see references that are pending, moved to the target and away from it")
    func deleteRulesSeePendingReferences() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("target", "away", "towards")
        saved[1].partner = saved[0]
        try context.save()
        saved[1].partner = saved[2]
        saved[2].partner = saved[0]
        let fresh = Subject("fresh")
        fresh.partner = saved[0]
        context.insert(fresh)
        context.delete(saved[0])
        try context.save()
        #expect(saved[1].partner === saved[2])
        #expect(saved[2].partner == nil)
        #expect(fresh.partner == nil)
        #expect(try subjects.store.verify().problems == [])
    }

    @Test("2: a whole cycle is deleted, with who refers to it from outside kept")
    func aCycleIsDeleted() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a", "b", "c", "outside")
        for (one, two) in [(0, 1), (1, 2), (2, 0), (3, 0)] { saved[one].partner = saved[two] }
        try context.save()
        for subject in saved[..<3] { context.delete(subject) }
        #expect(try context.save()?.changeCount == 4)
        #expect(try subjects.store.context().fetch(Subject.self).all().map(\.title) == ["outside"])
        #expect(try subjects.store.verify().problems == [])
    }

    @Test("2: `willSave` of what changed since the last round, at most 8 rounds", arguments: 1...9)
    func atMostEightRounds(changes: Int) throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("restless", "quiet")
        var calls = 0
        var quietCalls = 0
        saved[0].onSave = { subject in
            calls += 1
            if subject.count <= changes { subject.count += 1 }
        }
        saved[1].onSave = { _ in quietCalls += 1 }
        saved[0].count = 1
        saved[1].count = 1
        // The last round must be one in which nothing changes.
        if changes < 8 {
            try context.save()
            #expect(calls == changes + 1)
            #expect(saved[0].count == changes + 1)
        } else {
            let error = try #require(throws: ValidationError.self) { try context.save() }
            #expect(error.violations.map(\.code) == [.unsettled])
            #expect(calls == 8)
            #expect(saved[0].count == 0)
        }
        #expect(quietCalls == 1)
    }

    @Test("2: the error names object, property and hook")
    func theErrorOfARestlessHookNamesIt() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("restless")
        saved[0].onSave = { $0.ratio += 1 }
        saved[0].title = "edited"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.object) == [saved[0].id])
        #expect(error.violations.map(\.property) == ["ratio"])
        #expect(error.description.contains("willSave"))
    }

    @Test("2: a hook may insert, edit others and delete; the rules of its deletions run, too")
    func aHookMayDoEverything() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a", "victim", "referrer", "edited")
        saved[2].partner = saved[1]
        try context.save()
        saved[0].onSave = { [victim = saved[1], edited = saved[3]] subject in
            subject.onSave = nil
            subject.context?.delete(victim)
            edited.title = "  by the hook "
            subject.partner = Subject("  inserted ")
        }
        saved[0].count = 1
        #expect(try context.save()?.changeCount == 5)
        let reader = subjects.store.context()
        let fresh = try reader.fetch(Subject.self).all()
        #expect(fresh.map(\.title) == ["a", "referrer", "by the hook", "inserted"])
        #expect(fresh.map(\.partner?.title) == ["inserted", nil, nil, nil])
        #expect(try subjects.store.verify().problems == [])
    }

    // MARK: 3 to 5

    @Test("3: the net change set is the difference of stored bytes; empty gives nil")
    func theNetChangeSetIsADifferenceOfBytes() throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a", "b")
        saved[0].count = 1
        saved[0].count = 0
        saved[1].ratio = .nan
        let commit = try #require(try context.save())
        #expect(commit.changes(of: Subject.self).map(\.id) == [saved[1].id])
        #expect(commit.changes(of: Subject.self)[0].changedProperties == ["ratio", "updated"])
        // Equal bits are no change; different bits are.
        saved[1].ratio = .nan
        #expect(try context.save() == nil)
        saved[1].ratio = Double(nan: 7, signaling: false)
        #expect(try context.save()?.changeCount == 1)
        // The strings are equal in Swift.
        saved[0].title = "\u{e9}"
        try context.save()
        saved[0].title = "e\u{301}"
        #expect(try context.save()?.changeCount == 1)
    }

    @Test("4: stamps only on objects with a net change, one time for all")
    func stampsAreOneTimeForAll() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        let others = (0..<3).map { Notebook(name: "\($0)") }
        for other in others { context.insert(other) }
        try context.save()
        let before = notebook.updated
        scratch.now = Date(timeIntervalSinceReferenceDate: 5_000)
        others[0].name = "edited"
        others[1].name = "edited"
        others[2].name = "2 "
        notebook.name = " Swift"
        let commit = try #require(try context.save())
        #expect(commit.time == scratch.now)
        #expect(commit.changeCount == 2)
        #expect(others[0].updated == scratch.now)
        #expect(others[1].updated == scratch.now)
        #expect(others[2].updated != scratch.now)
        #expect(notebook.updated == before)
        #expect(notebook.created == Date(timeIntervalSinceReferenceDate: 1_000))
    }

    @Test("5: validation of properties and objects: one error lists everything, in total order")
    func oneErrorListsEverythingInTotalOrder() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let late = Article(title: "")
        late.rating = 9
        let early = Article(title: String(repeating: "x", count: 26))
        context.insert(early)
        context.insert(late)
        notebook.name = " "
        article.rating = 5
        let other = scratch.store.context()
        article.notebook = try other.object(Notebook.self, id: notebook.id)
        let first = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        let found = first.violations.map {
            "\($0.object == nil ? "" : $0.entity).\($0.property ?? "")"
        }
        #expect(
            found == [
                "Article.notebook", "Article.title", "Article.title", "Article.rating",
                "Notebook.name",
            ])
        #expect(
            first.violations.map(\.object) == [
                article.id, early.id, late.id, late.id, notebook.id,
            ])
        // Validators in code skip objects with an invalid attribute.
        let second = try #require(throws: ValidationError.self) { try context.save() }
        // Insertions come before updates.
        #expect(
            second.violations.map(\.object) == [
                early.id, late.id, late.id, article.id, notebook.id,
            ])
        #expect(
            second.violations.map(\.code)
                == [.tooLong, .tooShort, .tooLarge, .custom, .tooShort])
    }

    @Test("5b: `willCommit` observers run on this isolation and may throw")
    @MainActor func willCommitObserversMayThrow() async throws {
        let desk = try Desk()
        var seen: [ChangeSet] = []
        desk.context.willCommit { changes in
            MainActor.assertIsolated()
            seen.append(changes)
        }
        let refusal = desk.context.willCommit { _ in throw Stop() }
        desk.context.willCommit { seen.append($0) }
        desk.notebook.name = " trimmed "
        await #expect(throws: Stop.self) { try await desk.context.save() }
        // Observers after the one that refused are not called.
        #expect(seen.map { $0.changes.first?["name"]?.new } == [.string("trimmed")])
        refusal.cancel()
        desk.notebook.name = "fine"
        let commit = try await desk.context.save()
        try #require(seen.count == 3)
        #expect(seen[1] == commit?.changeSet)
        #expect(seen[1] == seen[2])
        #expect(try desk.store.revision() == 2)
    }

    @Test("5b: an observer that edits, inserts or deletes refuses the save")
    func aWillCommitObserverMayNotEdit() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let before = try Shown(context)
        let edits: [() -> Void] = [
            { article.rating = 1 }, { context.insert(Article(title: "late")) },
            { context.delete(notebook) }, { notebook.name = "again" },
        ]
        for edit in edits {
            let observation = context.willCommit { _ in edit() }
            defer { observation.cancel() }
            notebook.name = "edited"
            let error = try #require(throws: ValidationError.self) { try context.save() }
            #expect(error.violations.map(\.code).contains(.editedDuringCommit))
            #expect(try Shown(context) == before)
        }
        #expect(try scratch.store.revision() == 1)
    }

    @Test("Inside a save, what would end or move it traps with a message")
    func whatWouldEndTheSaveTraps() async {
        let save = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let subjects = try Subjects()
            let (context, saved) = try subjects.saved("a")
            saved[0].onSave = { try $0.context?.save() }
            saved[0].count = 1
            try context.save()
        }
        #expect(lastWords(of: save).contains("save(_:) during a save"))
        let edit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let subjects = try Subjects()
            let (context, saved) = try subjects.saved("a")
            saved[0].onSave = { try $0.context?.edit {} }
            saved[0].count = 1
            try context.validate()
        }
        #expect(lastWords(of: edit).contains("edit(_:_:) during a save"))
        let move = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let subjects = try Subjects()
            let (context, saved) = try subjects.saved("a")
            context.willCommit { _ in try context.refresh() }
            saved[0].count = 1
            try context.save()
        }
        #expect(lastWords(of: move).contains("refresh() during a save"))
    }
}
