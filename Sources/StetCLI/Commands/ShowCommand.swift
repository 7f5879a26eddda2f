import ArgumentParser
import StetStore

/// `stet show`: shows a commit with its changes, or an object with its history.
struct ShowCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a commit with its changes, or an object with its history.",
        discussion: """
            A commit is named by its revision, an object by its id. A commit shows each change \
            with the values before and after; an object shows its values now, then its changes, \
            the last first.
            """)

    /// The commit or object to show.
    enum Subject: ExpressibleByArgument {
        case commit(Revision)
        case object(ObjectID)

        init?(argument: String) {
            if let number = UInt64(argument) {
                self = .commit(Revision(number))
            } else if let id = ObjectID(argument) {
                self = .object(id)
            } else {
                return nil
            }
        }
    }

    @OptionGroup var options: StoreOptions

    @Argument(help: ArgumentHelp("A revision or the id of an object.", valueName: "revision|id"))
    var subject: Subject

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        switch subject {
        case .commit(let revision): try show(revision, store, output)
        case .object(let id): try show(id, store, output)
        }
        return .success
    }

    private func show(_ revision: Revision, _ store: StoreFile, _ output: Output) throws {
        let (commit, names) = try store.read { reader in
            let last = try reader.head().revision
            guard revision > .zero, revision <= last else {
                throw Failure(
                    missing: "revision \(revision)", in: options.path,
                    advice: "The last revision is \(last).")
            }
            let commit = try reader.commit(revision)
            let ids = commit.changeSet.changes.lazy.flatMap(\.ids)
            return (commit, try ObjectNames(of: ids, store.schema, reader, at: revision))
        }
        let changes = commit.changeSet.changes
        var members = commit.members
        members["changes"] = .array(changes.map(\.json))
        try output.say(
            text: ([commit.line, "hash \(commit.hash)"] + changes.flatMap { $0.lines(names) })
                .joined(separator: "\n"),
            json: .object(members))
    }

    /// An object in its current state, with its history.
    private struct Shown {
        let entity: String
        /// The object; nil when it is deleted.
        let object: StoredObject?
        let history: [HistoricChange]
        /// The names of the objects that are shown, at the last commit.
        let names: ObjectNames
        /// The last commit that was trimmed; 0 when the journal is complete.
        let floor: Revision
    }

    private func show(_ id: ObjectID, _ store: StoreFile, _ output: Output) throws {
        let shown = try store.read { reader in
            guard let number = try reader.entity(of: id) else {
                throw Failure(
                    missing: "object \(id)", in: options.path, advice: "See dump for those it has.")
            }
            let shape = ObjectShape(store.schema, ofEntity: number)
            let last = try reader.head().revision
            let object = try reader.withRecord(ofEntity: number, id, asOf: last) { record in
                try StoredObject(shape, id, record.revision, record.body, reader, at: last)
            }
            let history = try reader.history(ofEntity: number, id, from: .earliest)
            let ids = (object?.targets ?? []) + history.flatMap(\.change.ids)
            return Shown(
                entity: shape.entity.name, object: object, history: history,
                names: try ObjectNames(of: ids, store.schema, reader, at: last),
                floor: try reader.floor())
        }
        try output.say(text: text(id, shown), json: json(id, shown))
    }

    private func text(_ id: ObjectID, _ shown: Shown) -> String {
        let revision = shown.history.first?.revision ?? shown.floor
        let state = shown.object == nil ? "deleted in" : "last changed in"
        var lines = ["\(shown.entity.visible) \(id), \(state) revision \(revision)"]
        lines += shown.object?.lines(shown.names) ?? []
        lines.append(shown.floor == .zero ? "history" : "history after revision \(shown.floor)")
        for change in shown.history {
            lines += [change.line] + change.change.cellLines(shown.names)
        }
        return lines.joined(separator: "\n")
    }

    private func json(_ id: ObjectID, _ shown: Shown) -> JSON {
        .object([
            "entity": .string(shown.entity), "history": .array(shown.history.map(\.json)),
            "id": .string(id.description),
            "revision": .number((shown.history.first?.revision ?? .zero).number),
            "values": shown.object?.cells ?? .null,
        ])
    }
}
