import ArgumentParser
import StetStore

/// `stet dump`: all objects as JSON Lines.
struct DumpCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Writes all objects as JSON Lines: entity, id, revision, values.",
        discussion: """
            In ascending order of entity and id, all as of one revision, the last unless --as-of \
            names another. The store may go on being written to meanwhile, however long it takes.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var moment: MomentOptions

    @Option(help: "Writes the objects of this entity only.")
    var entity: String?

    /// The lines that one read makes.
    private static let batchCount = 256

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let revision = try store.read { try moment.revision($0, in: options.path) }
        let numbers = try entity.map { [try store.number(ofEntity: $0)] } ?? store.entityNumbers
        for number in numbers { try dump(number, revision, store, output) }
        return .success
    }

    /// Reads in batches, so that output that nobody takes does not hold back pages.
    private func dump(
        _ number: Int, _ revision: Revision, _ store: StoreFile, _ output: Output
    ) throws {
        let entity = store.schema.entities[number - 1]
        var last = ObjectID.none
        while true {
            var lines: [JSON] = []
            try store.read { reader in
                try reader.forEachRecord(ofEntity: number, asOf: revision, from: last) {
                    id, record in
                    if id == last { return true }
                    if lines.count == Self.batchCount { return false }
                    let values = try values(of: RecordBody(record.body, of: entity))
                    lines.append(JSON(entity.name, id, record.revision, values))
                    last = id
                    return true
                }
            }
            for line in lines { try output.say(line.text) }
            if lines.count < Self.batchCount { return }
        }
    }
}
