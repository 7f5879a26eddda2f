import Foundation
import Stet

/// A catalogue of installed packages: imported from a dpkg status file, edited, read back and
/// verified.
///
/// Exit status: 0 when everything went as expected, 1 on any surprise, 2 when the input or the
/// place of the store cannot be used, 64 for an invalid command line.
@main struct Catalogue {
    static func main() async {
        // A closed output must not end the run, which removes its files at the end.
        signal(SIGPIPE, SIG_IGN)
        do {
            exit(try await run(Options(Array(CommandLine.arguments.dropFirst()))) ? 0 : 1)
        } catch let failure as Failure {
            writeError("catalogue: \(failure.message)\n")
            exit(failure.exitCode)
        } catch {
            writeError("catalogue: \(error)\n")
            exit(1)
        }
    }

    /// Runs the example, and returns false on any surprise.
    private static func run(_ options: Options) async throws -> Bool {
        let report = Report()
        switch options {
        case .help: print(Options.usage)
        case .readBack(let store, let expectation):
            try Expectation.readBack(store: store, expectation: expectation, report)
        case .index(let path): try PackageIndex(path: path, report: report).run()
        case .run(let status, let keptStore):
            let input = try Input.read(status)
            let file = StatusFile(input.bytes)
            guard !file.packages.isEmpty else {
                throw Failure(message: "\(input.name) has no installed packages; try --excerpt")
            }
            let place = try StorePlace(kept: keptStore)
            defer { place.tidy() }
            let run = Catalogue(file: file, inputName: input.name, place: place, report: report)
            try await run.run()
            print(
                report.surpriseCount == 0
                    ? "\nEverything was as expected."
                    : "\n\(counted(report.surpriseCount, "thing")) not as expected.")
        }
        return report.surpriseCount == 0
    }

    private let file: StatusFile
    private let inputName: String
    private let place: StorePlace
    private let report: Report

    private func run() async throws {
        print("A catalogue of the packages in \(inputName)")
        let left = file.notInstalledCount + file.incompleteCount
        let unusable = left == 0 ? "" : "; \(left) not installed or incomplete"
        print("\(counted(file.stanzaCount, "stanza")), \(file.packages.count) installed\(unusable)")

        let store = try place.openStore()
        let observer = Observer.watching(store)
        var names = Names()
        try importAll(into: store)
        for commit in await observer.commits(through: 1) {
            names.learn(from: commit)
            report.observed(commit, names)
        }

        report.heading("An edit that breaks rules")
        let context = store.context(author: "editor")
        try RefusedEdit(context: context, report: report, names: names).run()

        report.heading("Edits that are saved, as the observer saw them")
        let edits = try GoodEdits(context: context, report: report).run()
        let saved = await observer.commits(through: context.revision).dropFirst()
        for commit in saved {
            names.learn(from: commit)
            report.changes(in: commit, names)
        }
        report.check(
            "the observer saw each commit once, in order, and nothing of the refused edit",
            Array(saved) == edits)

        let seen = try await takeBack(edits, in: store, observer, names)
        report.heading("Queries, and past states")
        try Questions(store: store, report: report, imported: file.packages.count).run()

        let expectation = try Expectation(since: 1, in: store)
        store.close()
        report.check("the observer ended when the store was closed", await observer.end())

        report.heading("Read them in a new process")
        let isMet = try expectation.isMetInNewProcess(
            storePath: place.path, file: place.directory.appendingPathComponent("expectation.json"))
        report.check("the new process found what was saved", isMet)
        try showJournal(seen: seen)
    }

    /// Reverses the edits, and returns all commits as the observer received them.
    private func takeBack(
        _ edits: [Commit], in store: Store, _ observer: Observer, _ names: Names
    ) async throws -> [Commit] {
        report.heading("Undo the edits")
        let commits = try TakenBack(
            store: store, report: report, names: names, author: "editor", edits: edits
        ).run()
        let seen = await observer.commits(through: try store.revision())
        report.check(
            "the observer saw these \(commits.count) commits, too",
            Array(seen.suffix(commits.count)) == commits)
        return seen
    }

    private func importAll(into store: Store) throws {
        report.heading("Import as one commit")
        let context = store.context(author: "importer")
        var importing = Import(context: context, report: report)
        let clock = ContinuousClock()
        let start = clock.now
        let commit = try importing.run(file.packages)
        let time = (clock.now - start).formatted(
            .units(allowed: [.milliseconds], width: .abbreviated))
        report.line("\(counted(commit?.changeCount ?? 0, "object")) inserted and saved in \(time).")
        report.check("all of it is commit 1", commit?.revision == 1 && !context.hasChanges)
    }

    private func showJournal(seen: [Commit]) throws {
        report.heading("The journal, from the store opened once more")
        let store = try place.openStore()
        defer { store.close() }
        let journal = try store.journal()
        report.journal(journal)
        report.check("the journal holds the very commits that the observer saw", journal == seen)
        try report.verdict(try store.verify(), of: store, commitCount: journal.count)
    }
}

/// The place of the store, and whether the store stays there.
struct StorePlace {
    let path: String
    /// The directory that is removed at the end.
    let directory: URL

    /// - Throws: `Failure` if something exists at the path already.
    init(kept: String?) throws {
        if let kept, FileManager.default.fileExists(atPath: kept) {
            throw Failure(message: "--keep \(kept): there is something at this path already")
        }
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("stet-catalogue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = kept ?? directory.appendingPathComponent("catalogue.stet").path
    }

    /// - Throws: `Failure` if no store can be created at the path.
    func openStore() throws -> Store {
        do {
            return try Store.open(at: path, for: catalogueModels)
        } catch let error as StoreError {
            throw Failure(message: error.description)
        }
    }

    func tidy() {
        try? FileManager.default.removeItem(at: directory)
    }
}
