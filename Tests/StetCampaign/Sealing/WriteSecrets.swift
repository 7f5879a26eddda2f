import ArgumentParser
import Foundation
import Stet
import StetStore
import StetTestSupport

/// The child that saves sealed values, seals them anew by other keys and destroys keys, and reports
/// each step before and after it.
struct WriteSecrets: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes sealed values, and rotates and destroys their keys, at random.")

    @OptionGroup var options: WriterOptions
    @Option(help: "How many commits of values; endless when it is not given.")
    var commits = Int.max

    func run() throws {
        try reportingErrors {
            var writer = try SecretWriter(options)
            while writer.commitCount < commits { try writer.step() }
            writer.close()
        }
    }
}

/// One writer of a diary: it changes its own articles, in notebooks that all writers share.
private struct SecretWriter {
    private let store: Store
    private let keys: KeyFile
    private let context: ManagedContext
    private let stream: Int
    private var random: SeededGenerator
    /// The notebooks whose keys are there, as far as this writer knows.
    private var notebooks: [ObjectID]
    private var articles: [ObjectID] = []
    private var textCount = 0
    private(set) var commitCount = 0

    private static let articleLimit = 10

    init(_ options: WriterOptions) throws {
        stream = options.stream
        random = SeededGenerator(seed: options.seed, stream: stream)
        (store, keys) = try Diary.open(options.path)
        context = store.context(author: "campaign")
        notebooks = try context.fetch(Diary.Notebook.self).snapshots().map(\.id)
    }

    func close() { store.close() }

    private mutating func isTrue(oneIn count: Int) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    mutating func step() throws {
        do {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<12: try write()
            case 12...14: try rotate()
            case 15, 16: try sealAnew()
            case 17, 18: try destroyKey()
            default: try waiting { [keys] in try await keys.move(to: Diary.provider) }
            }
        } catch  where Self.isErased(error) {
            // By another writer, meanwhile.
            try forgetErased()
        }
    }

    private static func isErased(_ error: any Error) -> Bool {
        switch error {
        case let error as SealingError: error.code == .erased
        case let error as Stet.ValidationError:
            error.violations.allSatisfy { $0.code == .unsealable }
        default: false
        }
    }

    private mutating func forgetErased() throws {
        notebooks = try notebooks.filter { notebook in
            do {
                return try keys.presentVersion(of: notebook) != nil
            } catch let error as SealingError where error.code == .erased {
                return false
            }
        }
    }

    // MARK: Values

    /// Gives an article a text, and a notebook that may be another one.
    private mutating func write() throws {
        let index = Int.random(in: 0..<Self.articleLimit, using: &random)
        let id = index < articles.count ? articles[index] : nil
        let label = "\(stream)/\(min(index, articles.count))"
        let isNew = notebooks.count < 2 || isTrue(oneIn: 6)
        let known = isNew ? nil : notebooks.randomElement(using: &random)
        textCount += 1
        while true {
            do {
                try context.refresh()
                return try write(id, label, in: known)
            } catch is ConflictError {
                // Another writer has sealed the value anew.
            }
        }
    }

    private mutating func write(
        _ id: ObjectID?, _ label: String, in known: ObjectID?
    ) throws {
        let found = try id.flatMap { try context.object(Diary.Article.self, id: $0) }
        let article = found ?? Diary.Article(label: label)
        let notebook =
            try known.flatMap { try context.object(Diary.Notebook.self, id: $0) }
            ?? Diary.Notebook()
        if found == nil { context.insert(article) }
        article.notebook = notebook
        article.text = Sealed(Diary.text(textCount, of: label))
        let state = Diary.State(notebook: notebook.id, number: textCount)
        say(SecretPromise.writing(article: label, state).line)
        guard let commit = try context.save() else { throw CampaignFailure("no change") }
        say("\(Acknowledgement(revision: commit.revision, token: commit.id.token))")
        say(SecretPromise.written(article: label, number: textCount).line)
        commitCount += 1
        if found == nil { articles.append(article.id) }
        if known == nil { notebooks.append(notebook.id) }
    }

    // MARK: Keys

    private mutating func rotate() throws {
        guard let notebook = notebooks.randomElement(using: &random) else { return }
        try keys.rotateKey(of: notebook)
        guard let version = try keys.presentVersion(of: notebook) else { return }
        say(SecretPromise.rotated(notebook, version: version).line)
        if isTrue(oneIn: 2) { try sealAnew(notebook) }
    }

    private mutating func sealAnew() throws {
        if let notebook = notebooks.randomElement(using: &random) { try sealAnew(notebook) }
    }

    private func sealAnew(_ notebook: ObjectID) throws {
        guard let version = try keys.presentVersion(of: notebook) else { return }
        say(SecretPromise.sealing(writer: stream, notebook).line)
        _ = try waiting { [store] in try await store.sealAnew(by: notebook) }
        say(SecretPromise.sealed(writer: stream, notebook, version: version).line)
    }

    private mutating func destroyKey() throws {
        guard notebooks.count > 1, let notebook = notebooks.randomElement(using: &random) else {
            return
        }
        say(SecretPromise.destroying(notebook).line)
        try keys.destroyKey(of: notebook)
        say(SecretPromise.destroyed(notebook).line)
        notebooks.removeAll { $0 == notebook }
    }
}
