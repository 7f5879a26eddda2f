import ArgumentParser
import CStetFork
import Dispatch
import Foundation
import StetStore
import StetTestSupport
import Synchronization

/// The child that saves one edit after the other, and reports each.
struct Write: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Commits random edits, and writes \"ack REVISION TOKEN\" after each.")

    @OptionGroup var options: WriterOptions
    @Option(help: "How many commits of each saver; endless when it is not given.")
    var commits = Int.max
    @Option(help: "The most objects that a commit steps through.")
    var changes = 6
    @Option(help: "Threads that save at the same time, at most 8.")
    var savers = 1
    @Flag(help: "Reads the lock file after each commit, as a copy of the directory does.")
    var readsLockFile = false
    @Option(help: "Forks a child after so many commits, which does nothing until it is killed.")
    var forks = 0
    @Flag(help: "Trims, which removes unused large data after a day, and lets days pass quickly.")
    var sweeps = false

    func run() throws {
        try reportingErrors {
            var configuration = StoreFile.Configuration()
            if sweeps { configuration.time = FastClock.now }
            let file = try StoreFile.open(at: options.path, schema: .campaign, configuration)
            defer { file.close() }
            let failure = Mutex<(any Error)?>(nil)
            let savings = DispatchGroup()
            for saver in 0..<savers {
                savings.enter()
                // Runs in its own thread, because saving blocks.
                Thread {
                    do { try save(file, saver) } catch { failure.withLock { $0 = error } }
                    savings.leave()
                }.start()
            }
            savings.wait()
            if let failure = failure.withLock({ $0 }) { throw failure }
        }
    }

    private func save(_ file: StoreFile, _ saver: Int) throws {
        var workload = Workload(
            seed: options.seed, stream: options.stream * 8 + saver, changeLimit: changes)
        var random = SeededGenerator(seed: options.seed, stream: options.stream * 8 + saver)
        try workload.load(file)
        var done = 0
        while done < commits {
            if sweeps { try sweep(file, &random) }
            let edits = workload.edits()
            let token = workload.token()
            do {
                let commit = try file.commit(edits, base: workload.revision, token: token)
                acknowledge(commit.revision, token)
                workload.adopt(edits, commit.revision)
                done += 1
                if readsLockFile {
                    _ = try Data(contentsOf: URL(fileURLWithPath: "\(options.path)-lock"))
                }
                if forks > 0, done % forks == 0 { forkIdleChild() }
            } catch is CommitRefusal {
                // Another saver or process has changed the same objects.
                try workload.load(file)
            } catch let error as StoreError where sweeps && error.code == .largeDataMissing {
                // The bytes were removed before the commit, a day after they were written.
                try workload.load(file)
            }
        }
    }

    /// Trims the journal now and then, or writes large data that no commit will refer to.
    private func sweep(_ file: StoreFile, _ random: inout SeededGenerator) throws {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let (head, floor) = try file.read { (try $0.head().revision, try $0.floor()) }
            let end = Revision(UInt64.random(in: floor.number...head.number, using: &random))
            say(Promise.trimming(end).line)
            try file.trim(through: end)
            say(Promise.trimmed(end).line)
        case 1: try LargeContents.write(LargeContents.random(using: &random), to: file)
        default: break
        }
    }

    /// Forks a child; other savers may be anywhere when this thread forks, even inside the right to
    /// write.
    private func forkIdleChild() {
        let child = stet_fork()
        if child == 0 {
            // Ends by itself if it is not killed, and must not keep the writer's output open.
            alarm(60)
            close(1)
            close(2)
            while true { pause() }
        }
        if child > 0 { say("\(ForkedChild.word) \(child)") }
    }

    private func acknowledge(_ revision: Revision, _ token: UInt64) {
        say("\(Acknowledgement(revision: revision, token: token))")
    }
}

/// The child that keeps a store open and does nothing, so that the lock file stays, with everything
/// that dead processes left in it.
struct Hold: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Keeps a store open until killed.")

    @Argument var path: String
    @Option var schema = CheckedSchema.campaign

    func run() throws {
        let file = try schema.open(path)
        say("open")
        withExtendedLifetime(file) { while true { pause() } }
    }
}

/// The child that replaces a store that others have open with a compacted copy.
struct CompactInPlace: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compacts a store in its place, and writes \"compacted\".")

    @Argument var path: String

    func run() throws {
        try reportingErrors {
            let file = try StoreFile.open(at: path, schema: .campaign)
            _ = try file.compactInPlace()
            say("compacted")
        }
    }
}
