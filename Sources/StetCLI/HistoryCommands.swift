import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet diff`: what leads from one state to another.
struct DiffCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Shows the net difference between the states at two revisions.",
        discussion: "0 is the empty store. From a later to an earlier revision it is what taking "
            + "the commits between them back would do.")

    @OptionGroup var options: StoreOptions

    @Argument(help: "The revision that is compared.")
    var first: UInt64

    @Argument(help: "The revision that it is compared with.")
    var second: UInt64

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let changes = try store.read { reader in
            let last = try reader.head().revision
            for number in [first, second] where Revision(number) > last {
                throw Failure(
                    missing: "revision \(number)", in: options.path,
                    advice: "The last revision is \(last).")
            }
            return try reader.difference(from: Revision(first), to: Revision(second)).changes
        }
        for change in changes {
            try output.say(text: change.lines.joined(separator: "\n"), json: change.json)
        }
        return .success
    }
}

/// `stet blame`: who has given the properties of an object their values.
struct BlameCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Shows who has given each property of an object its value.")

    @OptionGroup var options: StoreOptions

    @Argument(help: "The id of the object.")
    var object: String

    @Argument(help: "The name of the property; all of them without one.")
    var property: String?

    func perform(_ output: Output) throws -> ExitCode {
        guard let id = ObjectID(object) else {
            throw ValidationError("\(object) is no id of an object.")
        }
        let store = try openStore()
        let (entity, history, floor) = try store.read { reader in
            guard let number = try reader.entity(of: id) else {
                throw Failure(
                    missing: "object \(id)", in: options.path, advice: "See dump for those it has.")
            }
            return (
                store.schema.entities[number - 1],
                try reader.history(ofEntity: number, id, from: .first), try reader.floor()
            )
        }
        let names = entity.properties.map(\.name).filter { $0 == property ?? $0 }
        if names.isEmpty {
            throw Failure(
                missing: "property \(property ?? "") of \(entity.name)", in: options.path,
                advice: "See info for those it has.")
        }
        for name in names {
            guard let change = history.first(where: { $0.change[name] != nil }),
                let cell = change.change[name]
            else {
                if floor > .zero {
                    try output.say(
                        text: "up to \(floor), trimmed  \(name.visible)",
                        json: .object([
                            "property": .string(name), "trimmedThrough": .number(floor.number),
                        ]))
                }
                continue
            }
            let who = change.author.map { " by \($0.visible)" } ?? ""
            let label = change.label.map { " \"\($0.visible)\"" } ?? ""
            try output.say(
                text: "\(change.line)\(label)\(who)  \(name.visible): \(cell.newLine)",
                json: .object([
                    "author": JSON(change.author), "label": JSON(change.label),
                    "property": .string(name), "revision": .number(change.revision.number),
                    "time": .string(timeText(change.time.timeIntervalSinceReferenceDate)),
                    "value": cell.new.json,
                ]))
        }
        return .success
    }
}
