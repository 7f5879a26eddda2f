import Foundation
import StetTestSupport
import Testing

@testable import Stet
@testable import StetStore

private enum Inline {
    @Model final class Photo {
        var title: String
        var file: Data
        init(title: String, file: Data) {
            self.title = title
            self.file = file
        }
    }
}

private enum Large {
    @Model final class Photo {
        var title: String
        @Attribute(originalName: "picture") var file: LargeData?
        init(title: String) { self.title = title }
    }
}

private enum Without {
    @Model final class Photo {
        var title: String
        init(title: String) { self.title = title }
    }
}

@Model private final class Note {
    var text: String = ""
    init() {}
}

/// Models that get large data, and models that lose it.
@Suite struct LargeDataMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private static let plan = MigrationPlan(
        .version(Inline.Photo.self),
        .version(Large.Photo.self) { step in
            try step.forEach(Inline.Photo.self, Large.Photo.self) { old, new in
                guard let store = new.context?.store else { return }
                new.file = try LargeData(old.file, in: store)
            }
        })

    private func makeInline() throws {
        let store = try Store.open(at: path, for: Inline.Photo.self)
        let context = store.context()
        for number in 0..<5 {
            context.insert(
                Inline.Photo(title: "\(number)", file: Gallery.bytes(70_000, number % 3)))
        }
        try context.save()
        store.close()
    }

    private func valueCount(_ store: Store) throws -> Int {
        let table = try #require(store.file.projection.largeValues)
        var count = 0
        try store.file.read { reader in
            try table.forEachEntry(in: reader.transaction) { _ in
                count += 1
                return true
            }
        }
        return count
    }

    @Test func codeMovesDataOutOfTheRecords() throws {
        try makeInline()
        let store = try Store.open(at: path, migrating: Self.plan)
        let photos = try store.fetch(Large.Photo.self).sorted(by: \.title).all()
        #expect(
            try photos.map { try $0.file?.data(in: store) }
                == (0..<5).map { Gallery.bytes(70_000, $0 % 3) })
        #expect(try valueCount(store) == 3)
        #expect(try store.verify().problems == [])
        store.close()
        let again = try Store.open(at: path, for: Large.Photo.self)
        #expect(try again.verify().problems == [])
    }

    @Test func itIsNoChangeOfTypeWithoutCode() throws {
        try makeInline()
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: path, for: Changed.Photo.self)
        }
        #expect(error.code == .modelMismatch)
        #expect(error.message.contains("large data"))
    }

    @Test func whatCodeSetsMustBeOptional() throws {
        try makeInline()
        let plan = MigrationPlan(
            .version(Inline.Photo.self),
            .version(Changed.Photo.self) { step in
                try step.forEach(Inline.Photo.self, Changed.Photo.self) { old, new in
                    guard let store = new.context?.store else { return }
                    new.file = try LargeData(old.file, in: store)
                }
            })
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: path, migrating: plan)
        }
        #expect(error.code == .modelMismatch)
        #expect(
            error.message.contains("large data has no default value: make it optional"),
            "\(error)")
        let store = try Store.open(at: path, migrating: Self.plan)
        #expect(try store.fetch(Large.Photo.self).count() == 5)
        store.close()
        // Nor does one that may be nil become one that may not.
        let strict = MigrationPlan(
            .version(Large.Photo.self), .version(Changed.Photo.self) { _ in })
        let other = try #require(throws: StoreError.self) {
            try Store.open(at: path, migrating: strict)
        }
        #expect(other.code == .modelMismatch)
        #expect(other.message.contains("Photo.file may be nil in the store"), "\(other)")
    }

    @Test(arguments: [false, true])
    func anAttributeOrAModelIsRemoved(removesModel: Bool) throws {
        let clock = Gallery.Clock()
        var configuration = Store.Configuration()
        configuration.clock = { clock.now() }
        let first = try Store.open(at: path, for: Large.Photo.self, configuration: configuration)
        let context = first.context(author: "ada")
        let photo = Large.Photo(title: "a")
        photo.file = try LargeData(Gallery.bytes(70_000), in: first)
        context.insert(photo)
        try context.save()
        let file = try #require(photo.file)
        first.close()

        configuration.removedModels = removesModel ? ["Photo"] : []
        let store = try Store.open(
            at: path, for: removesModel ? [Note.self] : [Without.Photo.self],
            configuration: configuration)
        #expect(try store.verify().problems == [])
        // The journal still refers to it.
        #expect(try file.data(in: store) == Gallery.bytes(70_000))
        clock.pass(days: 2)
        let last = try store.revision()
        try store.requestTrim(before: last).confirm()
        #expect(try valueCount(store) == 0)
        #expect(try store.verify().problems == [])
        #expect(throws: StoreError.self) { try LargeData(Data(), in: store) }
    }

    @Test func anAttributeIsAdded() throws {
        let first = try Store.open(at: path, for: Without.Photo.self)
        let context = first.context()
        context.insert(Without.Photo(title: "a"))
        try context.save()
        first.close()
        let store = try Store.open(at: path, for: Large.Photo.self)
        try store.edit { context in
            let photo = try #require(try context.fetch(Large.Photo.self).first())
            #expect(photo.file == nil)
            photo.file = try LargeData(Data([1, 2]), in: store)
        }
        #expect(try store.fetch(Large.Photo.self).first()?.file?.data(in: store) == Data([1, 2]))
        #expect(try store.verify().problems == [])
    }
}

private enum Changed {
    @Model final class Photo {
        var title: String
        var file: LargeData
        init(title: String, file: LargeData) {
            self.title = title
            self.file = file
        }
    }
}
