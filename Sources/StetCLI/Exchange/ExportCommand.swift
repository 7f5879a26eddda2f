import ArgumentParser
import Glibc
import StetStore

/// `stet export`: objects as files that other programs, and `stet import`, can read.
struct ExportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes objects as JSON Lines or CSV, without losing anything.",
        discussion: """
            All entities unless some are named; in ascending order of entity and id, all as of one \
            revision. The store may go on being written to meanwhile, however long it takes.

            Unlike dump, it writes every value so that import gives it the same bytes: dates have \
            all digits, what JSON has no number for is a string ("NaN", "-0.0"), a dictionary is a \
            list of pairs. The members of a relationship with links are a list of ids of the \
            object that owns the links, in their order; a reference with a place in an order is \
            id@position. In CSV an empty field is nil, and "" is empty text; lists, \
            dictionaries and members are JSON.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, csv }

    @OptionGroup var options: StoreOptions
    @OptionGroup var moment: MomentOptions

    @Argument(help: "The entities; one for CSV.")
    var entities: [String] = []

    @Option(help: "JSON Lines or comma-separated values.")
    var format = Format.jsonl

    @Option(
        help: "The file to make; refused when it is there. Standard output without it.",
        completion: .file())
    var output: String?

    func validate() throws {
        if format == .csv, entities.count != 1 {
            throw ValidationError("CSV has the objects of one entity: name one.")
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
        let file = try NewFile(path)
        let fileOutput = Output(isJSON: output.isJSON, to: file.descriptor)
        try write(numbers, revision, store, fileOutput)
        try fileOutput.flush()
        try file.keep()
        return .success
    }

    private func write(
        _ numbers: [EntityNumber], _ revision: Revision, _ store: StoreFile, _ output: Output
    ) throws {
        for number in Set(numbers).sorted() {
            if format == .csv {
                let shape = ObjectShape(store.schema, ofEntity: number)
                try output.say(StoredObject.header(of: shape).line)
            }
            try store.forEachObject(ofEntity: number, asOf: revision) { object in
                try output.say(format == .csv ? object.row.line : object.exactJSON.text)
            }
        }
    }
}

/// A file that is there only when it was written whole.
private final class NewFile {
    let descriptor: Int32
    private let path: String
    private var isKept = false

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.failure(path, .cannotCreate) }
    }

    deinit {
        close(descriptor)
        if !isKept { unlink(path) }
    }

    func keep() throws {
        guard fsync(descriptor) == 0 else { throw Self.failure(path, .inputOutputError) }
        isKept = true
    }

    private static func failure(_ path: String, _ exitCode: ExitCode) -> Failure {
        Failure(
            exitCode,
            code: (errno == EEXIST ? StoreError.Code.alreadyExists : .inputOutput).rawValue,
            path: path,
            message: "\(path) can't be written: \(String(cString: strerror(errno))).",
            advice: "Name a file that is not there, in a directory that can be written to.")
    }
}
