import Foundation
import Stet

/// The contents that a process must find when it opens the store again.
struct Expectation: Codable {
    /// The edited packages, with all their values.
    let edited: [Package.Snapshot]
    let deleted: [ObjectID]
    let packageCount: Int
    let revision: Revision
    /// The hash of the last commit, and through it of the whole journal.
    let hash: String

    /// Records the difference from an earlier state: each package that is new or changed, and each
    /// that was deleted.
    init(since revision: Revision, in store: Store) throws {
        let context = store.context()
        let changes = try store.diff(from: .revision(revision), to: .revision(context.revision))
            .changes
        edited = try changes.filter { $0.entity == "Package" }.compactMap { change in
            try context.object(Package.self, id: change.id)?.snapshot
        }
        deleted = changes.filter { $0.kind == .delete }.map(\.id)
        packageCount = try context.fetch(Package.self).count()
        self.revision = context.revision
        hash = try store.journal(from: .revision(context.revision)).last?.hash ?? ""
    }

    /// Runs this program again in a separate process, which knows only the path and the
    /// expectation, and returns whether it found everything.
    func isMetInNewProcess(storePath: String, file: URL) throws -> Bool {
        try JSONEncoder().encode(self).write(to: file)
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["read-back", storePath, file.path]
        // Flushes the output, so that it precedes that of the other process.
        fflush(nil)
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit && process.terminationStatus == 0
    }

    /// Compares a store with an expectation, in the new process.
    static func readBack(store path: String, expectation: String, _ report: Report) throws {
        let file = try Data(contentsOf: URL(fileURLWithPath: expectation))
        let expected = try JSONDecoder().decode(Expectation.self, from: file)
        let store = try Store.open(at: path, for: catalogueModels)
        let context = store.context()
        let process = ProcessInfo.processInfo.processIdentifier
        report.line("Process \(process) opened the store at commit \(context.revision).")
        let found = try expected.edited.map { try context.object(Package.self, id: $0.id) }
        report.table(
            found.compactMap(\.self).prefix(4).map { package in
                [
                    package.name.shortened(to: 24), package.version.shortened(to: 32),
                    "section \(package.section?.name ?? "none")",
                ]
            })
        report.check(
            "\(counted(expected.edited.count, "edited package")) read back, each value as saved",
            found.map { $0?.snapshot } == expected.edited)
        report.check(
            "what was deleted is not there",
            try expected.deleted.allSatisfy { id in
                try context.object(Package.self, id: id) == nil
                    && context.object(Section.self, id: id) == nil
            })
        report.check(
            "the store has \(expected.packageCount) packages",
            try context.fetch(Package.self).count() == expected.packageCount)
        let last = try store.journal(from: .revision(context.revision)).last
        report.check(
            "the last commit is \(expected.revision), with the hash that it had when it was made",
            last?.revision == expected.revision && last?.hash == expected.hash)
        store.close()
    }
}
