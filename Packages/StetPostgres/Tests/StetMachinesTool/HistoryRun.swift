import Foundation
import Glibc
import StetMachines

/// A standby that takes over in a history.
struct Standby {
    let server: PostgresServer
    /// Whether it is stopped before, so that it lacks the last commits.
    let isLate: Bool
}

/// One history: four nodes save and read while processes, connections and the database fail.
final class HistoryRun {
    private static let nodeCount = 4
    /// A node that is made in the end.
    private static let newNode = nodeCount
    /// A run that takes longer hangs.
    private static let limit: TimeInterval = 300

    private struct Node {
        var configuration: NodeConfiguration
        var file: String
        var proxy: Proxy
        var process: Process?
        var isDone = false
    }

    private var server: PostgresServer
    private let standby: Standby?
    private let directory: String
    private let store = UUID().uuidString
    private var random: Splitter
    private var nodes: [Node] = []
    /// What ends faults, and when.
    private var reversals: [(time: Date, body: () throws -> Void)] = []
    /// Whether a node was partitioned for long, which is done once.
    private var isAlone = false
    private(set) var faultCounts: [String: Int] = [:]
    private(set) var events: [Event] = []

    init(
        _ server: PostgresServer, _ standby: Standby?, in directory: String, seed: UInt64,
        plant: Plant?
    ) throws {
        self.server = server
        self.standby = standby
        self.directory = directory
        random = Splitter(seed)
        try FileManager.default.createDirectory(
            atPath: "\(directory)/hints", withIntermediateDirectories: true)
        for number in 0...Self.newNode { nodes.append(try makeNode(number, plant)) }
    }

    private func makeNode(_ number: Int, _ plant: Plant?) throws -> Node {
        let socket = "\(directory)/\(number)"
        try FileManager.default.createDirectory(
            atPath: socket, withIntermediateDirectories: true)
        let configuration = NodeConfiguration(
            node: number, path: "\(directory)/node\(number).stet",
            connection: "host=\(socket) user=stet dbname=postgres", store: store,
            history: "\(directory)/history\(number)", seed: random.next(), saveCount: 16,
            clockOffset: [0, 3_600, -3_600, 0, 0][number],
            isRelaxed: Bool.random(using: &random), mayDiverge: standby?.isLate == true,
            plant: plant, server: server.directory, hints: "\(directory)/hints")
        let file = "\(directory)/configuration\(number)"
        try JSONEncoder().encode(configuration).write(to: URL(fileURLWithPath: file))
        let proxy = try Proxy(at: "\(socket)/.s.PGSQL.5432", to: server.socket)
        return Node(configuration: configuration, file: file, proxy: proxy)
    }

    /// Makes the history; returns what contradicts the promises.
    func run() async throws -> [String] {
        defer {
            for node in nodes {
                if let process = node.process, process.isRunning {
                    kill(process.processIdentifier, SIGKILL)
                }
                node.proxy.end()
            }
        }
        try await NodeProcess.create(nodes[0].configuration)
        for index in 0..<Self.nodeCount { try start(index) }
        nodes[Self.newNode].isDone = true
        if standby != nil { prepareTakeover() }
        let end = Date().addingTimeInterval(Self.limit)
        var next = Date().addingTimeInterval(0.1)
        while nodes.contains(where: { !$0.isDone }) {
            guard Date() < end else { return ["nodes are not done after \(Self.limit) s"] }
            if let problem = try look() { return [problem] }
            try reverse(until: Date())
            if Date() >= next {
                try inject()
                next = Date().addingTimeInterval(.random(in: 0.02..<0.25, using: &random))
            }
            usleep(3_000)
        }
        try reverse(until: .distantFuture)
        return try judge()
    }

    private func judge() throws -> [String] {
        let last = try spawn(["end"] + nodes.map(\.file))
        last.waitUntilExit()
        guard last.terminationReason == .exit, last.terminationStatus == 0 else {
            return ["the nodes could not be read in the end: \(errors)"]
        }
        events = try nodes.flatMap { try Recorder.events($0.configuration.history) }
        var problems =
            standby?.isLate == true
            ? HistoryChecker.problems(
                losing: events, nodeCount: Self.nodeCount + 1, newNode: Self.newNode)
            : HistoryChecker(events, nodeCount: Self.nodeCount + 1).problems
        let count = try server.sql("SELECT revision FROM stet_head WHERE store = '\(store)'")
        for case .final(let final) in events
        where !final.isDiverged && String(final.commits.count) != count {
            problems.append("the database has \(count) commits, node \(final.node) had others")
        }
        return problems
    }

    // MARK: Processes

    private var errors: String {
        (try? String(contentsOfFile: "\(directory)/errors", encoding: .utf8)) ?? ""
    }

    private func spawn(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let path = "\(directory)/errors"
        if !FileManager.default.fileExists(atPath: path) {
            FileManager.default.createFile(atPath: path, contents: nil)
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seekToEnd()
        process.standardError = handle
        process.standardOutput = handle
        try process.run()
        return process
    }

    private func start(_ index: Int) throws {
        nodes[index].process = try spawn(["node", nodes[index].file])
    }

    /// Looks for processes that have ended by themselves; returns what is wrong.
    private func look() throws -> String? {
        for index in nodes.indices where !nodes[index].isDone {
            guard let process = nodes[index].process, !process.isRunning else { continue }
            guard process.terminationReason == .exit, process.terminationStatus == 0 else {
                return "node \(index) has ended with \(process.terminationStatus): \(errors)"
            }
            nodes[index].isDone = true
        }
        return nil
    }

    private func killNode(_ index: Int) throws {
        guard let process = nodes[index].process, process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        // It may have ended before.
        guard process.terminationReason == .uncaughtSignal else { return }
        if !nodes[index].configuration.mayDiverge, Int.random(in: 0..<4, using: &random) == 0 {
            count("file thrown away")
            let name = "node\(index).stet"
            for file in try FileManager.default.contentsOfDirectory(atPath: directory)
            where file.hasPrefix(name) {
                try FileManager.default.removeItem(atPath: "\(directory)/\(file)")
            }
        }
        try start(index)
    }

    // MARK: Faults

    private func count(_ fault: String) { faultCounts[fault, default: 0] += 1 }

    private func later(_ seconds: ClosedRange<Double>, _ body: @escaping () throws -> Void) {
        let time = Date().addingTimeInterval(.random(in: seconds, using: &random))
        reversals.append((time, body))
    }

    /// Ends the faults whose time has come.
    private func reverse(until time: Date) throws {
        let due = reversals.filter { $0.time <= time }
        reversals.removeAll { $0.time <= time }
        for reversal in due { try reversal.body() }
    }

    private func inject() throws {
        let index = Int.random(in: 0..<Self.nodeCount, using: &random)
        let proxy = nodes[index].proxy
        // A primary with a standby that is restarted shows commits that the standby may lack.
        switch Int.random(in: 0..<(standby == nil ? 22 : 19), using: &random) {
        case 0...2:
            count("node killed")
            try killNode(index)
        case 3...5:
            guard let process = nodes[index].process, process.isRunning else { return }
            count("node paused")
            kill(process.processIdentifier, SIGSTOP)
            later(0.05...2.5) {
                if process.isRunning { kill(process.processIdentifier, SIGCONT) }
            }
        case 6...9:
            count("connections cut")
            let direction = Proxy.Direction.allCases.randomElement(using: &random) ?? .answers
            let bytes = Int.random(in: 0..<1_500, using: &random)
            proxy.set { $0.cut = (direction, bytes) }
        case 10...12: hold(.answers, proxy)
        case 13...15: hold(.requests, proxy)
        case 16:
            count("connections slow")
            let delay = UInt32.random(in: 1_000..<60_000, using: &random)
            proxy.set { $0.delay = delay }
            later(0.1...1) { proxy.set { $0.delay = 0 } }
        case 17:
            count("node partitioned")
            proxy.set { $0.isClosed = true }
            proxy.cutAll()
            later(0.1...1.5) { proxy.set { $0.isClosed = false } }
        case 18:
            if isAlone { return }
            // For longer than the node looks for the outcome of an append that has arrived.
            count("node partitioned in an append")
            isAlone = true
            proxy.set { $0.heldByAppend = .answers }
            later(0.2...0.4) {
                proxy.set { $0.isClosed = true }
                proxy.cutAll()
                proxy.set { ($0.heldByAppend, $0.held) = (nil, []) }
            }
            later(6...7) { proxy.set { $0.isClosed = false } }
        case 19, 20:
            count("database killed")
            try server.kill()
            usleep(.random(in: 0..<300_000, using: &random))
            try server.start()
        default:
            count("database restarted")
            try server.stop("fast")
            try server.start()
        }
    }

    // MARK: A standby

    /// Lets the standby take over later.
    private func prepareTakeover() {
        guard let standby else { return }
        if standby.isLate {
            later(0.1...0.6) { try standby.server.stop("fast") }
        }
        later(0.8...2) { [unowned self] in
            count("standby promoted")
            try server.kill()
            if standby.isLate { try standby.server.start() }
            try standby.server.promote()
            server = standby.server
            for node in nodes { node.proxy.move(to: server.socket) }
        }
    }

    /// Holds bytes for longer or shorter than a node waits, and lets them arrive or cuts.
    private func hold(_ direction: Proxy.Direction, _ proxy: Proxy) {
        count("\(direction) held")
        let isOfAppend = Bool.random(using: &random)
        proxy.set {
            if isOfAppend { $0.heldByAppend = direction } else { $0.held.insert(direction) }
        }
        let cuts = direction == .answers && Bool.random(using: &random)
        later(0.05...2.5) {
            if cuts { proxy.cutAll() }
            proxy.set {
                $0.held.remove(direction)
                if isOfAppend { $0.heldByAppend = nil }
            }
        }
    }
}
