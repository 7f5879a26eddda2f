import ArgumentParser
import StetStore

/// `stet show`: a commit with its changes, or an object with its history.
struct ShowCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a commit with its changes, or an object with its history.",
        discussion: """
            A commit is named by its revision, an object by its id. A commit shows each change \
            with the values before and after; an object shows its values now, then its changes, \
            the last first.
            """)

    /// What is to be shown.
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
        let commit = try store.read { reader in
            let last = try reader.head().revision
            guard revision > .zero, revision <= last else {
                throw Failure(
                    missing: "revision \(revision)", in: options.path,
                    advice: "The last revision is \(last).")
            }
            return try reader.commit(revision)
        }
        let changes = commit.changeSet.changes
        var members = commit.members
        members["changes"] = .array(changes.map(\.json))
        try output.say(
            text: ([commit.line, "hash \(commit.hash)"] + changes.flatMap(\.lines))
                .joined(separator: "\n"),
            json: .object(members))
    }

    /// An object as it is now; no values when it is deleted.
    private struct Shown {
        let entity: String
        let values: [(name: String, value: Value)]?
        let history: [HistoricChange]
        /// The last commit that was trimmed; 0 when the journal is whole.
        let floor: Revision
    }

    private func show(_ id: ObjectID, _ store: StoreFile, _ output: Output) throws {
        let object = try store.read { reader in
            guard let number = try reader.entity(of: id) else {
                throw Failure(
                    missing: "object \(id)", in: options.path, advice: "See dump for those it has.")
            }
            let entity = store.schema.entities[number - 1]
            let last = try reader.head().revision
            let shown = try reader.withRecord(ofEntity: number, id, asOf: last) { record in
                try values(of: RecordBody(record.body, of: entity))
            }
            return Shown(
                entity: entity.name, values: shown,
                history: try reader.history(ofEntity: number, id, from: .first),
                floor: try reader.floor())
        }
        try output.say(text: text(id, object), json: json(id, object))
    }

    private func text(_ id: ObjectID, _ object: Shown) -> String {
        let revision = object.history.first?.revision ?? object.floor
        let state = object.values == nil ? "deleted in" : "last changed in"
        var lines = ["\(object.entity.visible) \(id), \(state) revision \(revision)"]
        lines += (object.values ?? []).map { "  \($0.name.visible): \($0.value.text)" }
        lines.append(object.floor == .zero ? "history" : "history after revision \(object.floor)")
        for change in object.history { lines += [change.line] + change.change.propertyLines }
        return lines.joined(separator: "\n")
    }

    private func json(_ id: ObjectID, _ object: Shown) -> JSON {
        let revision = object.history.first?.revision ?? .zero
        let shown = JSON(object.entity, id, revision, object.values ?? [])
        guard case .object(var members) = shown else { return .null }
        if object.values == nil { members["values"] = .null }
        members["history"] = .array(object.history.map(\.json))
        return .object(members)
    }
}
