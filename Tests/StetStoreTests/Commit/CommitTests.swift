import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The checks of the one function that writes.
struct CommitTests {
    private let tag = ObjectKey(Number.tag, 301)
    private let notebook = ObjectKey(Number.notebook, 201)
    private let article = ObjectKey(Number.article, 101)

    private func values(
        _ title: String, notebook: ObjectID? = nil, next: ObjectID? = nil,
        tag: ObjectID? = nil
    ) -> [Value] {
        var values = [Value](repeating: .null, count: Entity.article.properties.count)
        values[0] = .string(title)
        values[1] = .int(0)
        values[2] = notebook.map(Value.reference) ?? .null
        values[9] = next.map(Value.reference) ?? .null
        values[10] = tag.map(Value.reference) ?? .null
        return values
    }

    private func mark(_ bytes: UInt8...) -> [Value] { [.data(Data(bytes))] }

    /// A library with a notebook, a tag, and an article that refers to both.
    private func library() throws -> Library {
        let library = try Library()
        try library.commit([
            library.edit(notebook, [.string("Swift"), .null]), library.edit(tag, mark(1)),
            library.edit(article, values("one", notebook: notebook.id, tag: tag.id)),
        ])
        return library
    }

    /// The reasons of a refusal, which must leave every byte as it was.
    private func refusal(
        _ library: Library, _ edits: [Edit], sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [CommitRefusal.Reason] {
        let before = try library.file.dump()
        let refusal = thrown(CommitRefusal.self) { try library.file.commit(edits) }
        #expect(try library.file.dump() == before, sourceLocation: sourceLocation)
        #expect(library.file.feed.head == library.revision, sourceLocation: sourceLocation)
        return refusal?.reasons ?? []
    }

    @Test func aCommitThatFitsIsWritten() throws {
        let library = try library()
        #expect(library.commits[0].revision == 1)
        #expect(library.file.feed.head == 1)
        #expect(try library.file.read { try $0.head().revision } == 1)
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1))
    }

    // MARK: Bases

    @Test func aChangeOfAnObjectThatHasMovedIsRefused() throws {
        let library = try library()
        let stale = library.edit(tag, mark(2))
        try library.commit([library.edit(tag, mark(3))])
        #expect(
            try refusal(library, [stale])
                == [.objectChanged(entity: Number.tag, tag.id, base: 1, now: 2)])
        let staleDelete = Edit(tag, from: mark(1), to: nil, base: 1)
        #expect(
            try refusal(library, [staleDelete])
                == [
                    .objectChanged(entity: Number.tag, tag.id, base: 1, now: 2),
                    .stillReferenced(
                        Schema.library.membership(of: article, in: tag.id, slot: 10)),
                ])
    }

    @Test func aChangeOfAnObjectThatIsGoneOrNeverWasIsRefused() throws {
        let library = try Library()
        try library.commit([library.edit(tag, mark(1))])
        let update = library.edit(tag, mark(2))
        let delete = library.edit(tag, nil)
        try library.commit([delete])
        for edit in [update, delete] {
            #expect(
                try refusal(library, [edit])
                    == [.objectChanged(entity: Number.tag, tag.id, base: 1, now: nil)])
        }
        let never = ObjectKey(Number.tag, 999)
        for base in [Revision.zero, 1] {
            #expect(
                try refusal(library, [Edit(never, from: mark(1), to: mark(2), base: base)])
                    == [.objectChanged(entity: Number.tag, never.id, base: base, now: nil)])
        }
        // This also holds for an id below the last one.
        let lower = ObjectKey(Number.tag, 1)
        #expect(
            try refusal(library, [Edit(lower, from: mark(1), to: nil)])
                == [.objectChanged(entity: Number.tag, lower.id, base: 0, now: nil)])
    }

    @Test func anInsertOfAnObjectThatIsThereIsRefused() throws {
        let library = try library()
        #expect(
            try refusal(library, [Edit(tag, from: nil, to: mark(9))])
                == [.objectChanged(entity: Number.tag, tag.id, base: 0, now: 1)])
        #expect(
            try refusal(library, [Edit(tag, from: nil, to: mark(9), base: 1)])
                == [.objectChanged(entity: Number.tag, tag.id, base: 1, now: 1)])
    }

    @Test func aDeletedObjectIsInsertedAgainOnTheBaseOfItsDeletionOnly() throws {
        let library = try Library()
        try library.commit([library.edit(tag, mark(1))])
        try library.commit([library.edit(tag, nil)])
        for base in [Revision.zero, 1, 3] {
            #expect(
                try refusal(library, [Edit(tag, from: nil, to: mark(2), base: base)])
                    == [.objectChanged(entity: Number.tag, tag.id, base: base, now: nil)])
        }
        try library.commit([library.edit(tag, mark(2))])
        for revision in 0...3 {
            let revision = Revision(UInt64(revision))
            #expect(
                try library.file.objects(asOf: revision) == library.expected(asOf: revision))
        }
        #expect(try library.file.verify().problems == [])
    }

    @Test func allReasonsAreToldInTheOrderOfTheChangeSet() throws {
        let library = try library()
        let gone = ObjectKey(Number.notebook, 299)
        let edits = [
            Edit(tag, from: mark(1), to: mark(2), base: 7),
            Edit(article, from: values("x"), to: values("y", notebook: gone.id), base: 9),
        ]
        #expect(
            try refusal(library, edits)
                == [
                    .objectChanged(entity: Number.article, article.id, base: 9, now: 1),
                    .objectChanged(entity: Number.tag, tag.id, base: 7, now: 1),
                    .ownerMissing(
                        Schema.library.membership(of: article, in: gone.id, slot: 2)),
                ])
    }

    // MARK: References

    private func key(_ target: ObjectID, _ slot: Slot, _ source: ObjectKey) -> MembershipKey {
        Schema.library.membership(of: source, in: target, slot: slot)
    }

    @Test func aReferenceToWhatIsNotThereIsRefused() throws {
        let library = try library()
        let other = ObjectKey(Number.article, 102)
        let missing = ObjectID.fixed(999)
        #expect(
            try refusal(library, [library.edit(other, values("two", notebook: missing))])
                == [.ownerMissing(key(missing, 2, other))])
        // An object of another entity does not count.
        #expect(
            try refusal(library, [library.edit(other, values("two", notebook: tag.id))])
                == [.ownerMissing(key(tag.id, 2, other))])
        // An object that was deleted, or that the same commit deletes, does not count.
        let lone = ObjectKey(Number.tag, 302)
        try library.commit([library.edit(lone, mark())])
        let edits = [
            library.edit(lone, nil), library.edit(other, values("two", tag: lone.id)),
        ]
        #expect(try refusal(library, edits) == [.ownerMissing(key(lone.id, 10, other))])
        try library.commit([edits[0]])
        #expect(try refusal(library, [edits[1]]) == [.ownerMissing(key(lone.id, 10, other))])
    }

    /// One id in two entities: each reference is asked of the entity it names.
    @Test func eachReferenceIsCheckedAgainstItsOwnEntity() throws {
        let library = try library()
        let (one, two) = (ObjectKey(Number.article, 102), ObjectKey(Number.article, 103))
        for edits in [
            [library.edit(one, values("two", notebook: notebook.id, tag: notebook.id))],
            [
                library.edit(one, values("two", notebook: notebook.id)),
                library.edit(two, values("three", tag: notebook.id)),
            ],
        ] {
            let source = edits.count == 1 ? one : two
            #expect(try refusal(library, edits) == [.ownerMissing(key(notebook.id, 10, source))])
        }
    }

    @Test func aCommitMayInsertWhatItRefersToAndReferInCircles() throws {
        let library = try Library()
        let (one, two) = (ObjectKey(Number.article, 101), ObjectKey(Number.article, 102))
        try library.commit([
            library.edit(one, values("one", notebook: notebook.id, next: two.id)),
            library.edit(two, values("two", next: one.id)),
            library.edit(notebook, [.string("self"), .reference(notebook.id)]),
        ])
        #expect(try library.file.references(to: one.id) == [key(one.id, 9, two)])
        #expect(
            try library.file.references(to: notebook.id)
                == [key(notebook.id, 2, one), key(notebook.id, 1, notebook)])
        try library.commit([one, two, notebook].map { library.edit($0, nil) })
        #expect(try library.file.references(to: notebook.id) == [])
        #expect(try library.file.verify().problems == [])
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1))
    }

    @Test func deletingWhatIsStillReferredToIsRefused() throws {
        let library = try library()
        let still = CommitRefusal.Reason.stillReferenced(key(notebook.id, 2, article))
        #expect(try refusal(library, [library.edit(notebook, nil)]) == [still])
        // A change of the referrer that keeps the reference is not enough.
        let kept = library.edit(article, values("new", notebook: notebook.id, tag: tag.id))
        #expect(try refusal(library, [library.edit(notebook, nil), kept]) == [still])
        // A change that removes the reference is enough.
        let nullified = library.edit(article, values("new", tag: tag.id))
        try library.commit([library.edit(notebook, nil), nullified])
        #expect(try library.file.verify().problems == [])
    }

    // MARK: Failures

    #if STET_FAULTS
        @Test(arguments: [LMDBError.Operation.begin, .get, .put, .commit])
        func aCommitThatFailsLeavesNothingBehind(operation: LMDBError.Operation) throws {
            let library = try library()
            let before = try library.file.dump()
            let edits = [
                library.edit(tag, mark(5)), library.edit(ObjectKey(Number.tag, 400), mark(6)),
            ]
            let set = try library.file.encode(edits)
            library.file.environment.faults.failNext(operation, code: LMDBError.noSpace)
            let error = thrown(StoreError.self) { try library.file.commit(set) }
            #expect(error?.code == .diskFull)
            #expect(error?.systemCode == LMDBError.noSpace)
            #expect(error?.path == library.file.path)
            #expect(!library.file.environment.faults.isArmed)
            #expect(try library.file.dump() == before)
            #expect(library.file.feed.head == 1)
            try library.commit(edits)
            #expect(try library.file.objects(asOf: 2) == library.expected(asOf: 2))
            #expect(try library.file.verify().problems == [])
        }
    #endif

    @Test func aSchemaThatTheStoreDoesNotHaveIsRefused() throws {
        let library = try library()
        var head = try #require(try library.file.dump()[""]?[Array("head".utf8)])
        head[48] = 2  // behind revision, hash and time: the schema's revision
        try library.file.tamper(nil, Array("head".utf8), head)
        #expect(try refusal(library, [library.edit(tag, mark(2))]) == [.schemaChanged])
    }

    @Test func theTimeOfTheJournalNeverRunsBackwards() throws {
        let library = try Library()
        for (time, expected) in [(10.0, 10.0), (5, 10), (-1, 10), (11, 11)] {
            let commit = try library.commit(
                [library.edit(ObjectKey(Number.tag, library.states.count), mark())],
                EditNote(time: time))
            #expect(commit.time == Date(timeIntervalSinceReferenceDate: expected))
        }
        #expect(try library.file.verify().problems == [])
    }

    /// A clock that is out of order does not put the store out of order.
    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func aTimeThatIsNoTimeLeavesACleanStore(time: Double) throws {
        let library = try library()
        _ = try? library.commit([library.edit(tag, mark(2))], EditNote(time: time))
        #expect(try library.file.verify().problems == [])
        let commit = try library.commit([library.edit(tag, mark(3))], EditNote(time: 2_000))
        #expect(commit.time == Date(timeIntervalSinceReferenceDate: 2_000))
    }

    /// The journal holds each object at most once per entry; so must a change set.
    @Test func twoChangesOfOneObjectAreNotWritten() async {
        await #expect(processExitsWith: .failure) {
            let library = try Library()
            let key = ObjectKey(Number.tag, 1)
            let edits = [[UInt8(1)], [2]].map { Edit(key, from: nil, to: [.data(Data($0))]) }
            try library.commit(edits)
            if try !library.file.verify().isClean { return }
            throw CancellationError()
        }
    }
}
