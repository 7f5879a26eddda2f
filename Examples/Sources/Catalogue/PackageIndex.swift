import Foundation
import Stet

/// All packages of an archive: measures how long it takes to import them, and to find some.
struct PackageIndex {
    let path: String
    let report: Report

    /// - Throws: `Failure` if the file cannot be read or has no packages.
    func run() throws {
        // The bytes are not kept while the packages are imported.
        let file = StatusFile(try Input.read(.file(path)).bytes, listsAvailable: true)
        guard !file.packages.isEmpty else { throw Failure(message: "\(path) has no packages") }
        let place = try StorePlace(kept: nil)
        defer { place.tidy() }
        let store = try place.openStore()
        defer { store.close() }
        let context = store.context(author: "importer")
        var importing = Import(context: context, report: report)
        try timed("import") {
            let commit = try importing.run(file.packages)
            return "\(file.packages.count) packages, \(commit?.changeCount ?? 0) changes"
        }
        try ask(store.context())
        try timed("verify") {
            let problems = try store.verify().problems
            report.check("the state equals the journal", problems.isEmpty)
            return "\(counted(problems.count, "problem"))"
        }
    }

    private func ask(_ context: ManagedContext) throws {
        try timed("names that begin with \"libswift\"") {
            "\(try context.fetch(Package.self) { $0.name.hasPrefix("libswift") }.count())"
        }
        try timed("\"database\" in the summary") {
            let hits = context.fetch(Package.self) {
                $0.summary.folded(.caseInsensitive).contains("database")
            }
            return "\(try hits.count())"
        }
        try timed("the ten that most others depend on") {
            let needed = context.fetch(Package.self) { !$0.dependents.isEmpty }
                .sorted(by: { $0.dependents.count }, .descending).limit(10)
            return try needed.all().map(\.name).joined(separator: ", ")
        }
    }

    private func timed(_ what: String, _ body: () throws -> String) rethrows {
        let start = ContinuousClock.now
        let answer = try body()
        let time = start.duration(to: .now).formatted(
            .units(allowed: [.seconds, .milliseconds], width: .abbreviated))
        report.line("\(what): \(answer) (\(time))")
    }
}
