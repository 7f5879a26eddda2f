import StetStore

/// Finds the violations of the schema's rules by the rows of a batch, all at once.
struct ImportCheck {
    private let schema: Schema
    private let rows: [ImportRow]
    private let lines: [ObjectKey: Int]
    /// The problems, by line.
    private var problems: [Int: [ImportProblem]] = [:]

    /// Returns the problems, by line; empty when the rows can be committed.
    static func problems(
        of batch: ImportBatch, _ reader: borrowing StoreReader
    ) throws -> [Int: [ImportProblem]] {
        var check = ImportCheck(batch)
        var changes = try batch.changes(reader)
        for violation in try changes.violations() { try check.note(violation, changes) }
        try check.checkUniqueValues(&changes, reader)
        try check.checkCounts(changes, reader)
        try check.checkReferences(reader)
        return check.problems
    }

    private init(_ batch: ImportBatch) {
        schema = batch.store.schema
        rows = batch.rows
        lines = Dictionary(
            batch.rows.map { ($0.key, $0.line) }, uniquingKeysWith: { first, _ in first })
    }

    private mutating func note(_ violation: Violation) {
        if let line = line(violation, violation.object) {
            problems[line, default: []].append(ImportProblem(violation))
        }
    }

    /// Notes a violation; one of an object without a row, whose derived attributes follow from
    /// others, belongs to the rows that it refers to, or else to all of them.
    private mutating func note(_ violation: Violation, _ changes: borrowing ChangeSetBuilder) throws
    {
        guard line(violation, violation.object) == nil else { return note(violation) }
        var causes: Set<Int> = []
        for item in changes.items where item.id == violation.object && item.kind != .delete {
            try forEachReference(of: item.entity, changes.body(item.after)) { _, _, target in
                if let line = lines[target] { causes.insert(line) }
            }
        }
        let problem = ImportProblem(
            "\(violation.entity) \(violation.object.map(String.init) ?? ""): \(violation.message)")
        for row in rows where causes.isEmpty || causes.contains(row.line) {
            problems[row.line, default: []].append(problem)
        }
    }

    /// Returns the line of an object of the violation's entity.
    private func line(_ violation: Violation, _ id: ObjectID?) -> Int? {
        guard let entity = schema.number(ofEntity: violation.entity), let id else { return nil }
        return lines[ObjectKey(entity, id)]
    }

    private mutating func checkUniqueValues(
        _ changes: inout ChangeSetBuilder, _ reader: borrowing StoreReader
    ) throws {
        try changes.collectIndexChanges(isToBeCommitted: false)
        guard let indexChanges = changes.indexChanges else { return }
        let conflicts = try reader.conflicts(with: indexChanges)
        let violations = try schema.violations(conflicts, .english) {
            try changes.value(of: $0, slot: $1)
        }
        for violation in violations {
            // Of two conflicting rows only the second is reported.
            let (line, other) = (
                line(violation, violation.object), line(violation, violation.other)
            )
            if line == nil || other ?? 0 < line ?? 0 { try note(violation, changes) }
        }
    }

    /// Checks the numbers of members; a problem of an owner without a row belongs to the rows that
    /// refer to it.
    private mutating func checkCounts(
        _ changes: borrowing ChangeSetBuilder, _ reader: borrowing StoreReader
    ) throws {
        let miscounts = try reader.miscounts(of: changes)
        for violation in schema.violations(miscounts, .english) {
            guard line(violation, violation.object) == nil, let owner = violation.object else {
                note(violation)
                continue
            }
            for row in rows where try refers(row, to: owner) {
                problems[row.line, default: []].append(ImportProblem(violation))
            }
        }
    }

    /// Returns whether a row refers to an object, or is linked with it, before or after.
    private func refers(_ row: ImportRow, to id: ObjectID) throws -> Bool {
        var refers = row.links.contains { $0.key.target == id }
        for body in [row.before, row.after] {
            try forEachReference(of: row, body) { _, _, target in
                refers = refers || target.id == id
            }
        }
        return refers
    }

    // MARK: References

    /// Finds references and links to objects that are neither in the store nor in the file, and
    /// objects that would be orphans.
    private mutating func checkReferences(_ reader: borrowing StoreReader) throws {
        var known: [ObjectKey: Bool] = [:]
        let last = try reader.head().revision
        for row in rows {
            var missing: [ImportProblem] = []
            func check(_ target: ObjectKey, _ name: String) throws {
                if lines[target] != nil { return }
                let isThere =
                    try known[target]
                    ?? reader.lastChange(ofEntity: target.entity, target.id, asOf: last)
                    .map { !$0.isDeleted } ?? false
                known[target] = isThere
                if isThere { return }
                missing.append(
                    ImportProblem(
                        "\(name) refers to \(target.id), which is no "
                            + schema.entities[target.entity].name,
                        property: name))
            }
            if !row.hasSameBody {
                try forEachReference(of: row, row.after) { property, _, target in
                    try check(target, property.name)
                }
            }
            for link in row.links where link.after.isPresent && !link.before.isPresent {
                guard let end = schema.ends(ofLink: link.key.link)?.targets else { continue }
                let name = schema.relationship(at: end)?.name ?? ""
                try check(ObjectKey(end.member, link.key.target), name)
            }
            missing += try orphaned(row)
            if !missing.isEmpty { problems[row.line, default: []] += missing }
        }
    }

    /// Returns the problems of an object that would be an orphan, because an import deletes no
    /// objects.
    private func orphaned(_ row: ImportRow) throws -> [ImportProblem] {
        if row.before == nil || row.hasSameBody { return [] }
        var owned: Set<Slot> = []
        try forEachReference(of: row, row.after) { _, slot, _ in owned.insert(slot) }
        var problems: [ImportProblem] = []
        try forEachReference(of: row, row.before) { property, slot, owner in
            guard !owned.contains(slot), let end = schema.end(ofEntity: row.key.entity, slot: slot),
                let relationship = schema.relationship(at: end), relationship.removesOrphans
            else { return }
            let owner = schema.entities[owner.entity].name
            problems.append(
                ImportProblem(
                    "\(property.name) can't be nil: \(owner).\(relationship.name) deletes what "
                        + "it loses",
                    property: property.name))
        }
        return problems
    }

    private func forEachReference(
        of row: ImportRow, _ bytes: [UInt8]?,
        _ body: (Property, _ slot: Slot, ObjectKey) throws -> Void
    ) throws {
        try bytes?.withUnsafeBytes { try forEachReference(of: row.key.entity, $0, body) }
    }

    private func forEachReference(
        of entity: EntityNumber, _ bytes: UnsafeRawBufferPointer,
        _ body: (Property, _ slot: Slot, ObjectKey) throws -> Void
    ) throws {
        let entity = schema.entities[entity]
        try RecordBody(bytes, of: entity).forEachReference { slot, id in
            let property = entity.properties[slot]
            guard let target = property.target.flatMap({ schema.number(ofEntity: $0) })
            else { return }
            try body(property, slot, ObjectKey(target, id))
        }
    }
}
