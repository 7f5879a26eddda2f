import Foundation
import Stet

/// Typical queries of a catalogue, also as of the import.
struct Questions {
    let store: Store
    let report: Report
    /// The number of packages that the import created.
    let imported: Int

    /// Runs the queries without changing anything.
    func run() throws {
        let context = store.context(author: "reader")
        let all = try context.fetch(Package.self).all()
        try search(context, all)
        try mostNeeded(context, all)
        try beSentAway(context)
        try compareWithImport()
    }

    /// Searches by a prefix of the name, which an index answers, and by a word in the summary.
    private func search(_ context: ManagedContext, _ all: [Package]) throws {
        let libraries = context.fetch(Package.self) { $0.name.hasPrefix("lib") }
            .sorted(by: \.name)
        var count = 0
        let time = try ContinuousClock().measure { count = try libraries.count() }
        report.line("\(count) names begin with \"lib\", found in \(milliseconds(time)) by")
        for step in try libraries.explain().split(separator: "\n") { report.line("  \(step)") }
        report.check(
            "they are those that Swift finds",
            try libraries.all()
                == all.filter { $0.name.hasPrefix("lib") }.sorted { $0.name < $1.name })

        let word = "compression"
        let hits = context.fetch(Package.self) {
            $0.summary.folded(.caseInsensitive).contains(word)
            $0.section?.name != "libs"
        }.sorted(by: \.installedSize, .descending).limit(5)
        report.line("With \"\(word)\" in the summary, no libraries, the largest first:")
        report.table(
            try hits.all().map {
                [
                    $0.name.shortened(to: 24), $0.installedSize.map { "\($0) KiB" } ?? "",
                    $0.summary.shortened(to: 48),
                ]
            })
        let expected = all.filter {
            $0.summary.lowercased().contains(word) && $0.section?.name != "libs"
        }
        report.check(
            "they are those that Swift finds", try hits.all().count == min(expected.count, 5))
    }

    private func mostNeeded(_ context: ManagedContext, _ all: [Package]) throws {
        let needed = context.fetch(Package.self) { !$0.dependents.isEmpty }
            .sorted(by: { $0.dependents.count }, .descending).then(by: \.name).limit(10)
        report.line("The ten that most others depend on:")
        let found = try needed.all()
        report.table(found.map { [$0.name, counted($0.dependents.count, "package")] })
        let counts = all.map(\.dependents.count).filter { $0 > 0 }.sorted(by: >).prefix(10)
        report.check(
            "nobody has more of them", found.map(\.dependents.count) == Array(counts))
    }

    /// Checks that a package that others need is not removed.
    private func beSentAway(_ context: ManagedContext) throws {
        let needed = context.fetch(Package.self) { !$0.essential && !$0.dependents.isEmpty }
            .sorted(by: { $0.dependents.count }, .descending)
        guard let package = try needed.first() else {
            return report.line("No package needs another.")
        }
        let count = package.dependents.count
        do {
            try context.edit("remove") { context.delete(package) }
            report.check("the removal of \(package.name) is refused", false)
        } catch let error as ValidationError {
            report.line("Removing \(package.name): \(error.violations[0].message).")
            report.check(
                "the removal was refused because of \(counted(count, "package")), and undone",
                error.violations.map(\.code) == [.deleteDenied] && !package.isDeleted
                    && package.dependents.count == count)
        }
    }

    private func compareWithImport() throws {
        let then = try store.view(asOf: 1)
        let (before, after) = (then.fetch(Package.self), store.fetch(Package.self))
        report.line("The catalogue as of the import, beside today:")
        report.table([
            ["", "then", "now"],
            ["packages", "\(try before.count())", "\(try after.count())"],
            [
                "sections", "\(try then.fetch(Section.self).count())",
                "\(try store.fetch(Section.self).count())",
            ],
            [
                "KiB", "\(try before.sum(\.installedSize))", "\(try after.sum(\.installedSize))",
            ],
        ])
        let upgraded = try after.filter { $0.version.hasSuffix("+stet1") }.ids()
        report.check(
            "the import had \(counted(imported, "package")), none of which was upgraded",
            try before.count() == imported
                && before.filter { $0.version.hasSuffix("+stet1") }.exists() == false
                && upgraded.allSatisfy { try then.object(Package.self, id: $0) != nil })
    }

    private func milliseconds(_ time: Duration) -> String {
        time.formatted(.units(allowed: [.milliseconds], fractionalPart: .show(length: 1)))
    }
}
