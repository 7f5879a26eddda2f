import Foundation
import Stet
import StetTestSupport
import Testing

/// Queries of all models that adopt a protocol.
@Suite struct PolymorphicFetchTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Story.self, Bystander.self, Picture.self, Poster.self,
            Clip.self)
        context = store.context()
    }

    @discardableResult
    private func add<P: Postable>(_ type: P.Type, _ title: String, _ postedAt: Int?) -> P {
        let post = P()
        post.title = title
        post.postedAt = postedAt
        context.insert(post)
        return post
    }

    private var posts: PolymorphicFetch<PostableModels> { context.fetch(any: PostableModels.self) }

    @Test func objectsOfAllModelsAreOneResultInOneOrder() throws {
        let one = add(Story.self, "one", 3)
        let two = add(Picture.self, "two", 1)
        let three = add(Clip.self, "three", 2)
        add(Story.self, "four", nil)
        context.insert(Bystander())
        try context.save()
        let found = try context.fetch(any: PostableModels.self) { $0.postedAt >= 1 }
            .sorted(by: \.postedAt).all()
        #expect(found.map(\.title) == ["two", "three", "one"])
        #expect(zip(found, [two, three, one] as [AnyObject]).allSatisfy { $0 === $1 })
        #expect(try posts.count() == 4)
        #expect(try posts.sorted(by: \.postedAt).first()?.title == "four")
        #expect(try posts.sorted(by: \.postedAt, .descending).first()?.title == "one")
        #expect(
            try posts.sorted(by: \.title).limit(2).offset(1).all().map(\.title) == ["one", "three"])
        #expect(try posts.filter { $0.title == "none" }.first() == nil)
        #expect(try posts.filter { $0.id == two.id }.all().map(\.title) == ["two"])
        #expect(try posts.limit(0).all().isEmpty)
        #expect(try posts.limit(0).exists() == false)
        #expect(try posts.exists())
    }

    @Test func unsavedEditsOfEveryModelAreIncluded() throws {
        let one = add(Story.self, "one", 3)
        let two = add(Picture.self, "two", 1)
        let three = add(Clip.self, "three", 2)
        try context.save()
        one.postedAt = 0
        context.delete(two)
        add(Picture.self, "four", 1)
        #expect(try posts.sorted(by: \.postedAt).all().map(\.title) == ["one", "four", "three"])
        #expect(try posts.count() == 3)
        #expect(try posts.filter { $0.postedAt == 1 }.all().map(\.title) == ["four"])
        context.rollback()
        #expect(try posts.sorted(by: \.postedAt).all().map(\.title) == ["two", "three", "one"])
        #expect(three.isDeleted == false)
    }

    @Test func objectsAreFetchedOnceWithTheirHook() throws {
        add(Picture.self, "one", 1)
        add(Story.self, "two", 2)
        try context.save()
        let reader = store.context()
        let query = reader.fetch(any: PostableModels.self).sorted(by: \.postedAt)
        let found = try query.all()
        let again = try query.all()
        #expect(found.map { $0.id } == again.map { $0.id })
        #expect(zip(found, again).allSatisfy { $0 === $1 })
        #expect((found[0] as? Picture)?.fetches == 1)
    }

    @Test func earlierRevisionsAreRead() throws {
        add(Story.self, "one", 1)
        add(Clip.self, "two", 2)
        let first = try #require(try context.save())
        try context.edit { for post in try posts.all() { post.title += "!" } }
        func titles(_ context: ManagedContext) throws -> [String] {
            try context.fetch(any: PostableModels.self) { $0.title != "one!" }
                .sorted(by: \.title).all().map(\.title)
        }
        #expect(try store.read(asOf: first.revision, titles) == ["one", "two"])
        #expect(try store.read(titles) == ["two!"])
    }

    @Test func theExplanationNamesEveryModel() throws {
        for number in 0..<200 { add(Story.self, "\(number)", number) }
        add(Clip.self, "clip", 5)
        try context.save()
        let query = context.fetch(any: PostableModels.self) { $0.postedAt == 5 }.limit(3)
        let lines = try query.explain().split(separator: "\n").map(String.init)
        #expect(lines.first == "merge Clip, Picture, Story")
        #expect(lines.filter { ["Story:", "Picture:", "Clip:"].contains($0) }.count == 3)
        let story = try #require(lines.firstIndex(of: "Story:"))
        #expect(lines[story + 1].contains("index"), "the index of one model is used: \(lines)")
        #expect(lines.last == "at most 3")
        let analysis = try query.explain(analyze: true).split(separator: "\n").map(String.init)
        #expect(analysis.dropLast() == lines[...])
        #expect(try #require(analysis.last).hasPrefix("found 2, after reading "))
    }

    @Test func aLimitIsALimitOfEachModel() throws {
        for number in 0..<300 {
            add(Story.self, "s\(number)", number)
            add(Picture.self, "p\(number)", number)
        }
        try context.save()
        let query = posts.sorted(by: \.postedAt, .descending).limit(4)
        #expect(try query.all().map(\.title) == ["p299", "s299", "p298", "s298"])
        let lines = try query.explain().split(separator: "\n").map(String.init)
        let walks = lines.filter { $0.contains("in order, until the limit is reached") }
        #expect(walks.count == 1, "the index of one model is walked: \(lines)")
        #expect(lines.count { $0 == "  at most 4" } == 3)
    }

    // MARK: Refusals

    @Test func aCursorOfAnotherOrderIsRefused() throws {
        for number in 0..<3 { add(Clip.self, "\(number)", number) }
        try context.save()
        let byTitle = try posts.sorted(by: \.title).objects(1)
        let cursor = try #require(byTitle.next)
        #expect(byTitle.objects.map(\.title) == ["0"])
        let error = #expect(throws: QueryError.self) {
            try posts.sorted(by: \.postedAt).objects(1, after: cursor)
        }
        #expect(error?.code == .invalidCursor)
        let second = try posts.sorted(by: \.title).objects(2, after: cursor)
        #expect(second.objects.map(\.title) == ["1", "2"])
        #expect(second.next == nil)
    }

    @Test func aPageInTheOrderOfWhatAModelHidesIsRefused() throws {
        let error = #expect(throws: QueryError.self) { try posts.sorted(by: \.secret).objects(1) }
        #expect(error?.code == .hiddenOrder)
        #expect(error?.message.contains("secret, which is hidden") == true)
    }

    private func expectTrap(_ message: String, _ result: ExitTest.Result?) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(message), "\(text.suffix(400))")
    }

    @Test func aPropertyThatAModelDoesNotStoreIsRefused() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let store = try Store.inMemory(for: Story.self, Poster.self)
            _ = store.context().fetch(any: PostableModels.self) { $0.summary == "" }
        }
        expectTrap("Story does not store 'summary', which a query of PostableModels names", result)
    }

    @Test func aPropertyOfAnotherTypeIsRefused() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let store = try Store.inMemory(for: ExactlySized.self, VaguelySized.self)
            _ = store.context().fetch(any: SizedModels.self).sorted(by: \.size)
        }
        expectTrap("VaguelySized.size does not have the type of the protocol", result)
    }

    @Test func aStoreWithoutAModelOfTheProtocolIsRefused() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let store = try Store.inMemory(for: Bystander.self)
            _ = store.context().fetch(any: PostableModels.self)
        }
        expectTrap("no model of this store belongs to PostableModels", result)
    }

    @Test func aMatchingPropertyOfTheSameNameIsEnough() throws {
        let store = try Store.inMemory(for: Picture.self, Clip.self, Poster.self)
        let context = store.context()
        let clip = Clip()
        clip.title = "clip"
        context.insert(clip)
        try context.save()
        let found = try context.fetch(any: PostableModels.self) { $0.summary == "clip!" }.all()
        #expect(found.map(\.title) == ["clip"])
    }
}
