import CoreMetrics
import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport

/// Nodes of a shared journal, each with a file in a directory of their own.
final class Nodes: Sendable {
    let journal: MemoryJournal
    let directory = TemporaryDirectory()

    /// Creates nodes; silent ones follow the journal only when a test asks them to.
    init(isSilent: Bool = false) { journal = MemoryJournal(isSilent: isSilent) }

    /// The names of all files.
    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    func path(_ name: String) -> String { directory.file("\(name).stet") }

    /// Opens a node that follows the journal after hints.
    func open(
        _ name: String, seededFrom seed: String? = nil, settleLimit: Duration = .seconds(5),
        retention: Retention = .forever,
        durability: Durability = .synced,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) throws -> Store {
        var configuration = Store.Configuration()
        configuration.metricsFactory = metrics
        configuration.settleLimit = settleLimit
        configuration.retention = retention
        configuration.durability = durability
        configuration.followingPause = .seconds(3_600)
        let store = try Store.open(
            at: path(name), for: Notebook.self, Article.self, Tally.self, seededFrom: seed,
            journal: journal, configuration: configuration)
        // Its thread follows the journal once.
        if journal.isSilent { store.file.shared?.follower.waitUntilIdle(.seconds(60)) }
        return store
    }

    /// Opens a node's file without its journal.
    func openAlone(_ name: String) throws -> Store {
        try Store.open(at: path(name), for: Notebook.self, Article.self, Tally.self)
    }
}

extension Store {
    /// Saves a new notebook.
    @discardableResult
    func saveNotebook(_ name: String) throws -> ObjectID {
        let context = context(author: "lala")
        let notebook = Notebook(name: name)
        context.insert(notebook)
        try context.save()
        return notebook.id
    }

    func commit(_ revision: Revision) throws -> Commit { try file.read { try $0.commit(revision) } }

    var notebookNames: [String] {
        get throws { try fetch(Notebook.self).sorted(by: \.name).values(of: \.name) }
    }
}
