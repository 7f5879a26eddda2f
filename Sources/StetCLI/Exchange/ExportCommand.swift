import ArgumentParser
import Glibc
import StetStore

/// `stet export`: writes objects to files that other programs, and `stet import`, can read.
struct ExportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes objects as JSON Lines or CSV, without losing anything.",
        discussion: """
            Writes all entities unless some are named, in ascending order of entity and id, as of \
            one revision. Other processes may write to the store meanwhile.

            Unlike dump, it writes every value so that import gives it the same bytes: dates have \
            all digits, what JSON has no number for is a string ("NaN", "-0.0"), a dictionary is a \
            list of pairs. The members of a relationship with links are a list of ids of the \
            object that owns the links, in their order; a reference with a place in an order is \
            id@position. A file is written under another name (OUTPUT.new-ID) and gets its own \
            when it is whole. In CSV an empty field is nil, and "" is empty text; lists, \
            dictionaries and members are JSON. Large data is its digest and size; \
            --large-data writes the bytes to files of a folder.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var moment: MomentOptions

    @Argument(help: "The entities; one for CSV.")
    var entities: [String] = []

    @Option(
        help: """
            JSON Lines or comma-separated values; by default as the name of the file says (.csv), \
            otherwise JSON Lines.
            """,
        completion: .list(ExchangeFormat.allCases.map(\.rawValue)))
    var format: ExchangeFormat?

    @Option(
        help: """
            The file to create, readable by its owner alone; it must not exist. Standard output \
            by default.
            """,
        completion: .file())
    var output: String?

    @Option(
        help: """
            The folder for the bytes of large data, each in a file with its digest as the name; \
            files that are there stay.
            """,
        completion: .directory)
    var largeData: String?

    @OptionGroup var progress: ProgressOptions

    private var isCSV: Bool { (format ?? ExchangeFormat(ofFile: output ?? "")) == .csv }

    func validate() throws {
        if isCSV, entities.count != 1 {
            throw ValidationError(
                format == nil
                    ? "A file .csv has the objects of one entity: name one, or use --format jsonl."
                    : "CSV has the objects of one entity: name one.")
        }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let revision = try store.read { try moment.revision($0, in: options.path) }
        let numbers =
            try entities.isEmpty
            ? store.entityNumbers : entities.map { try store.number(ofEntity: $0) }
        guard let path = self.output else {
            try write(numbers, revision, store, output)
            return .success
        }
        do {
            let file = try NewFile(at: path)
            let fileOutput = Output(isJSON: output.isJSON, to: file.descriptor)
            try write(numbers, revision, store, fileOutput)
            try fileOutput.flush()
            try file.publish()
        } catch let error as StoreError where error.path == path {
            throw Failure(error).creating(path)
        }
        return .success
    }

    private func write(
        _ numbers: [EntityNumber], _ revision: Revision, _ store: StoreFile, _ output: Output
    ) throws {
        // Records of deleted objects count, too.
        let count = try store.read { reader in
            try numbers.reduce(0) { try $0 + reader.recordCount(ofEntity: $1) }
        }
        let meter = progress.meter(output) { "exported \($0) objects; there are at most \($1)" }
        defer { meter.end() }
        var doneCount = 0
        var largeValues: Set<LargeValue> = []
        for number in Set(numbers).sorted() {
            if isCSV {
                let shape = ObjectShape(store.schema, ofEntity: number)
                try output.say(StoredObject.header(of: shape).line)
            }
            try store.forEachObject(ofEntity: number, asOf: revision) { object in
                try output.say(isCSV ? object.row.line : object.exactJSON.text)
                if largeData != nil {
                    largeValues.formUnion(
                        object.shape.entity.largeValues(of: object.values).map(\.value))
                }
                doneCount += 1
                meter.report(doneCount, of: count)
            }
        }
        if let largeData { try LargeDataFolder(path: largeData).write(largeValues, of: store) }
    }
}
