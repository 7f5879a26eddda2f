import StetStore

/// The rows that are committed together, and what is wrong with the others.
struct ImportBatch {
    private let store: StoreFile
    private(set) var rows: [ImportRow] = []
    /// What is wrong with rows, by line.
    private(set) var rejected: [Int: [ImportProblem]] = [:]
    private var lines: [ImportRow.Key: Int] = [:]
    /// The last commit when the rows were made.
    private(set) var base: Revision

    init(_ store: StoreFile) throws {
        self.store = store
        base = try store.read { try $0.head().revision }
    }

    /// The rows that are in it, good or bad.
    var count: Int { rows.count + rejected.count }

    /// Adds what a file says.
    mutating func add(_ records: [ImportRecord], _ conversion: ImportConversion) throws {
        try store.read { reader in
            for record in records {
                let (row, problems) = try conversion.row(record, reader)
                guard let row else {
                    rejected[record.line] = problems
                    continue
                }
                if let other = lines[row.key] {
                    rejected[row.line] = [ImportProblem("it has the id of line \(other)")]
                } else {
                    lines[row.key] = row.line
                    rows.append(row)
                }
            }
        }
    }

    /// Moves rows that cannot be committed to those that are rejected, until none is left.
    mutating func check() throws {
        while true {
            let found = try store.read { try problems($0) }
            if found.isEmpty { return }
            rejected.merge(found) { $0 + $1 }
            rows.removeAll { found[$0.line] != nil }
        }
    }

    /// Commits the rows; nil when there is nothing to commit.
    ///
    /// - Throws: `CommitRefusal` when the store has moved since they were made.
    func commit(_ attributes: CommitAttributes, time: Double) throws -> Commit? {
        if rows.allSatisfy(\.isUnchanged) { return nil }
        return try store.commit(
            try changes().encoded(
                attributes: attributes, base: base, token: .random(in: .min ... .max), time: time,
                for: CommitPurpose(cause: .import, isUndoable: false)))
    }

    private func changes() -> NetChanges {
        var changes = NetChanges(schema: store.schema, expectedCount: rows.count)
        for row in rows where !row.isUnchanged {
            let before = row.before.map { body in body.withUnsafeBytes { changes.copy($0) } }
            let after = row.after.withUnsafeBytes { changes.copy($0) }
            changes.append(
                NetChanges.Item(
                    kind: before == nil ? .insert : .update, entity: row.key.entity,
                    id: row.key.id, base: row.base, before: before ?? 0..<0, after: after))
        }
        changes.sort()
        return changes
    }

    // MARK: What is wrong

    private func problems(
        _ reader: borrowing StoreReader
    ) throws -> [Int: [ImportProblem]] {
        var changes = changes()
        var lines: [ImportRow.Key: Int] = [:]
        for row in rows { lines[row.key] = row.line }
        var problems: [Int: [ImportProblem]] = [:]
        func note(_ violation: Violation, _ line: Int?) {
            if let line { problems[line, default: []].append(ImportProblem(violation)) }
        }
        func line(_ violation: Violation) -> Int? {
            guard let entity = store.schema.number(ofEntity: violation.entity),
                let id = violation.object
            else { return nil }
            return lines[ImportRow.Key(entity: entity, id: id)]
        }
        for violation in try changes.violations() { note(violation, line(violation)) }
        try changes.collectIndexChanges()
        if let indexChanges = changes.indexChanges {
            let conflicts = try reader.conflicts(with: indexChanges)
            for violation in store.schema.violations(conflicts, .english, operation: { _ in nil }) {
                let (line, other) = (line(violation), otherLine(violation, lines))
                // Of two rows the first may stay.
                if let line, other ?? 0 < line { note(violation, line) }
            }
        }
        let miscounts = try reader.miscounts(of: changes)
        for violation in store.schema.violations(miscounts, .english, operation: { _ in nil }) {
            guard line(violation) == nil, let owner = violation.object else {
                note(violation, line(violation))
                continue
            }
            for row in try rows(referringTo: owner) { note(violation, row.line) }
        }
        try noteMissing(reader, lines, &problems)
        return problems
    }

    private func otherLine(_ violation: Violation, _ lines: [ImportRow.Key: Int]) -> Int? {
        guard let entity = store.schema.number(ofEntity: violation.entity),
            let other = violation.other
        else { return nil }
        return lines[ImportRow.Key(entity: entity, id: other)]
    }

    /// Those that refer to an object, before or after.
    private func rows(referringTo id: ObjectID) throws -> [ImportRow] {
        try rows.filter { row in
            var refers = false
            for body in [row.before, row.after] {
                try forEachReference(of: row, body) { _, target in
                    refers = refers || target.id == id
                }
            }
            return refers
        }
    }

    /// References to what is neither in the store nor in the file.
    private func noteMissing(
        _ reader: borrowing StoreReader, _ lines: [ImportRow.Key: Int],
        _ problems: inout [Int: [ImportProblem]]
    ) throws {
        var known: [ImportRow.Key: Bool] = [:]
        let last = try reader.head().revision
        for row in rows {
            var missing: [ImportProblem] = []
            try forEachReference(of: row, row.after) { property, target in
                if lines[target] != nil { return }
                let isThere =
                    try known[target]
                    ?? reader.lastChange(ofEntity: target.entity, target.id, asOf: last)
                    .map { !$0.isDeleted } ?? false
                known[target] = isThere
                if isThere { return }
                missing.append(
                    ImportProblem(
                        "\(property.name) refers to \(target.id), which is no "
                            + (property.target ?? "object"),
                        property: property.name))
            }
            if !missing.isEmpty { problems[row.line, default: []] += missing }
        }
    }

    private func forEachReference(
        of row: ImportRow, _ bytes: [UInt8]?, _ body: (Property, ImportRow.Key) throws -> Void
    ) throws {
        let entity = store.schema.entities[row.key.entity - 1]
        try bytes?.withUnsafeBytes { bytes in
            try RecordBody(bytes, of: entity).forEachReference { slot, id in
                let property = entity.properties[slot]
                guard let target = property.target.flatMap({ store.schema.number(ofEntity: $0) })
                else { return }
                try body(property, ImportRow.Key(entity: target, id: id))
            }
        }
    }
}
