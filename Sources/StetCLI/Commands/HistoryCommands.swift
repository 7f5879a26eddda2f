import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet diff`: shows the changes from one state to another.
struct DiffCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Shows the net difference between the states at two revisions.",
        discussion: "0 is the empty store. From a later to an earlier revision, the difference is "
            + "what reverting the commits between them would do.")

    @OptionGroup var options: StoreOptions

    @Argument(help: "The first revision.")
    var first: UInt64

    @Argument(help: "The second revision.")
    var second: UInt64

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let (changes, names) = try store.read { reader in
            let last = try reader.head().revision
            for number in [first, second] where Revision(number) > last {
                throw Failure(
                    missing: "revision \(number)", in: options.path,
                    advice: "The last revision is \(last).")
            }
            let changes = try reader.difference(from: Revision(first), to: Revision(second))
                .changes
            let ids = changes.lazy.flatMap(\.ids)
            return (
                changes,
                try ObjectNames(of: ids, store.schema, reader, at: Revision(second))
            )
        }
        for change in changes {
            try output.say(text: change.lines(names).joined(separator: "\n"), json: change.json)
        }
        return .success
    }
}

/// `stet blame`: shows who has set the properties of an object.
struct BlameCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Shows who has given each property of an object its value, and who has changed "
            + "the members of its relationships last.")

    @OptionGroup var options: StoreOptions

    @Argument(help: "The id of the object.")
    var object: String

    @Argument(help: "The name of the property or relationship; all of them without one.")
    var property: String?

    func perform(_ output: Output) throws -> ExitCode {
        guard let id = ObjectID(object) else {
            throw ValidationError("\(object) is no id of an object.")
        }
        let store = try openStore()
        let (shape, history, floor) = try store.read { reader in
            guard let number = try reader.entity(of: id) else {
                throw Failure(
                    missing: "object \(id)", in: options.path, advice: "See dump for those it has.")
            }
            return (
                ObjectShape(store.schema, ofEntity: number),
                try reader.history(ofEntity: number, id, from: .earliest), try reader.floor()
            )
        }
        let names = shape.names.filter { $0 == property ?? $0 }
        if names.isEmpty {
            throw Failure(
                missing: "property \(property ?? "") of \(shape.entity.name)", in: options.path,
                advice: "See info for those it has.")
        }
        let isWhole = floor == .zero || history.contains { $0.change.kind == .insert }
        for name in names {
            if let (change, cell) = lastChange(of: name, in: history) {
                try say(change, name, cell, output)
            } else if !isWhole {
                try output.say(
                    text: "up to \(floor), trimmed  \(name.visible)",
                    json: .object([
                        "property": .string(name), "trimmedThrough": .number(floor.number),
                    ]))
            }
        }
        return .success
    }

    /// The value that a change has set in a property, or its effect on the members of a
    /// relationship.
    private typealias BlamedCell = (line: String, key: String, json: JSON)

    private func lastChange(
        of name: String, in history: [HistoricChange]
    ) -> (HistoricChange, BlamedCell)? {
        for change in history {
            if let property = change.change[name] {
                return (change, (property.newLine(.none), "value", property.newJSON))
            }
            if let members = change.change.relationships.first(where: { $0.name == name }) {
                return (change, (members.line(.none), "members", members.json))
            }
        }
        return nil
    }

    private func say(
        _ change: HistoricChange, _ name: String, _ cell: BlamedCell, _ output: Output
    ) throws {
        try output.say(
            text: "\(change.line)  \(name.visible): \(cell.line)",
            json: .object([
                "author": JSON(change.author), "label": JSON(change.label),
                "property": .string(name), "revision": .number(change.revision.number),
                "time": .string(timeText(change.time.timeIntervalSinceReferenceDate)),
                cell.key: cell.json,
            ]))
    }
}
