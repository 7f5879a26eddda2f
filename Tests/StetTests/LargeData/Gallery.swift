import Foundation
import StetLMDB
import StetTestSupport
import Testing

@testable import Stet
@testable import StetStore

/// A store of photos, whose files are large data, and a clock that a test moves.
final class Gallery {
    @Model final class Photo {
        var title: String
        var file: LargeData?
        init(title: String, file: LargeData? = nil) {
            self.title = title
            self.file = file
        }
    }

    final class Clock: Sendable {
        let time = Monitor(1_000.0)
        func now() -> Date { Date(timeIntervalSinceReferenceDate: time.withLock { $0 }) }
        func pass(days: Double) { time.withLock { $0 += days * 24 * 60 * 60 } }
    }

    let directory = TemporaryDirectory()
    let clock = Clock()
    private(set) var store: Store
    private(set) lazy var context = store.context(author: "ada")

    var path: String { directory.file() }

    init() throws { store = try Self.open(directory.file(), clock) }

    static func open(_ path: String, _ clock: Clock = Clock()) throws -> Store {
        var configuration = Store.Configuration()
        configuration.clock = { clock.now() }
        return try Store.open(at: path, for: Photo.self, configuration: configuration)
    }

    func reopen() throws {
        store.close()
        store = try Self.open(path, clock)
        context = store.context(author: "ada")
    }

    /// Bytes that no other number has.
    static func bytes(_ count: Int, _ number: Int = 0) -> Data {
        var random = SeededGenerator(seed: UInt64(number))
        var data = Data(capacity: count + 8)
        while data.count < count {
            withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    /// Saves a photo with new bytes.
    @discardableResult
    func add(_ title: String, _ data: Data) throws -> Photo {
        let photo = Photo(title: title, file: try LargeData(data, in: store))
        context.insert(photo)
        try context.save()
        return photo
    }

    /// The number of values whose bytes the store has, and of chunks.
    func counts() throws -> (values: Int, chunks: Int) {
        let table = try #require(store.file.projection.largeValues)
        return try store.file.read { reader in
            var (values, chunks) = (0, 0)
            try table.forEachEntry(in: reader.transaction) { _ in
                values += 1
                return true
            }
            try table.forEachKey(in: reader.transaction) { chunks += $1 }
            return (values, chunks)
        }
    }

    func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }
}
