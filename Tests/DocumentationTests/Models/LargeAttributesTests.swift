import Foundation
import Stet
import StetTestSupport
import Testing

@Model final class Photo {
    var title: String
    var file: LargeData?
    init(title: String) { self.title = title }
}

private enum Version1 {
    @Model final class Photo {
        var title: String
        var file: Data
        init(title: String, file: Data) {
            self.title = title
            self.file = file
        }
    }
}

/// The code of LargeAttributes.md.
@Suite struct LargeAttributesTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    @Test func aFileIsUploadedReadAndErased() async throws {
        let store = try Store.open(at: path, for: Photo.self)
        func upload(_ body: some AsyncSequence<Data, any Error>, _ title: String) async throws {
            let file = try await LargeData(body, in: store)  // 1 MiB in memory, whatever the size
            try await store.edit("upload") { context in
                let photo = Photo(title: title)
                photo.file = file
                context.insert(photo)
            }
        }
        let data = Data(repeating: 7, count: 3_000_000)
        let body = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        try await upload(body, "a picture")

        let context = store.context()
        let photo = try #require(try context.fetch(Photo.self).first())
        let file = try #require(photo.file)
        var count = 0
        for try await part in file.bytes(in: store) { count += part.count }
        let preview = try file.data(in: store, range: 0..<1_024)
        #expect(count == 3_000_000)
        #expect(preview == data.prefix(1_024))
        #expect(file.byteCount == count)
        #expect(try context.fetch(Photo.self) { $0.file == file }.count() == 1)

        photo.file = nil
        try await context.save()
        try store.requestRedaction(of: Photo.self, id: photo.id, \.file).confirm()
        #expect(throws: StoreError.self) { try file.data(in: store) }
    }

    @Test func codeMovesDataOutOfTheRecords() throws {
        let first = try Store.open(at: path, for: Version1.Photo.self)
        let context = first.context()
        context.insert(Version1.Photo(title: "a", file: Data([1, 2])))
        try context.save()
        first.close()
        let plan = MigrationPlan(
            .version(Version1.Photo.self),
            .version(Photo.self) { step in
                try step.forEach(Version1.Photo.self, Photo.self) { old, new in
                    guard let store = new.context?.store else { return }
                    new.file = try LargeData(old.file, in: store)
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        #expect(try store.fetch(Photo.self).first()?.file?.data(in: store) == Data([1, 2]))
    }
}
