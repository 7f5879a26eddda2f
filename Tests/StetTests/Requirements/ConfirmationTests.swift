import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

// Document 001: operations that cannot be undone need a confirmation.

@Model(.protected) private final class Album {
    @Attribute(.notEmpty) var title: String
    @Relationship(deleteRule: .cascade, inverse: \Photo.album) var photos: ToMany<Photo>

    init(title: String) { self.title = title }
}

@Model(.protected) private final class Photo {
    var name: String
    var album: Album?

    init(name: String, album: Album?) {
        self.name = name
        self.album = album
    }
}

/// Not protected itself; what it owns is.
@Model private final class Cabinet {
    @Relationship(deleteRule: .cascade) var albums: ToMany<Album>

    init() {}
}

private struct Unreachable: Error, Equatable, Confirmer {
    func confirms(_ plan: DestructiveAction.Plan) async throws -> Bool { throw self }
}

@Suite struct ConfirmationTests {
    private let directory = TemporaryDirectory()

    private func store() throws -> Store {
        try Store.open(at: directory.file(), for: Album.self, Photo.self, Cabinet.self)
    }

    private func saved(_ context: ManagedContext) throws -> (Album, [Photo]) {
        let album = Album(title: "Summer")
        let photos = ["a", "b"].map { Photo(name: $0, album: album) }
        for photo in photos { context.insert(photo) }
        try context.save()
        return (album, photos)
    }

    private func violations(_ body: () throws -> Void) throws -> [Violation.Code] {
        do {
            try body()
            return []
        } catch let error as ValidationError {
            return error.violations.map(\.code)
        }
    }

    @Test("Security A13 a confirmation ends when the deletion is taken back")
    func aConfirmationEndsWithTheDeletion() throws {
        let store = try store()
        let context = store.context()
        let (album, _) = try saved(context)
        let cabinet = Cabinet()
        context.insert(cabinet)
        cabinet.albums.append(album)
        try context.save()
        try context.requestDelete(album).confirm()
        context.insert(album)
        context.delete(cabinet)
        #expect(try violations { _ = try context.save() }.contains(.unconfirmedDeletion))
        #expect(try store.context().fetch(Album.self).count() == 1)
    }

    @Test("B1 nothing happens before a deletion is confirmed, and the plan says what is lost")
    func b1Plans() throws {
        let context = try store().context()
        let (album, photos) = try saved(context)
        let action = try context.requestDelete(album)
        #expect(action.plan.title == "Delete Album?")
        #expect(action.plan.destructiveTitle == "Delete")
        #expect(action.plan.message == "Lost for good: 1 Album, 2 Photo.")
        #expect(action.plan.losses.map(\.objects) == [[album.id], photos.map(\.id)])
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        action.cancel()
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        do { _ = try context.requestDelete(album) }
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        try context.requestDelete(album).confirm()
        #expect(album.isDeleted)
        context.rollback()
        #expect(!album.isDeleted)
        #expect(photos.allSatisfy { $0.album == album })
        try context.requestDelete(album).confirm()
        let commit = try #require(try context.save())
        #expect(commit.changes(of: Photo.self).map(\.kind) == [.delete, .delete])
        #expect(try context.fetch(Album.self).all() == [])
    }

    @Test("B1 all objects of a model, and the store, are lost only when that is confirmed")
    func b1EverythingAtOnce() throws {
        let store = try store()
        let context = store.context()
        _ = try saved(context)
        let all = try context.requestDeleteAll(Photo.self)
        #expect(all.plan.losses.map(\.count) == [2])
        #expect(all.plan.title == "Delete all of Photo?")
        try all.confirm()
        #expect(try context.save() != nil)
        #expect(try context.fetch(Photo.self).all() == [])
        let erase = try store.requestErase()
        #expect(erase.plan.message == "Lost for good: 1 Album.")
        #expect(FileManager.default.fileExists(atPath: directory.file()))
        erase.cancel()
        #expect(try store.revision() == 2)
        try store.requestErase().confirm()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        #expect(throws: StoreError.self) { try store.revision() }
    }

    @Test("B1 an application's own action runs once it is confirmed, and never otherwise")
    func b1ActionsOfApplications() async throws {
        let ids = [ObjectID(), ObjectID()]
        let plan = DestructiveAction.Plan(
            title: "Close the account?", destructiveTitle: "Close",
            losses: [
                DestructiveAction.Plan.Loss(entity: "Photo", objects: ids),
                DestructiveAction.Plan.Loss(entity: "Album", objects: []),
            ])
        #expect(plan.message == "Lost for good: 2 Photo.")
        #expect(plan.losses.map(\.objects) == [ids.sorted()])
        let count = Monitor(0)
        DestructiveAction(plan: plan) { count.withLock { $0 += 1 } }.cancel()
        await #expect(throws: NotConfirmedError.self) {
            try await DestructiveAction(plan: plan) { count.withLock { $0 += 1 } }
                .confirm(with: FixedConfirmer(false))
        }
        #expect(count.withLock { $0 } == 0)
        try await DestructiveAction(plan: plan) { count.withLock { $0 += 1 } }
            .confirm(with: FixedConfirmer(true))
        #expect(count.withLock { $0 } == 1)
    }

    @Test("B2 who declines, or cannot be asked, changes nothing, and the caller is told")
    @MainActor func b2Confirmers() async throws {
        let context = try store().context()
        let (album, _) = try saved(context)
        let asked = Monitor<[DestructiveAction.Plan]>([])
        let no = FixedConfirmer(false) { plan in asked.withLock { $0.append(plan) } }
        let declined = await #expect(throws: NotConfirmedError.self) {
            try await context.requestDelete(album).confirm(with: no)
        }
        #expect(declined?.plan.title == "Delete Album?")
        #expect(
            declined?.description == "Delete Album? The answer was no. Nothing was changed.")
        #expect(asked.withLock { $0.map(\.message) } == ["Lost for good: 1 Album, 2 Photo."])
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        await #expect(throws: Unreachable()) {
            try await context.requestDelete(album).confirm(with: Unreachable())
        }
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/null"))
        let nowhere = TerminalConfirmer(input: file.fileDescriptor)
        let refused = await #expect(throws: NotConfirmedError.self) {
            try await context.requestDelete(album).confirm(with: nowhere)
        }
        #expect(refused?.reason == "There is no terminal to ask on; pass --yes.")
        #expect(!album.isDeleted)
        #expect(!context.hasChanges)
        try await context.requestDelete(album).confirm(with: TerminalConfirmer(assumesYes: true))
        #expect(album.isDeleted)
        context.rollback()
        try await context.requestDelete(album).confirm(with: FixedConfirmer(true))
        #expect(try await context.save() != nil)
    }

    @Test(
        "B2 the answer is a line on the terminal, in the language of the confirmer",
        arguments: [
            ("yes\n", "en", true), ("YES\n", "en", true), ("no\n", "en", false),
            ("\n", "en", false), ("\u{4}", "en", false), ("是\n", "zh-Hans", true),
            ("yes\n", "zh-Hans", false),
        ])
    func b2Terminal(answer: String, language: String, isYes: Bool) async throws {
        var (terminal, input): (Int32, Int32) = (-1, -1)
        try #require(openpty(&terminal, &input, nil, nil, nil) == 0)
        defer {
            close(terminal)
            close(input)
        }
        let question = Pipe()
        let messages = [MessageTable.english, .simplifiedChinese].first { $0.language == language }
        let confirmer = TerminalConfirmer(
            input: input, output: question.fileHandleForWriting.fileDescriptor,
            messages: try #require(messages))
        #expect(
            Array(answer.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) } > 0)
        let context = try store().context()
        let (album, _) = try saved(context)
        do {
            try await context.requestDelete(album).confirm(with: confirmer)
        } catch let error as NotConfirmedError {
            #expect(!isYes, "\(error)")
        }
        #expect(album.isDeleted == isYes)
        try question.fileHandleForWriting.close()
        let text = String(
            decoding: try #require(try question.fileHandleForReading.readToEnd()), as: UTF8.self)
        #expect(text.hasPrefix("Delete Album?\nLost for good: 1 Album, 2 Photo.\n"))
        #expect(text.hasSuffix(language == "en" ? "[yes/no] " : "[是/否] "))
    }

    @Test("B3 a protected object goes by no other way: cascade, change set, what came later")
    func b3OtherWays() throws {
        let store = try store()
        let context = store.context()
        let (album, photos) = try saved(context)
        let cabinet = Cabinet()
        context.insert(cabinet)
        cabinet.albums.append(album)
        try context.save()
        context.delete(cabinet)
        #expect(
            try violations { try context.save() }
                == Array(repeating: .unconfirmedDeletion, count: 3))
        #expect(!cabinet.isDeleted)
        #expect(!album.isDeleted)
        #expect(!photos[0].isDeleted)
        let other = store.context()
        let same = try #require(try other.object(Photo.self, id: photos[0].id))
        try other.requestDelete(same).confirm()
        let changes = other.changes
        other.rollback()
        try context.apply(changes)
        #expect(try violations { try context.save() } == [.unconfirmedDeletion])
        #expect(try context.fetch(Photo.self).count() == 2)
        let action = try context.requestDelete(album)
        let sameAlbum = try #require(try other.object(Album.self, id: album.id))
        other.insert(Photo(name: "late", album: sameAlbum))
        try other.save()
        try action.confirm()
        #expect(try violations { try context.save() } == [.unconfirmedDeletion])
        #expect(try context.fetch(Photo.self).count() == 3)
        #expect(!album.isDeleted)
        try context.requestDelete(album).confirm()
        try context.save()
        #expect(try context.fetch(Photo.self).all().isEmpty)
        try context.requestDelete(cabinet).confirm()
        #expect(try context.save() != nil)
    }
}
