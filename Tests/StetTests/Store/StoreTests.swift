import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

@Suite struct StoreTests {
    @Test func aStoreIsOpenedAgainWithWhatWasSaved() throws {
        let directory = TemporaryDirectory()
        let id: ObjectID
        do {
            let store = try Store.open(at: directory.file(), for: Article.self, Notebook.self)
            let context = store.context(author: "lala", scope: "desk")
            let article = Article(title: "kept", notebook: Notebook(name: "Swift"))
            context.insert(article)
            try context.save("first")
            id = article.id
            store.close()
        }
        let store = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
        let context = store.context()
        let article = try context.object(Article.self, id: id)
        #expect(article?.title == "kept")
        #expect(article?.notebook?.name == "Swift")
        let commit = try #require(try store.journal().first)
        #expect(commit.author == "lala")
        #expect(commit.scope == "desk")
        #expect(commit.label == "first")
        #expect(commit.revision == 1)
        #expect(commit.cause == .edit)
        #expect(commit.changeCount == 2)
        #expect(try store.verify().isClean)
    }

    @Test func openingAFileTwiceGivesTheSameStore() async throws {
        let scratch = try Scratch()
        let again = try Store.open(at: scratch.path, for: Notebook.self, Article.self)
        var commits = again.commits.makeAsyncIterator()
        let saved = try scratch.saved()
        #expect(try await commits.next()?.revision == 1)
        #expect(try again.context().object(Notebook.self, id: saved.notebook.id)?.name == "Swift")
    }

    @Test func otherModelsAreRefusedAndTheDifferenceIsNamed() throws {
        let scratch = try Scratch()
        _ = try scratch.saved()
        scratch.store.close()
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: scratch.path, for: Other.Notebook.self, Article.self)
        }
        #expect(error.code == .modelMismatch)
        #expect(
            error.message == "The store was made for other models: Notebook.name is string in the "
                + "store and int in the model.")
    }

    @Test func aModelThatIsNotListedIsNamed() throws {
        let directory = TemporaryDirectory()
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: directory.file(), for: Article.self)
        }
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("Article.notebook refers to Notebook"))
        #expect(error.advice == "Add Notebook.self to the models.")
        #expect(!FileManager.default.fileExists(atPath: directory.file()))
    }

    @Test func aClosedStoreRefusesAndObserversEnd() async throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        let commits = scratch.store.commits
        scratch.store.close()
        notebook.name = "other"
        let error = try #require(throws: StoreError.self) { try context.save() }
        #expect(error.code == .storeClosed)
        #expect(notebook.name == "Swift")
        var iterator = commits.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        #expect(throws: StoreError.self) { try scratch.store.revision() }
        let late = scratch.store.context()
        #expect(throws: StoreError.self) { try late.fetch(Article.self).all() }
    }

    @Test func aFailedReadInAnAccessorGivesNilAndIsToldByTheNextCall() throws {
        let scratch = try Scratch()
        _ = try scratch.saved()
        let context = scratch.store.context()
        let article = try #require(try context.fetch(Article.self).first())
        article.rating = 1
        scratch.store.close()
        #expect(article.notebook == nil)
        let error = try #require(throws: StoreError.self) { try context.save() }
        #expect(error.code == .storeClosed)
        #expect(article.rating == 1)
        context.rollback()
        #expect(article.rating == 0)
    }

    @Test func aFullMapRefusesTheSaveAndTheStoreGoesOn() throws {
        let directory = TemporaryDirectory()
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 20
        let store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration)
        let context = store.context()
        let article = Article(title: "large")
        article.body = String(repeating: "x", count: 900_000)
        context.insert(article)
        let error = try #require(throws: StoreError.self) { try context.save() }
        #expect(error.code == .mapFull)
        #expect(article.context == nil)
        #expect(!context.hasChanges)
        #expect(try store.revision() == .zero)
        article.body = "small"
        context.insert(article)
        #expect(try context.save()?.revision == 1)
        #expect(try store.verify().isClean)
    }

    @Test func anUnsafePlaceIsRefusedUnlessTheConfigurationAllowsIt() throws {
        let directory = TemporaryDirectory()
        try #require(chmod(directory.path, 0o777) == 0)
        let path = directory.file()
        let error = #expect(throws: StoreError.self) {
            try Store.open(at: path, for: Notebook.self, Article.self)
        }
        #expect(
            error
                == StoreError(
                    .unsafePlace, path: path,
                    message: "The store \(path) can't be opened: "
                        + "every user may exchange the files in its directory.",
                    advice: "Use a directory that only its owner may write to (chmod o-w), or set "
                        + "allowsUnsafePlace."))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        var configuration = Store.Configuration()
        configuration.allowsUnsafePlace = true
        let store = try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
        #expect(try store.verify().isClean)
    }

    @Test func aPathThatCannotBeIsRefused() throws {
        let directory = TemporaryDirectory()
        let link = directory.file("link.stet")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: directory.file())
        for path in ["", directory.path, link, directory.file("a\0b")] {
            let error = #expect(throws: StoreError.self) {
                try Store.open(at: path, for: Notebook.self, Article.self)
            }
            #expect(error?.code == .invalidPath)
            #expect(error?.path == path)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["link.stet"])
    }

    @Test func aDamagedPageIsNamedAtOpenWhereTheConfigurationAsksForIt() throws {
        let scratch = try Scratch()
        _ = try scratch.saved()
        scratch.store.close()
        var configuration = Store.Configuration()
        configuration.inspectsPages = true
        func open() throws -> Store {
            try Store.open(
                at: scratch.path, for: Notebook.self, Article.self, configuration: configuration)
        }
        let healthy = try open()
        #expect(try healthy.verify().isClean)
        healthy.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: scratch.path))
        var found = 0
        for page in 2..<whole.count / 4_096 {
            var twin = whole
            twin.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096))
            try twin.write(to: URL(fileURLWithPath: scratch.path))
            guard let damage = try Store.inspect(scratch.path).damages.first else { continue }
            found += 1
            let error = #expect(throws: StoreError.self) { try open() }
            #expect(error?.code == .damaged)
            #expect(error?.message == "The store is damaged: \(damage).")
        }
        #expect(found > 2)
    }

    @Test func aValueAboveItsLimitIsRefusedAndTheContextGoesOn() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        article.body = String(repeating: "x", count: Limits.attributeByteCount + 1)
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(
            error
                == StoreError(
                    .limitExceeded,
                    message: "Article.body has 67108865 bytes; the limit is 67108864.",
                    advice: "Keep it in a file of its own, and its name in the store."))
        #expect(!context.hasChanges)
        #expect(try scratch.store.revision() == 1)
        article.body = String(repeating: "x", count: Limits.attributeByteCount)
        #expect(try context.save()?.revision == 2)
        #expect(try scratch.store.verify().isClean)
    }

    @Test func labelsAndAuthorsHaveLimits() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        notebook.name = "at the limit"
        let label = String(repeating: "x", count: Limits.labelByteCount)
        #expect(try context.save(label)?.label == label)
        notebook.name = "above"
        let error = try #require(throws: StoreError.self) { try context.save(label + "x") }
        #expect(error.code == .limitExceeded)
        #expect(notebook.name == "at the limit")
    }
}

@Suite struct StoreInspectionTests {
    @Test func aHealthyFileHasNoDamageAndADamagedOneIsRefusedWithoutBeingMapped() throws {
        let scratch = try Scratch()
        _ = try scratch.saved()
        scratch.store.close()
        let inspection = try Store.inspect(scratch.path)
        #expect(inspection.damages == [])
        #expect(
            (inspection.usedPageCount + inspection.freePageCount) * inspection.pageByteCount
                == inspection.fileByteCount)
        let file = try #require(FileHandle(forUpdatingAtPath: scratch.path))
        try file.truncate(atOffset: UInt64(inspection.fileByteCount - inspection.pageByteCount * 2))
        try file.close()
        #expect(try Store.inspect(scratch.path).isDamaged)
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: scratch.path, for: Notebook.self, Article.self)
        }
        #expect(error.code == .damaged)
        #expect(error.advice == "Run verify on a copy, and restore from a backup.")
    }

    @Test func aFileOfAnotherKindIsNotAStoreAndKeepsItsBytes() throws {
        let directory = TemporaryDirectory()
        let bytes = Data("no store".utf8)
        try bytes.write(to: URL(fileURLWithPath: directory.file()))
        for attempt in [
            { _ = try Store.inspect(directory.file()) },
            { _ = try Store.open(at: directory.file(), for: Notebook.self, Article.self) },
        ] {
            let error = try #require(throws: StoreError.self, performing: attempt)
            #expect(error.code == .notAStore)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file())) == bytes)
    }

    @Test func aMissingDirectoryIsNamedByThePathThatWasGiven() throws {
        let path = "\(TemporaryDirectory().path)/missing/notes.stet"
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: path, for: Notebook.self, Article.self)
        }
        #expect(error.code == .notFound)
        #expect(
            error.description
                == "The store \(path) can't be opened: No such file or directory. "
                + "Create the directory first, or correct the path.")
    }
}

private enum Other {
    @Model final class Notebook {
        var name: Int = 0

        init() {}
    }
}
