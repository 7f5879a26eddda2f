import Foundation
import Stet
import StetStore

/// The promises of writers about sealed values, and the steps that they had begun.
struct SecretLedger {
    private struct Article {
        /// The state that was acknowledged last; nil if none was.
        var certain: Diary.State?
        /// The states that were to be saved after it.
        var possible: [Diary.State] = []
        /// The least version of the key, after its value was sealed anew.
        var version: UInt32 = 0

        func allows(_ number: Int, in notebook: ObjectID) -> Bool {
            let state = Diary.State(notebook: notebook, number: number)
            return certain == state || possible.contains(state)
        }

        var states: [Diary.State] { (certain.map { [$0] } ?? []) + possible }
    }

    /// A writer's sealing anew of the values of a notebook, which has not returned.
    private struct Sealing: Hashable {
        let writer: Int
        let notebook: ObjectID
    }

    private var articles: [String: Article] = [:]
    /// The articles of the writer itself that nobody else changes while it seals them anew.
    private var sealings: [Sealing: Set<String>] = [:]
    /// The least present version of each key.
    private var versions: [ObjectID: UInt32] = [:]
    private var destroying: Set<ObjectID> = []
    private(set) var destroyed: Set<ObjectID> = []

    /// Adopts promises, of which a power cut may have taken the last ones.
    init(_ promises: some Collection<Promise>, unsynced: Int) {
        for (index, promise) in promises.enumerated() {
            guard case .secret(let secret) = promise else { continue }
            add(secret, isSynced: index < promises.count - unsynced)
        }
    }

    private mutating func add(_ promise: SecretPromise, isSynced: Bool) {
        switch promise {
        case .writing(let label, let state):
            articles[label, default: Article()].possible.append(state)
            articles[label]?.version = 0
            for sealing in sealings.keys { sealings[sealing]?.remove(label) }
        case .written(let label, let number):
            guard isSynced, let article = articles[label] else { return }
            // A save after a conflict may have named another notebook.
            articles[label]?.certain = article.possible.last { $0.number == number }
            articles[label]?.possible.removeAll { $0.number <= number }
        case .rotated(let notebook, let version):
            versions[notebook] = max(version, versions[notebook] ?? 0)
        case .sealing(let writer, let notebook):
            let settled = articles.filter { label, article in
                label.hasPrefix("\(writer)/") && article.possible.isEmpty
                    && article.certain?.notebook == notebook
            }
            sealings[Sealing(writer: writer, notebook: notebook)] = Set(settled.keys)
        case .sealed(let writer, let notebook, let version):
            let settled = sealings.removeValue(
                forKey: Sealing(writer: writer, notebook: notebook))
            guard isSynced else { return }
            for label in settled ?? [] { articles[label]?.version = version }
        // The key file is synced, whatever the store is.
        case .destroying(let notebook): destroying.insert(notebook)
        case .destroyed(let notebook): destroyed.insert(notebook)
        }
    }

    // MARK: Judging

    /// Returns a description of the first promise that a store and its key file do not keep; nil if
    /// they keep all.
    func problem(_ store: Store, _ keys: KeyFile) throws -> String? {
        let context = store.context()
        var missing = Set(articles.filter { $0.value.certain != nil }.keys)
        var isErased: [ObjectID: Bool] = [:]
        for article in try context.fetch(Diary.Article.self).snapshots() {
            missing.remove(article.label)
            if let problem = problem(article.label, article.text, &isErased) { return problem }
        }
        if let label = missing.min() { return "article \(label) is lost" }
        for notebook in try context.fetch(Diary.Notebook.self).snapshots() {
            guard let owner = notebook.name.stored?.place?.owner, owner == notebook.id else {
                return "the name of notebook \(notebook.id) is not sealed by its key"
            }
            let isReadable = try opened(notebook.name) == "\(Diary.mark) name"
            if let problem = note(owner, isErased: !isReadable, &isErased) { return problem }
        }
        return try problem(keys, isErased)
    }

    private func problem(
        _ label: String, _ text: Sealed<String>?, _ isErased: inout [ObjectID: Bool]
    ) -> String? {
        guard let article = articles[label] else { return "nobody has written article \(label)" }
        guard let text, let stored = text.stored, let owner = stored.place?.owner else {
            return "article \(label) has no sealed text"
        }
        let found: String?
        do { found = try opened(text) } catch { return "article \(label): \(error)" }
        let isExpected =
            if let found {
                article.states.contains {
                    $0.notebook == owner && Diary.text($0.number, of: label) == found
                }
            } else {
                article.states.contains { $0.notebook == owner }
            }
        if !isExpected {
            return "article \(label) has the text \(found?.prefix(50) ?? "erased") of \(owner)"
        }
        if found != nil, stored.keyVersion < article.version {
            return "article \(label) is sealed by version \(stored.keyVersion) of its key, and was"
                + " sealed anew by \(article.version)"
        }
        return note(owner, isErased: found == nil, &isErased)
    }

    /// Returns a value; nil when it is erased.
    private func opened(_ value: Sealed<String>) throws -> String? {
        do {
            return try value.value
        } catch {
            if error.code == .erased { return nil }
            throw error
        }
    }

    /// Notes that a value of a notebook is erased or not, as all its values must be.
    private func note(
        _ notebook: ObjectID, isErased: Bool, _ known: inout [ObjectID: Bool]
    ) -> String? {
        if known[notebook] ?? isErased != isErased { return "\(notebook) is erased in part" }
        known[notebook] = isErased
        if isErased { return destroying.contains(notebook) ? nil : "\(notebook) is erased" }
        return destroyed.contains(notebook) ? "\(notebook) is not erased" : nil
    }

    private func problem(_ keys: KeyFile, _ isErased: [ObjectID: Bool]) throws -> String? {
        for (notebook, version) in versions where isErased[notebook] == false {
            let present = try keys.presentVersion(of: notebook) ?? 0
            if present < version { return "version \(version) of key \(notebook) is lost" }
        }
        return nil
    }
}
