import StetStore

/// The counts of the imported and rejected rows of a file.
struct ImportTally {
    private var inserted = 0
    private var updated = 0
    private var unchanged = 0
    private(set) var rejected = 0
    private var commits: [Revision] = []
    /// True when rows were rejected, and the rows after them were skipped.
    private(set) var isStopped = false

    mutating func add(_ batch: ImportBatch, _ commit: Commit?) {
        rejected += batch.rejected.count
        for row in batch.rows {
            if row.before == nil {
                inserted += 1
            } else if row.isUnchanged {
                unchanged += 1
            } else {
                updated += 1
            }
        }
        if let commit { commits.append(commit.revision) }
    }

    mutating func stop(_ batch: ImportBatch) {
        rejected += batch.rejected.count
        isStopped = true
    }

    /// Advice for an import that ends early.
    var advice: String {
        commits.last.map { "Commits up to revision \($0) have the rows before." }
            ?? "Nothing was imported."
    }

    func text(isDryRun: Bool) -> String {
        let counts = [
            (inserted, "inserted"), (updated, "updated"), (unchanged, "unchanged"),
            (rejected, "rejected"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let what = counts.isEmpty ? "no rows" : counts.joined(separator: ", ")
        if isStopped { return "\(what). \(advice)" }
        if isDryRun { return "\(what), if it were done" }
        guard let first = commits.first, let last = commits.last else { return what }
        let range = first == last ? "revision \(first)" : "revisions \(first) to \(last)"
        return "\(range): \(what)"
    }

    var json: JSON {
        .object([
            "inserted": .integer(inserted), "isStopped": .bool(isStopped),
            "rejected": .integer(rejected),
            "revisions": .array(commits.map { .number($0.number) }),
            "unchanged": .integer(unchanged), "updated": .integer(updated),
        ])
    }
}
