import ArgumentParser
import StetStore

/// `stet dump`: all objects as JSON Lines.
struct DumpCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Writes all objects as JSON Lines: entity, id, revision, values, members.",
        discussion: """
            In ascending order of entity and id, all as of one revision, the last unless --as-of \
            names another. The members of a relationship with links are a list of the \
            object that owns the links, and the revision is that of the last change of the values. \
            The store may go on being written to meanwhile, however long it takes.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var moment: MomentOptions

    @Option(help: "Writes the objects of this entity only.")
    var entity: String?

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let revision = try store.read { try moment.revision($0, in: options.path) }
        let numbers = try entity.map { [try store.number(ofEntity: $0)] } ?? store.entityNumbers
        for number in numbers {
            try store.forEachObject(ofEntity: number, asOf: revision) { object in
                try output.say(object.json.text)
            }
        }
        return .success
    }
}
