import Dispatch
import Foundation
import Glibc
import Stet
import StetStore
import Synchronization

/// Notebooks and articles whose texts are sealed by the keys of their notebooks.
enum Diary {
    @Model final class Notebook {
        var name: Sealed<String>

        init() { name = Sealed("\(Diary.mark) name") }
    }

    @Model final class Article {
        /// The number of the writer, and that of its article.
        var label: String
        var notebook: Notebook?
        @Attribute(.sealed(by: \.notebook), .indexed) var text: Sealed<String>?

        init(label: String) { self.label = label }
    }

    /// The notebook and the number of the text that an article has.
    struct State: Hashable {
        let notebook: ObjectID
        let number: Int
    }

    /// The beginning of every text, which must be in no file.
    static let mark = "plaintext-of-the-campaign"

    /// Returns a text of an article: a few words, sometimes a page.
    static func text(_ number: Int, of label: String) -> String {
        let count = number.isMultiple(of: 9) ? 5_000 : number % 40
        return "\(mark) \(label) \(number) " + String(repeating: ".", count: count)
    }

    /// The path of the key file of a store: one that the recorder of power cuts records with it.
    static func keyPath(_ path: String) -> String { "\(path).keys" }

    static let provider: LocalKeyProvider = {
        setenv("STET_CAMPAIGN_KEY", String(repeating: "5e", count: 32), 1)
        return .environment("STET_CAMPAIGN_KEY")
    }()

    /// Opens or creates the store and its key file.
    static func open(_ path: String) throws -> (store: Store, keys: KeyFile) {
        let keys = try waiting {
            try await KeyFile.open(at: keyPath(path), provider: provider)
        }
        return (try open(path, keys), keys)
    }

    /// Opens the store with a key file that exists.
    static func open(_ path: String, _ keys: KeyFile) throws -> Store {
        var configuration = Store.Configuration()
        configuration.keys = keys
        return try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
    }
}

extension Sealed {
    /// The value as it is stored.
    var stored: SealedBytes? {
        guard case .data(let data) = _value else { return nil }
        return SealedBytes(bytes: Array(data))
    }
}

/// Blocks the thread until an asynchronous operation has ended.
func waiting<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
) throws -> Result {
    let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Task {
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.withLock { $0 = result }
        isDone.signal()
    }
    isDone.wait()
    guard let result = outcome.withLock({ $0 }) else { throw CampaignFailure("no result") }
    return try result.get()
}
