import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet import`: imports objects from a file.
struct ImportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports objects from a CSV or JSON Lines file.",
        discussion: """
            Imports all rows as one commit, or none when any is not valid: each rejected row is \
            listed with its line and everything that is wrong with it. Rules, unique values, \
            references and the numbers of members are checked; values are normalised; properties \
            with a stamp get the time where the file has no value for them. The commit is recorded \
            as an import: it cannot be undone, but reverted.

            CSV needs an entity, and a first row with the names of its columns. An empty field is \
            nil where the property can be nil, and "" is empty text. A line of JSON is one that \
            export has written, or an object with the values as members; without an entity on the \
            command line, each line names its own. An object whose id is in the store is updated: \
            values that the file does not contain are kept. One without an id is new. A list of \
            ids replaces the members of a relationship with links, in their order; an object that \
            gets an owner without a position comes last among its members. The bytes of large data \
            that the store does not have are read from the folder that export has written.
            """)

    /// The property of the entity for a column.
    struct Mapping: ExpressibleByArgument {
        let column: String
        let property: String

        init?(argument: String) {
            guard let place = argument.firstIndex(of: "=") else { return nil }
            column = String(argument[..<place])
            property = String(argument[argument.index(after: place)...])
        }
    }

    @OptionGroup var options: StoreOptions

    @Argument(
        help: ArgumentHelp(
            "The entity of the objects, where the lines do not name it, and the file.",
            valueName: "[entity] file"),
        completion: .file())
    var words: [String]

    @Option(help: "CSV or JSON Lines; by default, determined by the file's extension.")
    var format: ExchangeFormat?

    @Option(
        name: .customLong("map"), parsing: .singleValue,
        help: ArgumentHelp(
            "The property for the values of a column; an empty one skips the column.",
            valueName: "column=property"))
    var mappings: [Mapping] = []

    @Flag(help: "Commits the rows that are valid.")
    var skipInvalid = false

    @Flag(help: "Checks the rows, and writes nothing.")
    var dryRun = false

    @Option(help: "The author of the commit.")
    var author: String?

    @Option(help: "The label of the commit.")
    var label: String?

    @Option(help: "Commits after each this many rows instead of once; earlier commits stay.")
    var batch: Int?

    @Option(
        help: "The folder with the bytes of large data, as export writes it.",
        completion: .directory)
    var largeData: String?

    @Flag(help: "Writes although the validators in code, which the tool lacks, cannot run.")
    var withoutValidators = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup var journal: JournalOptions

    /// The number of rows that one read converts.
    private static let chunkCount = 1_000
    /// The number of rejections after which the rest of a file that is not imported is skipped.
    private static let rejectionLimit = 1_000

    private var file: String { words.last ?? "" }
    private var entity: String? { words.count > 1 ? words.first : nil }

    func validate() throws {
        guard (1...2).contains(words.count) else {
            throw ValidationError("Name the entity, if there is one, and the file.")
        }
        if fileFormat == .csv, entity == nil {
            throw ValidationError("CSV has the objects of one entity: name it before the file.")
        }
        if let batch, batch < 1 { throw ValidationError("--batch must be at least 1.") }
        if dryRun, batch != nil {
            throw ValidationError("--dry-run and --batch exclude each other.")
        }
    }

    private var fileFormat: ExchangeFormat { format ?? ExchangeFormat(ofFile: file) }

    // MARK: Performing

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore(of: journal.open(for: options.path))
        if !dryRun { try checkValidators(areLeftOut: withoutValidators) }
        let shape = try entity.map {
            ObjectShape(store.schema, ofEntity: try store.number(ofEntity: $0))
        }
        var tally = ImportTally()
        do {
            let bytes = try FileBytes(path: file)
            let meter = progress.meter(output) {
                "read \(byteCountText($0)) of \(byteCountText($1))"
            }
            defer { meter.end() }
            var source = try source(bytes, shape)
            try run(&source, store, &tally, output) {
                meter.report(bytes.readByteCount, of: bytes.byteCount)
            }
        } catch let error as ExchangeError {
            throw Failure(
                .dataError, code: "malformedFile", path: file,
                message: "\(file), line \(error.line): \(error.message).",
                advice: tally.advice)
        }
        try output.say(text: tally.text(isDryRun: dryRun), json: tally.json)
        return tally.isStopped || (dryRun && tally.rejected > 0) ? .problemsFound : .success
    }

    private func source(_ bytes: FileBytes, _ shape: ObjectShape?) throws -> ImportSource {
        let names = Dictionary(
            mappings.map { ($0.column, $0.property) }, uniquingKeysWith: { $1 })
        guard fileFormat == .csv, let shape else {
            return ImportSource(jsonLines: bytes, names, shape?.entity)
        }
        return try ImportSource(csv: bytes, names, shape)
    }

    private func run(
        _ source: inout ImportSource, _ store: StoreFile, _ tally: inout ImportTally,
        _ output: Output, _ reportProgress: () -> Void
    ) throws {
        let time = Date().timeIntervalSinceReferenceDate
        var isAtEnd = false
        while !isAtEnd, !tally.isStopped {
            var batch = try ImportBatch(
                store, entity: entity, time: time,
                largeData: largeData.map { LargeDataFolder(path: $0) })
            while !isAtEnd, batch.count < self.batch ?? .max {
                let most = min(Self.chunkCount, (self.batch ?? .max) - batch.count)
                var records: [ImportRecord] = []
                while records.count < most, let record = try source.next() {
                    records.append(record)
                }
                isAtEnd = records.count < most
                try batch.add(records)
                reportProgress()
                if !skipInvalid, batch.rejected.count >= Self.rejectionLimit { break }
            }
            try batch.check()
            try report(batch.rejected, output)
            if !skipInvalid, !batch.rejected.isEmpty {
                tally.stop(batch)
            } else {
                tally.add(batch, dryRun ? nil : try commit(batch, tally, time))
            }
        }
    }

    private func report(_ rejected: [Int: [ImportProblem]], _ output: Output) throws {
        for (line, problems) in rejected.sorted(by: { $0.key < $1.key }) {
            for problem in problems {
                try output.say(
                    text: "line \(line): \(problem.message.visible)",
                    json: .object([
                        "line": .integer(line), "message": .string(problem.message),
                        "property": JSON(problem.property),
                    ]))
            }
        }
    }

    private func commit(
        _ batch: ImportBatch, _ tally: ImportTally, _ time: Double
    ) throws -> Commit? {
        var attributes = CommitAttributes(author: author, label: label)
        attributes.metadata = [Commit.withoutValidatorsKey: "true"]
        try batch.loadLargeData()
        do {
            return try ImportWork(batch: batch, attributes: attributes, time: time).commit()
        } catch is ImportWork.Overtaken {
            throw Failure(
                .inputOutputError, code: "contention", path: options.path,
                message: "Others have changed objects that the rows were compared with.",
                advice: "\(tally.advice) Try again.")
        }
    }
}
