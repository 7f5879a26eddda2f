import Foundation
import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Note {
        var title: String
        var tags: ToMany<Tag>

        init(title: String) { self.title = title }
    }

    @Model final class Tag {
        var name: String

        init(name: String) { self.name = name }
    }
}

private enum Version2 {
    @Model final class Note {
        var title: String

        init(title: String) { self.title = title }
    }
}

/// Opening a store without one of its models loses no object unless the configuration names the
/// model.
@Suite struct RemovedModelTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private func make(with tags: [String] = ["red"]) throws {
        let store = try Store.open(at: path, for: Version1.Note.self, Version1.Tag.self)
        defer { store.close() }
        let context = store.context()
        let note = Version1.Note(title: "n")
        context.insert(note)
        note.tags.append(contentsOf: tags.map(Version1.Tag.init))
        try context.save()
    }

    private func open(removing names: Set<String> = [], at path: String? = nil) throws -> Store {
        var configuration = Store.Configuration()
        configuration.removedModels = names
        return try Store.open(
            at: path ?? self.path, for: Version2.Note.self, configuration: configuration)
    }

    /// Expects what `make` has made.
    private func expectUnchanged(tagCount: Int = 1) throws {
        let store = try Store.open(at: path, for: Version1.Note.self, Version1.Tag.self)
        defer { store.close() }
        #expect(try store.revision() == 1)
        #expect(try store.context().fetch(Version1.Tag.self).count() == tagCount)
    }

    @Test(arguments: [true, false])
    func aModelThatIsLeftOutIsRefused(hasLockFile: Bool) throws {
        try make()
        if !hasLockFile { try FileManager.default.removeItem(atPath: "\(path)-lock") }
        let error = try #require(throws: StoreError.self) { try open().close() }
        #expect(error.code == .modelMismatch)
        #expect(error.path == path)
        #expect(
            error.message
                == "The store has a model that is not among those that it is opened with: Tag.")
        #expect(error.advice.contains("Add Tag.self to the models"))
        #expect(error.advice.contains("removedModels"))
        try expectUnchanged()
    }

    @Test func soIsOneWithoutObjects() throws {
        try make(with: [])
        #expect(throws: StoreError.self) { try open(removing: ["Label"]).close() }
        try expectUnchanged(tagCount: 0)
    }

    @Test func aModelThatTheConfigurationNamesIsRemovedWithItsObjects() throws {
        try make()
        let store = try open(removing: ["Tag", "Label"])
        defer { store.close() }
        #expect(try store.revision() == 2)
        #expect(try store.context().fetch(Version2.Note.self).all().map(\.title) == ["n"])
        #expect(try store.verify().isClean)
        store.close()
        // Once it is removed, the entry has no effect, and may go.
        try open(removing: ["Tag"]).close()
        try open().close()
    }

    @Test func aPlanTellsWhatWouldBeRefused() throws {
        try make()
        let refused = try Store.plan(at: path, for: Version2.Note.self)
        #expect(!refused.isPossible)
        try #require(refused.problems.count == 1, "\(refused)")
        #expect(refused.problems[0].contains("Tag"), "\(refused)")
        var configuration = Store.Configuration()
        configuration.removedModels = ["Tag"]
        let possible = try Store.plan(
            at: path, for: Version2.Note.self, configuration: configuration)
        #expect(possible.isPossible)
        #expect(possible.steps.contains { $0.contains("removes") && $0.contains("Tag") })
        try expectUnchanged()
    }

    @Test func theVersionsOfAPlanNameWhatTheyRemove() throws {
        try make()
        let plan = MigrationPlan(
            .version(Version1.Note.self, Version1.Tag.self), .version(Version2.Note.self))
        let store = try Store.open(at: path, migrating: plan)
        defer { store.close() }
        #expect(try store.context().fetch(Version2.Note.self).count() == 1)
    }

    @Test func aSeedWithAModelThatIsLeftOutMakesNoStore() throws {
        try make()
        let other = directory.file("other.stet")
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: other, for: Version2.Note.self, seededFrom: path).close()
        }
        #expect(error.code == .modelMismatch)
        #expect(!FileManager.default.fileExists(atPath: other))
    }

    @Test func aProgramOfBeforeAModelWasAddedHearsOfTheMigration() throws {
        try Store.open(at: path, for: Version2.Note.self).close()
        try Store.open(at: path, for: Version1.Note.self, Version1.Tag.self).close()
        let error = try #require(throws: StoreError.self) { try open().close() }
        #expect(error.code == .modelMismatch)
        #expect(error.message.contains("was migrated from these models to later ones"))
    }

    @Test func anOpenStoreIsNotOpenedWithFewerModels() throws {
        let store = try Store.open(at: path, for: Version1.Note.self, Version1.Tag.self)
        defer { store.close() }
        let error = try #require(throws: StoreError.self) { try open(removing: ["Tag"]).close() }
        #expect(error.message.contains("open in this process with other models"))
    }
}
