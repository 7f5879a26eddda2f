import ArgumentParser
import StetStore

/// `stet log`: lists the commits, newest first.
struct LogCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Lists the commits, newest first.",
        discussion: """
            One line each: revision, time, label, author, number of changes, the cause unless it \
            is an ordinary save, and "without validators" for a commit of this tool.
            """)

    @OptionGroup var options: StoreOptions

    @Option(help: "Lists at most this number of commits.")
    var limit: Int?

    @Option(help: "Lists the commits of this author only.")
    var author: String?

    @Option(help: "The earliest revision; the first that the journal still has without one.")
    var from: UInt64?

    @Option(help: "The latest revision.")
    var to: UInt64 = .max

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative.") }
        if let from, from > to { throw ValidationError("--from must not be after --to.") }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        let (last, floor) = try store.read { (try $0.head().revision, try $0.floor()) }
        let first = from.map { max(Revision($0), 1) } ?? floor.next
        var remaining = limit ?? .max
        var revision: Revision? = min(last, Revision(to))
        // Reads each commit separately: a blocked output must not keep old pages in use.
        while remaining > 0, let number = revision, number >= first {
            let commit = try store.read { try $0.commit(number) }
            revision = number.previous
            if let author, commit.author != author { continue }
            try output.say(text: commit.line, json: .object(commit.members))
            remaining -= 1
        }
        return .success
    }
}
