import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport

/// A store of the test domain in a directory of its own, with a clock that the test sets.
final class Scratch: Sendable {
    private let directory = TemporaryDirectory()
    let store: Store

    init() throws {
        let seconds = SharedSeconds()
        var configuration = Store.Configuration()
        configuration.clock = {
            Date(timeIntervalSinceReferenceDate: seconds.value.withLock { $0 })
        }
        store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration)
        clock = seconds
    }

    private let clock: SharedSeconds

    private final class SharedSeconds: Sendable {
        let value = Monitor(1_000.0)
    }

    /// The time of the next save.
    var now: Date {
        get { Date(timeIntervalSinceReferenceDate: clock.value.withLock { $0 }) }
        set { clock.value.withLock { $0 = newValue.timeIntervalSinceReferenceDate } }
    }

    var path: String { directory.file() }

    /// A saved notebook with an article, in a context of their own.
    func saved() throws -> (context: ManagedContext, notebook: Notebook, article: Article) {
        let context = store.context(author: "lala")
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Macros", notebook: notebook)
        context.insert(article)
        try context.save("first")
        return (context, notebook, article)
    }
}
