import ArgumentParser
import Glibc
import StetStore

/// `stet keys`: lists the objects that have keys in a key file, and changes the file.
///
/// It reads no store, and so runs in no child process.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Lists the objects that have keys in a key file, and changes the file.",
        discussion: """
            Without options, lists the objects by whose keys values are sealed, and how many \
            versions of its key each has. --destroy shows what would be destroyed, and destroys \
            it with --yes. Listing and --destroy need no key of a provider. \
            --rotate, --new-key-file and --new-key-variable need the present one: name it by \
            --key-file or --key-variable. Processes that have the file open see each change at once.
            """)

    @Argument(help: "The key file.", completion: .file())
    var path: String

    @Flag(help: "Writes JSON instead of text.")
    var json = false

    @Option(
        help: """
            Destroys the keys of the object with this id, if --yes is given: what they have sealed \
            is erased.
            """)
    var destroy: String?

    @OptionGroup var confirmation: ConfirmationOptions

    @Option(help: "Gives the object with this id a new key, which seals its next values.")
    var rotate: String?

    @Option(help: "The file with the key of the provider.", completion: .file())
    var keyFile: String?

    @Option(help: "The variable of the environment with the key of the provider.")
    var keyVariable: String?

    @Option(help: "Encrypts the key file by the key in this file instead.", completion: .file())
    var newKeyFile: String?

    @Option(help: "Encrypts the key file by the key in this variable instead.")
    var newKeyVariable: String?

    func validate() throws {
        let changes = [destroy, rotate, newKeyFile, newKeyVariable].compactMap(\.self)
        if changes.count > 1 {
            throw ValidationError(
                "Only one of --destroy, --rotate, --new-key-file and --new-key-variable is "
                    + "possible at once.")
        }
        if confirmation.yes, destroy == nil {
            throw ValidationError("--yes goes with --destroy.")
        }
        if keyFile != nil, keyVariable != nil {
            throw ValidationError("--key-file and --key-variable name two keys.")
        }
        let needsKey = !changes.isEmpty && destroy == nil
        if needsKey != (provider != nil) {
            throw ValidationError(
                needsKey
                    ? "--key-file or --key-variable must name the present key of the provider."
                    : "--key-file and --key-variable go with --rotate, --new-key-file and "
                        + "--new-key-variable.")
        }
    }

    func run() throws {
        let output = Output(isJSON: json)
        do {
            try perform(output)
            try output.flush()
        } catch {
            let failure =
                error as? Failure ?? (error as? SealingError).map { Failure($0, path: path) }
            guard let failure else { throw error }
            output.complain(failure)
            throw failure.exitCode
        }
    }

    private var provider: LocalKeyProvider? { Self.provider(keyFile, keyVariable) }

    private static func provider(_ file: String?, _ variable: String?) -> LocalKeyProvider? {
        file.map { .file($0) } ?? variable.map { .environment($0) }
    }

    private func perform(_ output: Output) throws {
        if access(path, F_OK) != 0, errno == ENOENT {
            throw Failure(
                .noInput, code: StoreError.Code.notFound.rawValue, path: path,
                message: "There is no file \(path).", advice: "Check the path of the key file.")
        }
        if let destroy { return try destroyKeys(of: try id(destroy), output) }
        guard let provider else {
            return try list(try KeyPlaces(at: path).owners, output)
        }
        let keys = try KeyFile.open(existing: path, provider)
        if let rotate {
            let id = try id(rotate)
            try keys.rotateKey(of: id)
            let owners = try KeyPlaces(at: path).owners.filter { $0.id == id }
            if owners.isEmpty { throw missing(id) }
            try list(owners, output)
        } else if let next = Self.provider(newKeyFile, newKeyVariable) {
            try keys.move(toLocal: next)
            let place = newKeyFile ?? newKeyVariable ?? ""
            try output.say(
                text: "moved to the key in \(place.visible)",
                json: .object(["key": .string(place)]))
        }
    }

    private func list(_ owners: [KeyPlaces.Owner], _ output: Output) throws {
        for owner in owners {
            try output.say(
                text: "\(owner.id): \(owner.keyCount == 0 ? "destroyed" : owner.keyCount.keys)",
                json: .object([
                    "id": .string(owner.id.description), "keyCount": .integer(owner.keyCount),
                ]))
        }
    }

    private func destroyKeys(of id: ObjectID, _ output: Output) throws {
        var places = try KeyPlaces(at: path)
        let before = places.owners.first { $0.id == id }
        let isDone = confirmation.yes
        if isDone { try places.destroyKeys(of: id) }
        let result =
            switch before?.keyCount {
            case nil:
                isDone
                    ? "had no key, and can never get one now"
                    : "has no key; with --yes it can never get one"
            case 0?: "was destroyed before"
            case let count?: "\(count.keys) \(isDone ? "destroyed" : "would be destroyed")"
            }
        try output.say(
            text: "\(id): \(result)",
            json: .object([
                "id": .string(id.description), "isDone": .bool(isDone),
                "keyCount": .integer(before?.keyCount ?? 0),
            ]))
    }

    private func id(_ text: String) throws -> ObjectID {
        if let id = ObjectID(text) { return id }
        throw Failure(
            .usage, code: "usage", path: path, message: "\(text.visible) is no id of an object.",
            advice: "An id is a UUID: list those of the file without options.")
    }

    private func missing(_ id: ObjectID) -> Failure {
        Failure(
            .noInput, code: SealingError.Code.keyMissing.rawValue, path: path,
            message: "The key file has no key of object \(id).",
            advice: "It gets one with its first value: there is nothing to rotate.")
    }
}

extension Int {
    fileprivate var keys: String { self == 1 ? "1 key" : "\(self) keys" }
}

extension Failure {
    fileprivate init(_ error: SealingError, path: String) {
        let exitCode: ExitCode =
            switch error.code {
            case .notAKeyFile: .dataError
            case .wrongKey: .noPermission
            case .erased: .problemsFound
            case .inputOutput, .providerFailed: .inputOutputError
            default: .internalError
            }
        self.init(
            exitCode, code: error.code.rawValue, path: path, message: error.message,
            advice: error.advice)
    }
}
