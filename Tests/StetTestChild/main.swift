import Foundation
import Glibc
import Stet
import StetLMDB
import StetStore
import StetTestModels

// A program that the tests run as a separate process, to kill it, to record its writes, or to open
// files that may be damaged.
//
//   stet-test-child create PATH            makes an empty store
//   stet-test-child write PATH [COUNT]     saves edits in a row, without COUNT until it is killed,
//                                          and after each writes "ack REVISION" to standard output
//   stet-test-child insist PATH COUNT      saves articles, reports each outcome, and waits
//   stet-test-child redact PATH ID         redacts the earlier titles of an article
//   stet-test-child random PATH COUNT SEED  makes random commits on objects that others change, too
//   stet-test-child count PATH COUNT       increments a counter by 1 in each of so many saves
//   stet-test-child undo PATH ID CALL COUNT
//                                          undoes the last edit of the author "child" with a commit
//                                          id, and is killed at the COUNT-th CALL, put or commit
//   stet-test-child read PATH              begins a read, writes "reading", and waits
//   stet-test-child lock PATH              begins a write, writes "writing", and waits
//   stet-test-child fork PATH              uses a store in a child that was forked from it
//   stet-test-child fork-ids               makes ids in two children that were forked from it
//   stet-test-child migrate PATH           opens the store with later models, and reports it
//   stet-test-child seed PATH SEED         opens the store, or creates it from another one
//   stet-test-child verify PATH …          verifies stores with their own schemas
//   stet-test-child check PATH REVISION …  verifies stores and that each has at least its revision

/// Standard output without a buffer: what is written survives a kill.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    guard Glibc.write(1, bytes, bytes.count) == bytes.count else { exit(74) }
}

func openStore(_ path: String) throws -> Store {
    try Store.open(at: path, for: Notebook.self, Article.self)
}

func write(_ path: String, _ count: Int?) throws {
    let context = try openStore(path).context(author: "child")
    var notebook: Notebook?
    var articles: [Article] = []
    for number in 0..<(count ?? .max) {
        // Mixes inserts, updates and deletes, with references that come and go.
        if number % 10 == 0 {
            notebook = Notebook(name: "notebook \(number)")
            context.insert(notebook!)
        }
        let article = Article(title: "article \(number)", notebook: notebook)
        article.body = String(repeating: "text ", count: number % 50)
        context.insert(article)
        articles.append(article)
        if number % 3 == 0 { articles[articles.count / 2].rating = number % 5 }
        if number % 7 == 6 { context.delete(articles.removeFirst()) }
        if number % 20 == 19, let last = notebook {
            context.delete(last)
            notebook = nil
        }
        guard let commit = try context.save("edit \(number)") else { exit(70) }
        say("ack \(commit.revision)")
    }
}

/// Saves articles, regardless of the outcome of the earlier ones: "saved N", "refused N CODE",
/// "unknown N".
func insist(_ path: String, _ count: Int) throws {
    var store = try openStore(path)
    for number in 1...count {
        do {
            let context = store.context(author: "child")
            context.insert(Article(title: "article \(number)", notebook: nil))
            try context.save()
            say("saved \(number)")
        } catch let error as StoreError {
            say("refused \(number) \(error.code)")
        } catch let error as UnknownOutcomeError {
            store.close()
            guard let again = try? openStore(path) else {
                say("unknown \(number)")
                break
            }
            store = again
            switch store.outcome(of: error.commit) {
            case .committed: say("saved \(number)")
            case .notCommitted: say("refused \(number) resolved")
            case .unknown: say("unknown \(number)")
            }
        }
    }
    say("done")
    stay()
}

/// The next version of the test domain.
enum Later {
    @Model final class Notebook {
        @Attribute(.unique, originalName: "name") var title: String
        @Attribute(.stamped(.insert)) var created: Date
        var isShared: Bool = false

        init(title: String) { self.title = title }
    }

    @Model(originalName: "Article") final class Note {
        var notebook: Notebook?
        @Attribute(.indexed) var title: String
        @Attribute(.indexed) var rating: Int = 0
        var next: Note?

        init(title: String) { self.title = title }
    }
}

func migrate(_ path: String) throws {
    say("migrating")
    let store = try Store.open(at: path, for: Later.Notebook.self, Later.Note.self)
    say("migrated \(try store.file.read { try $0.head().schemaRevision })")
}

/// Verifies stores with the schemas that they have.
func verify(_ paths: [String]) {
    for path in paths {
        do {
            let file = try StoreFile.open(at: path)
            defer { file.close() }
            let report = try file.verify()
            say(
                report.isClean
                    ? "ok schema \(file.schema.revision) \(report.objectCount) objects"
                    : "bad \(path): \(report)")
        } catch {
            say("bad \(path): \(error)")
        }
    }
}

func check(_ arguments: [String]) {
    for index in stride(from: 0, to: arguments.count - 1, by: 2) {
        let path = arguments[index]
        do {
            let store = try openStore(path)
            defer { store.close() }
            let report = try store.verify()
            let expected = Revision(UInt64(arguments[index + 1]) ?? .max)
            if report.revision < expected {
                say("lost \(path): \(report.revision) instead of \(expected)")
            } else {
                say(report.isClean ? "ok \(path)" : "bad \(path): \(report)")
            }
        } catch {
            say("bad \(path): \(error)")
        }
    }
}

func count(_ path: String, _ count: Int) throws {
    let context = try Store.open(at: path, for: Tally.self).context(author: "child")
    guard let tally = try context.fetch(Tally.self).first() else { exit(70) }
    for _ in 0..<count {
        tally.count += 1
        try context.saveIncrements()
    }
}

/// Undoes the last edit, and ends as by `kill -9` at a call of LMDB.
func undo(_ path: String, _ id: CommitID, _ call: String, _ count: Int) throws {
    let store = try openStore(path)
    #if STET_FAULTS
        let operations: [String: LMDBError.Operation] = [
            "put": .put, "commit": .commit, "reportOfCommit": .reportOfCommit,
        ]
        guard let operation = operations[call] else { exit(64) }
        store.file.environment.faults.failNext(operation, after: count, code: FaultInjector.kill)
    #endif
    guard let commit = try store.undo(author: "child", id: id) else { exit(70) }
    say("undone \(commit.revision)")
}

/// Stays until it is killed.
func stay() -> Never {
    while true { pause() }
}

do {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "create" where arguments.count == 3: try openStore(arguments[2]).close()
    case "write" where arguments.count >= 3:
        try write(arguments[2], arguments.count > 3 ? Int(arguments[3]) : nil)
    case "insist" where arguments.count == 4:
        try insist(arguments[2], Int(arguments[3]) ?? 1)
    case "redact" where arguments.count == 4:
        guard let id = ObjectID(arguments[3]) else { exit(64) }
        try openStore(arguments[2]).requestRedaction(of: Article.self, id: id, \.title).confirm()
    case "random" where arguments.count == 5:
        var saver = RandomSaver(try openStore(arguments[2]), seed: UInt64(arguments[4]) ?? 0)
        try saver.save(Int(arguments[3]) ?? 0)
    case "count" where arguments.count == 4:
        try count(arguments[2], Int(arguments[3]) ?? 0)
    case "undo" where arguments.count == 6:
        try undo(
            arguments[2], try JSONDecoder().decode(CommitID.self, from: Data(arguments[3].utf8)),
            arguments[4], Int(arguments[5]) ?? 1)
    case "read" where arguments.count == 3:
        try openStore(arguments[2]).file.read { _ in
            say("reading")
            stay()
        }
    case "lock" where arguments.count == 3:
        try openStore(arguments[2]).file.environment.write { _ in
            say("writing")
            stay()
        }
    case "fork" where arguments.count == 3: try useAfterFork(arguments[2])
    case "fork-ids": makeIDsAfterFork()
    case "migrate" where arguments.count == 3: try migrate(arguments[2])
    case "seed" where arguments.count == 4:
        let store = try Store.open(
            at: arguments[2], for: Notebook.self, Article.self, seededFrom: arguments[3])
        say("\(store.file.storeID) \(try store.verify().isClean) \(try store.revision())")
    case "verify": verify(Array(arguments.dropFirst(2)))
    case "check": check(Array(arguments.dropFirst(2)))
    default:
        say("usage: stet-test-child create|write|check PATH …")
        exit(64)
    }
} catch {
    say("error: \(error)")
    exit(1)
}
