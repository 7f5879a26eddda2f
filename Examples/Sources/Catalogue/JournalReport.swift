import Stet

extension Report {
    /// Prints every commit with its author, its label and its changes.
    func journal(_ commits: [Commit]) {
        var names = Names()
        var rows: [[String]] = []
        for commit in commits {
            names.learn(from: commit)
            let changes = commit.changeSet.changes
            let effects =
                changes.count > 12 ? Self.counts(changes) : changes.map { Self.effect($0, names) }
            let who = ["\(commit.revision)", commit.author ?? "nobody", title(of: commit)]
            for (index, effect) in effects.enumerated() {
                rows.append((index == 0 ? who : ["", "", ""]) + [effect])
            }
        }
        table(rows)
    }

    private func title(of commit: Commit) -> String {
        switch commit.cause {
        case .undo(let subject): "undo of \(subject)"
        case .redo(let subject): "redo of \(subject)"
        case .revert(let subject): "revert of \(subject)"
        default: commit.label ?? ""
        }
    }

    private static func effect(_ change: ObjectChange, _ names: Names) -> String {
        let object = "\(change.kind) \(change.entity) \(names[change.id].shortened(to: 24))"
        guard change.kind == .update else { return object }
        let names = change.properties.map(\.name) + change.relationships.map(\.name)
        return "\(object): \(names.joined(separator: ", "))"
    }

    private static func counts(_ changes: [ObjectChange]) -> [String] {
        Dictionary(grouping: changes) { "\($0.kind) \($0.entity)" }.mapValues(\.count)
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.key) × \($0.value)" }
    }

    /// Prints the report of `verify`, and checks that it is about this store.
    func verdict(_ verification: VerificationReport, of store: Store, commitCount: Int) throws {
        line("\(verification)")
        let context = store.context()
        let objectCount =
            try context.fetch(Package.self).count()
            + context.fetch(Maintainer.self).count() + context.fetch(Section.self).count()
        let linkCount = try context.fetch(Package.self).sum(\.dependencies.count)
        check(
            "verify found nothing wrong, and looked at everything",
            verification.isClean && verification.commitCount == commitCount
                && verification.objectCount == objectCount && verification.linkCount == linkCount)
    }
}
