/// The options of the command line.
enum Options: Equatable {
    /// Run the example.
    case run(status: StatusSource, keptStore: String?)
    /// Import a package index, and run the same queries.
    case index(path: String)
    /// Read the store back, which the example does in a separate process: see `Expectation`.
    case readBack(store: String, expectation: String)
    /// Print the usage.
    case help

    /// The source of the packages.
    enum StatusSource: Equatable {
        /// The machine's own file, or the excerpt if there is none.
        case machine
        case excerpt
        case file(String)
    }

    static let usage = """
        usage: catalogue [--excerpt | STATUS-FILE] [--keep STORE]
               catalogue --index PACKAGES-FILE

          STATUS-FILE   a dpkg status file; without it this machine's own
          --excerpt     use the 200 packages that come with this program
          --keep STORE  make the store at this path and leave it there
          --index       import all packages of an archive, as its Packages file lists
                        them, and say how long each thing takes
        """

    /// - Throws: `Failure` with the usage.
    init(_ arguments: [String]) throws {
        if arguments.first == "read-back", arguments.count == 3 {
            self = .readBack(store: arguments[1], expectation: arguments[2])
            return
        }
        if arguments.first == "--index" {
            guard arguments.count == 2 else { throw Failure.usage("--index needs a file") }
            self = .index(path: arguments[1])
            return
        }
        var status: StatusSource?
        var keptStore: String?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help":
                self = .help
                return
            case "--keep":
                guard keptStore == nil else { throw Failure.usage("--keep is given twice") }
                guard let path = rest.popFirst(), !path.isEmpty else {
                    throw Failure.usage("--keep needs a path")
                }
                keptStore = path
            case let option where option.hasPrefix("-") && option != "--excerpt":
                throw Failure.usage("there is no option \(option)")
            case "":
                throw Failure.usage("an empty argument names no file")
            default:
                guard status == nil else {
                    throw Failure.usage("'\(argument)' is one argument too many")
                }
                status = argument == "--excerpt" ? .excerpt : .file(argument)
            }
        }
        self = .run(status: status ?? .machine, keptStore: keptStore)
    }
}

/// The reason why the example could not run, which the user can correct.
struct Failure: Error {
    let message: String
    var exitCode: Int32 = 2

    static func usage(_ message: String) -> Failure {
        Failure(message: "\(message)\n\n\(Options.usage)", exitCode: 64)
    }
}
