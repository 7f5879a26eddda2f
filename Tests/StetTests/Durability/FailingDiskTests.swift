import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// A disk that fails while a process writes a commit, and what that process, another one beside it
/// and whoever opens the store later make of it.
@Suite struct FailingDiskTests {
    /// A call of a commit.
    ///
    /// There is no sync of the meta page by itself: LMDB writes it through a descriptor with
    /// `O_DSYNC`, so that its sync has failed when the bytes are there and the write reports an
    /// error (`persisted`).
    enum Call: CaseIterable { case dataWrite, dataSync, metaWrite }

    struct Case: CustomTestStringConvertible {
        let call: Call
        /// `EIO` or `persisted`.
        let error: String
        /// Every later call of that name fails, too.
        let isSticky: Bool
        /// This process has the store open all the time.
        let isShared: Bool

        var testDescription: String {
            "\(call) \(error)\(isSticky ? " from then on" : "")\(isShared ? ", shared" : "")"
        }

        static let all = Call.allCases.flatMap { call in
            ["EIO", "persisted"].flatMap { error in
                [false, true].flatMap { isSticky in
                    [false, true].map {
                        Case(call: call, error: error, isSticky: isSticky, isShared: $0)
                    }
                }
            }
        }
    }

    /// The statements of a child about the commits that it tried.
    private struct Testimony {
        var saved: Set<Int> = []
        var refused: Set<Int> = []
        var unknown: Set<Int> = []

        init(_ child: RunningChild) {
            while let line = child.line(), line != "done" {
                let words = line.split(separator: " ")
                let number = words.count > 1 ? Int(words[1]) ?? 0 : 0
                switch words.first {
                case "saved": saved.insert(number)
                case "refused": refused.insert(number)
                case "unknown": unknown.insert(number)
                default: Issue.record("a child said: \(line)")
                }
            }
        }
    }

    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }
    private var log: String { directory.file("calls") }
    private static let commitCount = 8
    /// The commit that a call fails in.
    private static let failing = 4

    private func child(_ failure: [String: String]) throws -> RunningChild {
        let environment = [
            "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
            "STET_FAIL_FILE": path, "STET_FAIL_LOG": log,
        ]
        return try RunningChild(
            ["insist", path, "\(Self.commitCount)"],
            environment: environment.merging(failure) { $1 })
    }

    /// The name of a call, and its number among those of its name in a session without failures.
    private func place(of call: Call) throws -> (name: String, number: Int) {
        let child = try child([:])
        #expect(Testimony(child).saved.count == Self.commitCount)
        child.kill()
        let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ") }
        try FileManager.default.removeItem(atPath: log)
        try FileManager.default.removeItem(atPath: path)
        let syncs = calls.indices.filter { calls[$0][0] == "fdatasync" }
        try #require(syncs.count == Self.commitCount)
        let sync = syncs[Self.failing - 1]
        let index =
            switch call {
            case .dataSync: sync
            case .dataWrite: sync - 1
            case .metaWrite: sync + 1
            }
        let number = try #require(Int(calls[index][1]))
        return (String(calls[index][0]), number)
    }

    /// The numbers of the articles that a store has.
    private func numbers(_ store: Store) throws -> Set<Int> {
        #expect(try store.verify().problems == [])
        let titles = try store.context().fetch(Article.self).all().map(\.title)
        let numbers = titles.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(Set(numbers).count == titles.count)
        return Set(numbers)
    }

    private func open() throws -> Store {
        try Store.open(at: path, for: Notebook.self, Article.self)
    }

    /// A process in which a call fails: the process, which is still there, what it has said, and
    /// the store of this process, where that has it open.
    private func session(
        _ failure: Case
    ) throws -> (child: RunningChild, said: Testimony, shared: Store?) {
        try open().close()
        let (name, number) = try place(of: failure.call)
        try open().close()
        let shared = failure.isShared ? try open() : nil
        let child = try self.child([
            "STET_FAIL_CALL": name, "STET_FAIL_AT": "\(number)", "STET_FAIL_ERROR": failure.error,
            "STET_FAIL_STICKY": failure.isSticky ? "1" : "0",
        ])
        let said = Testimony(child)
        let calls = try String(contentsOfFile: log, encoding: .utf8)
        #expect(calls.contains("\(name) \(number) \(failure.error)\n"))
        return (child, said, shared)
    }

    @Test(arguments: Case.all)
    func whatWasSavedIsThereWhatWasRefusedIsNotForEveryProcess(_ failure: Case) throws {
        let (child, said, shared) = try session(failure)
        // Saves the commits before the failure and, if it happened only once, those after it.
        let others = Set(1...Self.commitCount).subtracting([Self.failing])
        #expect(said.saved.isSuperset(of: 1..<Self.failing))
        if !failure.isSticky {
            #expect(said.saved.isSuperset(of: others))
            #expect(said.unknown == [])
        }
        // Opens the store in another process while the first one runs.
        let beside = try shared ?? open()
        let seen = try numbers(beside)
        #expect(seen.isSuperset(of: said.saved))
        #expect(seen.isDisjoint(with: said.refused))
        // It can save, because the disk works again.
        let context = beside.context()
        context.insert(Article(title: "article 100", notebook: nil))
        try context.save()
        let all = seen.union([100])
        #expect(try numbers(beside) == all)
        child.kill()
        beside.close()
        let again = try open()
        #expect(try numbers(again) == all)
        again.close()
    }

    @Test(arguments: Case.all)
    func whatWasRefusedIsNotThereWhenNobodyHasWrittenSince(_ failure: Case) throws {
        let (child, said, shared) = try session(failure)
        child.kill()
        shared?.close()
        let again = try open()
        let seen = try numbers(again)
        #expect(seen.isSuperset(of: said.saved))
        #expect(seen.isDisjoint(with: said.refused))
        again.close()
    }
}
