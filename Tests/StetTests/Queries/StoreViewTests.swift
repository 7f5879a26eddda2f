import Foundation
import Stet
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// A store as it was.
@Suite struct StoreViewTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [1, 2, 3])
    func everyRevisionIsShownAsItWas(seed: Int) throws {
        let store = try Store.open(
            at: directory.file(), for: IndexedSample.self, IndexedBox.self)
        var queries = SampleQueries<IndexedSample>(seed: UInt64(seed))
        let context = store.context()
        var states: [[IndexedSample.Snapshot]] = [[]]
        var others: [[ObjectID: [ObjectID]]] = [[:]]
        for _ in 0..<12 {
            let samples = try context.fetch(IndexedSample.self).all()
            let boxes = try context.fetch(IndexedBox.self).all()
            for sample in samples where queries.chance(4) {
                queries.chance(4)
                    ? context.delete(sample)
                    : queries.fill(sample, boxes, samples.filter { !$0.isDeleted })
            }
            context.insert(IndexedBox(name: queries.pick(["one", "two", "three"])))
            for _ in 0..<4 {
                let sample = IndexedSample()
                queries.fill(sample, boxes, samples.filter { !$0.isDeleted })
                context.insert(sample)
            }
            // NaN is not equal to itself, so snapshots with it are not either.
            for sample in try context.fetch(IndexedSample.self).all() where sample.real.isNaN {
                sample.real = 0
            }
            try context.save()
            let all = try context.fetch(IndexedSample.self).all().sorted { $0.id < $1.id }
            states.append(all.map(\.snapshot))
            others.append(
                Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.others.map(\.id).sorted()) }))
        }
        for (number, state) in states.enumerated() {
            let view = try store.view(asOf: Revision(UInt64(number)))
            #expect(view.revision == Revision(UInt64(number)))
            #expect(try view.fetch(IndexedSample.self).all() == state)
            #expect(try view.fetch(IndexedSample.self).count() == state.count)
            let flagged = try view.fetch(IndexedSample.self) { $0.flag && $0.number >= 1 }
                .sorted(by: \.number).all()
            #expect(
                flagged
                    == state.filter { $0.flag && $0.number >= 1 }
                    .sorted { ($0.number, $0.id) < ($1.number, $1.id) })
            for snapshot in state {
                #expect(try view.object(IndexedSample.self, id: snapshot.id) == snapshot)
                let members = try view.members(
                    of: snapshot.id, in: IndexedSample.self, \.others)
                #expect(members.map(\.id).sorted() == others[number][snapshot.id])
            }
        }
    }

    @Test func aTimeMeansEveryCommitUntilThen() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        for number in 1...5 {
            scratch.now = Date(timeIntervalSinceReferenceDate: Double(number * 100))
            context.insert(StoreViewTests.article(number))
            try context.save()
        }
        func revision(_ time: Double) throws -> Revision {
            try scratch.store.view(asOf: Date(timeIntervalSinceReferenceDate: time)).revision
        }
        #expect(try revision(99) == .zero)
        #expect(try revision(100) == 1)
        #expect(try revision(399.5) == 3)
        #expect(try revision(400) == 4)
        #expect(try revision(1e9) == 5)
    }

    @Test func aRevisionThatIsNotThereYetIsAnError() throws {
        let scratch = try Scratch()
        #expect {
            try scratch.store.view(asOf: 1)
        } throws: { ($0 as? StoreError)?.code == .noSuchRevision }
    }

    @Test func whatIsBelowTheFloorIsNotShown() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        for number in 1...6 {
            context.insert(Self.article(number))
            try context.save()
        }
        let early = try scratch.store.view(asOf: 2)
        #expect(try early.fetch(Article.self).count() == 2)
        try scratch.store.requestTrim(before: 5).confirm()
        let floor = try scratch.store.floor()
        #expect(floor == 4)
        func code(_ body: () throws -> Void) -> StoreError.Code? {
            do { try body() } catch { return (error as? StoreError)?.code }
            return nil
        }
        #expect(code { _ = try early.fetch(Article.self).count() } == .historyTrimmed)
        #expect(code { _ = try scratch.store.view(asOf: 3) } == .historyTrimmed)
        #expect(try scratch.store.view(asOf: 4).fetch(Article.self).count() == 4)
    }

    @Test func viewsOfARevisionShareWhatTheyKnowOfLaterCommits() throws {
        let store = try Store.inMemory(for: IndexedSample.self, IndexedBox.self)
        let context = store.context()
        let box = IndexedBox(name: "1")
        context.insert(box)
        try context.save()
        for number in 2...5 {
            box.name = "\(number)"
            context.insert(IndexedBox(name: "\(number * 10)"))
            try context.save()
            let view = try store.view(asOf: 1)
            #expect(try view.fetch(IndexedBox.self) { $0.name == "1" }.ids() == [box.id])
            #expect(try view.fetch(IndexedBox.self) { $0.name > "1" }.ids() == [])
            let known = store.recentViews.history(of: 1).changes
            #expect(known.end == Revision(UInt64(number)))
        }
        let known = store.recentViews.history(of: 1)
        context.delete(box)
        try context.save()
        try store.requestRedaction(of: IndexedBox.self, id: box.id, \.name).confirm()
        #expect(store.recentViews.history(of: 1) !== known)
    }

    @Test(arguments: [4, 5]) func historiesOfManyChangesAreNotRemembered(limit: Int) throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        for number in 1...6 {
            context.insert(Self.article(number))
            try context.save()
        }
        let schema = scratch.store.file.schema
        let entity = try #require(schema.number(ofEntity: "Article"))
        var changes = ForeignChanges(since: 1)
        _ = try scratch.store.file.read { reader in
            try changes.objects(ofEntity: entity, differingIn: .all, reader, limit: .max)
        }
        let views = RecentViews(changeLimit: limit)
        let history = views.history(of: 1)
        views.keep(changes, in: history)
        #expect((views.history(of: 1) === history) == (limit >= 5))
        #expect(history.changes.end == 6)
    }

    @Test func theRevisionsThatWereViewedLastAreRemembered() {
        let views = RecentViews()
        let numbers = 1...UInt64(RecentViews.limit)
        let histories = numbers.map { views.history(of: Revision($0)) }
        for number in numbers {
            #expect(views.history(of: Revision(number)) === histories[Int(number) - 1])
        }
        // The second becomes the last one, so that two more displace the first and the third.
        _ = views.history(of: 2)
        _ = views.history(of: 1_000)
        _ = views.history(of: 1_001)
        #expect(views.history(of: 2) === histories[1])
        #expect(views.history(of: 1) !== histories[0])
        #expect(views.history(of: 3) !== histories[2])
    }

    private static func article(_ number: Int) -> Article { Article(title: "\(number)") }
}
