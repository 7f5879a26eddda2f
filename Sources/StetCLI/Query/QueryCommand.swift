import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet query`: shows the objects of an entity that satisfy a condition.
struct QueryCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Shows the objects of an entity that meet a condition.",
        discussion: """
            A condition compares properties: rating >= 3 && title hasPrefix "S". It has == != < \
            <= > >= in [1, 2] contains hasPrefix hasSuffix, && || ! and parentheses, nil, true, \
            false, numbers, and "text" with \\" \\\\ \\n \\t \\u{e9}. Dates, ids, UUIDs, URLs and \
            data are text: created > "2026-01-31". [c], [d] or [cd] directly behind an operator \
            ignores case, accents or both: title ==[cd] "resume". notebook.name follows \
            a reference, tags.count counts members, lines.sum(amount), average, min and max \
            combine a value of them, any tags { name == "x" } and all tags { … } ask them. \
            Operators have the precedence that they have in Swift. A name in \
            `backquotes` is not a word of the language. matching "undo jour* -sqlite" searches \
            the words of searchable attributes, and sorts by how well they fit.

            JSON and CSV are those of export, and have the members of relationships with links, \
            too. The result is in memory before any is written: use \
            --limit, or export.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case table, json, csv }

    @OptionGroup var options: StoreOptions
    @OptionGroup var moment: MomentOptions

    @Argument(help: "The entity of the objects.")
    var entity: String

    @Argument(help: "The condition; all objects without one.")
    var predicate: String?

    @Option(
        parsing: .unconditional,
        help: "The properties to sort by, with - before descending ones: name,-rating.")
    var sort: String?

    @Option(help: "Shows at most this number of objects.")
    var limit: Int?

    @Option(help: "Skips this number of objects.")
    var offset = 0

    @Flag(help: "Shows how many objects there are.")
    var count = false

    @Flag(help: "Shows how the objects would be found.")
    var explain = false

    @Flag(help: "With --explain, finds the objects and shows how much was read.")
    var analyze = false

    @Option(help: "The form of the result; with --json it is json.")
    var format = Format.table

    func validate() throws {
        if limit ?? 0 < 0 { throw ValidationError("--limit must not be negative.") }
        if offset < 0 { throw ValidationError("--offset must not be negative.") }
        if analyze, !explain { throw ValidationError("--analyze needs --explain.") }
        if count, explain { throw ValidationError("--count and --explain exclude each other.") }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        var query = StoreQuery(entity: try store.number(ofEntity: entity))
        query.limit = limit
        query.offset = offset
        do {
            if let predicate {
                query.condition = try reading(predicate) { text throws(PredicateMistake) in
                    try PredicateParser.condition(text, store.schema, entity: query.entity)
                }
            }
            query.order =
                sort == nil ? query.condition.ranking : try order(store.schema, query.entity)
        } catch let error as Misunderstanding {
            error.complain(to: output)
            return .usage
        }
        if explain {
            let text = try ReadLimit.$current.withValue(ReadLimit.current ?? ReadLimit.none) {
                try run(query, store) { run, _, _ in
                    try analyze ? run.analysis() : run.explanation()
                }
            }
            try output.say(text: text.visibleLines, json: .object(["plan": .string(text)]))
        } else if count {
            let count = try run(query, store) { run, _, _ in try run.count() }
            try output.say(text: "\(count)", json: .object(["count": .integer(count)]))
        } else {
            try show(query, store, output)
        }
        return .success
    }

    // MARK: Reading

    private func reading<Result>(
        _ text: String, _ read: (String) throws(PredicateMistake) -> Result
    ) throws -> Result {
        do {
            return try read(text)
        } catch {
            throw Misunderstanding(text: text, error: error, path: options.path)
        }
    }

    private func order(_ schema: Schema, _ entity: EntityNumber) throws -> [QueryOrder] {
        try (sort ?? "").split(separator: ",").map { key in
            let key = key.drop { $0 == " " }
            let isDescending = key.first == "-"
            let name = String(isDescending ? key.dropFirst() : key)
            let node = try reading(name) { text throws(PredicateMistake) in
                try PredicateParser.sortKey(text, schema, entity: entity)
            }
            return QueryOrder(node, isDescending: isDescending)
        }
    }

    // MARK: Running

    private func run<Result>(
        _ query: StoreQuery, _ store: StoreFile,
        _ body: (QueryRun, borrowing StoreReader, Revision) throws -> Result
    ) throws -> Result {
        try store.read { reader in
            let revision = try moment.revision(reader, in: options.path)
            let view = QueryState.View(WorkingState(store.schema, at: revision))
            return try body(QueryRun(QueryState(reader, view), query), reader, revision)
        }
    }

    private func show(_ query: StoreQuery, _ store: StoreFile, _ output: Output) throws {
        let shape = ObjectShape(store.schema, ofEntity: query.entity)
        // Collected before printing: a blocked output must not keep old pages in use.
        let objects = try run(query, store) { run, reader, revision in
            var objects: [StoredObject] = []
            for row in try run.rows() {
                objects.append(
                    try StoredObject(
                        shape, row.id, row.revision, row.body, reader, at: revision))
            }
            return objects
        }
        switch output.isJSON ? .json : format {
        case .json: for object in objects { try output.say(object.exactJSON.text) }
        case .csv:
            try output.say(StoredObject.header(of: shape).line)
            for object in objects { try output.say(object.row.line) }
        case .table:
            for line in Self.table(shape.entity, objects) { try output.say(line) }
        }
    }

    /// Returns the lines of a table whose columns are as wide as their contents, up to a limit.
    private static func table(_ entity: Entity, _ objects: [StoredObject]) -> [String] {
        let widest = 40
        var rows = [["id"] + entity.properties.map(\.name.visible)]
        rows += objects.map { [$0.id.description] + $0.values.map { cell($0, widest) } }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            // The last column is not padded.
            let cells = zip(row.dropLast(), widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            return (cells + row.suffix(1)).joined(separator: "  ")
        }
    }

    private static func cell(_ value: Value, _ widest: Int) -> String {
        let text: String =
            switch value {
            case .null: "-"
            case .string(let text): text.visible
            default: value.text
            }
        return text.count > widest ? text.prefix(widest - 1) + "…" : text
    }
}

/// The error of a predicate or a sort key that cannot be parsed.
private struct Misunderstanding: Error {
    let text: String
    let error: PredicateMistake
    let path: String

    /// Shows the text with a caret under the position.
    func complain(to output: Output) {
        output.note(
            text: "stet: \(error.message.visible)\n\(error.marked(text))",
            json: .object([
                "advice": .string("See stet query --help."), "code": .string("predicate"),
                "message": .string(error.message), "offset": .integer(error.offset),
                "path": .string(path), "predicate": .string(text),
            ]))
    }
}

extension String {
    /// The lines of the text, each with control characters escaped.
    fileprivate var visibleLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }
            .joined(separator: "\n")
    }
}
