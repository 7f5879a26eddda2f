import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet info`: shows sizes, schema, last commit and readers.
struct InfoCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows sizes, schema, last commit, open readers, and log.",
        discussion: """
            Numbers of records include those that remain of deleted objects. Readers are the reads \
            that other processes have open now; one that is many transactions behind is stuck, and \
            keeps the file from using its free pages again. A trim of all commits would free the \
            bytes of the journal.

            With --journal it also shows the head of the shared journal, and by how many commits \
            this node is behind; it does not get them.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let overview = try store.overview()
        let lag = try journal.open(for: options.path).map { try NodeLag($0, overview) }
        try output.say(
            text: overview.lines(path: options.path, lag).joined(separator: "\n"),
            json: overview.json(path: options.path, lag))
        return .success
    }
}

/// The distance of a node from the head of its shared journal.
private struct NodeLag {
    /// The name of the journal.
    let journal: String
    let head: Revision
    let commitCount: Int

    init(_ journal: any SharedJournal, _ overview: StoreOverview) throws {
        let head: SharedJournalHead?
        do {
            head = try journal.head()
        } catch let error as SharedJournalError {
            throw Failure(
                .inputOutputError, code: StoreError.Code.journalUnavailable.rawValue, path: nil,
                message: "The shared journal \(journal.name) can't be used: \(error.message).",
                advice: "Without --journal the file alone is shown.")
        }
        guard let head, head.store == overview.storeID, overview.isNode else {
            throw Failure(
                .dataError, code: StoreError.Code.journalDiverged.rawValue, path: nil,
                message: "The shared journal \(journal.name) is not that of the store.",
                advice: "Without --journal the file alone is shown.")
        }
        self.journal = journal.name
        self.head = head.revision
        let revision = overview.revision
        commitCount =
            head.revision > revision
            ? Int(clamping: head.revision.number - revision.number) : 0
    }

    var line: String { "of the shared journal \(journal) at \(head), \(commitCount) behind" }

    var json: JSON {
        .object([
            "commitsBehind": .integer(commitCount), "head": .number(head.number),
            "journal": .string(journal),
        ])
    }
}

extension StoreOverview {
    fileprivate func lines(path: String, _ lag: NodeLag?) -> [String] {
        let share = usedByteCount == 0 ? 0 : journalByteCount * 100 / usedByteCount
        let free = byteCountText(freeByteCount)
        var lines = [
            "store       \(storeID)",
            "file        \(path.visible)",
            "revision    \(revision)\(time.isFinite ? ", \(timeText(time))" : "")",
            "hash        \(hash)",
            "size        \(byteCountText(usedByteCount)), \(free) of it free",
            "journal     \(byteCountText(journalByteCount)), \(share) % of the size",
            "commits     \(commitCount)\(trimText)",
            "records     \(byteCountText(recordsByteCount))",
            "members     \(byteCountText(membersByteCount))",
            "indexes     \(byteCountText(indexesByteCount))",
        ]
        if let largeDataByteCount {
            lines.append("large data  \(byteCountText(largeDataByteCount))")
        }
        lines += [
            "readers     \(readers.count) of at most \(readerLimit)"
        ]
        lines += readers.map {
            "  process \($0.processID), \($0.transactionsBehind) transactions behind"
        }
        if isNode {
            let what = lag?.line ?? "of a shared journal, without which it is not saved to"
            lines.append("node        \(what)")
        }
        if let log { lines.append("log         \(log.line)") }
        lines.append("schema      revision \(schema.revision)")
        for (entity, count) in entities {
            lines.append("  \(entity.name.visible): \(count) record\(count == 1 ? "" : "s")")
            lines += entity.properties.map { "    \($0.line(of: entity, schema))" }
            lines += entity.relationships.map { "    \($0.line)" }
            lines += entity.indexes.map { "    \($0.description(in: entity).visible)" }
        }
        return lines
    }

    /// The revision to which the journal was trimmed, and the reason.
    private var trimText: String {
        guard let floor else { return " (complete journal)" }
        let reason =
            switch floor.retention {
            case .forever: ""
            case .age(let age): ", to keep what is no older than \(age.components.seconds) seconds"
            case .count(let count): ", to keep \(count)"
            }
        return "; trimmed up to \(floor.revision)\(reason)"
    }

    /// The entities that are not removed, with the numbers of their records.
    private var entities: [(Entity, Int)] {
        zip(schema.entities, recordCounts).filter { !$0.0.isRemoved }
    }

    private var entitiesJSON: [JSON] {
        entities.map { entity, count in
            .object([
                "indexes": .array(entity.indexes.map { .string($0.description(in: entity)) }),
                "name": .string(entity.name),
                "properties": .array(entity.properties.map { $0.json(of: entity, schema) }),
                "recordCount": .integer(count),
                "relationships": .array(entity.relationships.map(\.json)),
            ])
        }
    }

    private var readersJSON: [JSON] {
        readers.map {
            .object([
                "processID": .integer(Int($0.processID)),
                "transactionsBehind": .integer($0.transactionsBehind),
            ])
        }
    }

    fileprivate func json(path: String, _ lag: NodeLag?) -> JSON {
        .object([
            "entities": .array(entitiesJSON),
            "commitCount": .integer(commitCount),
            "floor": floor.map { .number($0.revision.number) } ?? .null,
            "freeByteCount": .integer(freeByteCount),
            "hash": .string(hash),
            "indexesByteCount": .integer(indexesByteCount),
            "isNode": .bool(isNode),
            "journalByteCount": .integer(journalByteCount),
            "log": log.map { $0.json } ?? .null,
            "node": lag?.json ?? .null,
            "path": .string(path),
            "readerLimit": .integer(readerLimit),
            "readers": .array(readersJSON),
            "recordsByteCount": .integer(recordsByteCount),
            "largeDataByteCount": .integer(largeDataByteCount ?? 0),
            "membersByteCount": .integer(membersByteCount),
            "revision": .number(revision.number),
            "schemaRevision": .integer(schema.revision),
            "store": .string(storeID.description),
            "time": time.isFinite ? .string(timeText(time)) : .null,
            "usedByteCount": .integer(usedByteCount),
        ])
    }
}

extension StoreStatistics.Log {
    fileprivate var line: String {
        let owner = ownerProcessID.map { "written by process \($0)" } ?? "its process has died"
        return "\(byteCountText(byteCount)), \(owner)"
    }

    fileprivate var json: JSON {
        .object([
            "byteCount": .integer(byteCount),
            "ownerProcessID": ownerProcessID.map { .integer(Int($0)) } ?? .null,
        ])
    }
}

extension Relationship {
    fileprivate var line: String {
        "\(name.visible): [\(target.visible)]\(isOrdered ? " ordered" : "")"
    }

    fileprivate var json: JSON {
        .object([
            "isOrdered": .bool(isOrdered), "name": .string(name), "target": .string(target),
        ])
    }
}

extension Property {
    fileprivate func line(of entity: Entity, _ schema: Schema) -> String {
        let rules = rules.map { " \($0.description.visible)" }.joined()
        let counter = isCounter ? " counter" : ""
        let derivation = derivation.map { " = \($0.text(schema, entity).visible)" } ?? ""
        let owner = seal.map { " by \($0.ownerName.visible)" } ?? ""
        return "\(name.visible): \(typeDescription.visible)\(owner)\(counter)\(rules)\(derivation)"
    }

    fileprivate func json(of entity: Entity, _ schema: Schema) -> JSON {
        .object([
            "derivation": JSON(derivation?.text(schema, entity)),
            "isCounter": .bool(isCounter), "isLargeData": .bool(isLarge),
            "isOptional": .bool(isOptional), "name": .string(name),
            "rules": .array(rules.map { .string($0.description) }),
            "sealedBy": JSON(seal?.ownerName), "target": JSON(target),
            "type": .string("\(type)"),
        ])
    }
}
