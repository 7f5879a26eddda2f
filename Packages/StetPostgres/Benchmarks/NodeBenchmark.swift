import Foundation
import Stet
import StetMachines
import StetPostgres

@Model final class Item {
    @Attribute(.unique) var name: String
    @Attribute(.counter) var stock: Int = 0
    init(name: String) { self.name = name }
}

/// The workloads, and what they print.
struct NodeBenchmark {
    private static let itemCount = 1_000
    private static let clientCount = 8
    private static let storeCount = 100
    private static let catchUpCount = 20_000

    private let server: PostgresServer
    private let seconds: Int
    private let rounds: Int
    private let directory: URL

    init(_ server: PostgresServer, seconds: Int, rounds: Int) throws {
        self.server = server
        self.seconds = seconds
        self.rounds = max(rounds, 1)
        directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try PlainService(server.connection).makeTables(itemCount: Self.itemCount)
    }

    func remove() { try? FileManager.default.removeItem(at: directory) }

    func run() throws {
        try commits()
        try reads()
        try catchUp()
        try manyStores()
    }

    // MARK: Commits

    private func commits() throws {
        let nodes = try Dictionary(
            uniqueKeysWithValues: [1, 2, 4].map { ($0, try self.nodes($0)) })
        var programs: [(name: String, body: () throws -> Double)] = [
            ("raw statement, 1 entry", { try raw(entryCount: 1) }),
            ("raw statement, 8 entries", { try raw(entryCount: 8) }),
        ]
        for count in [1, 2, 4] {
            let clients = count * Self.clientCount
            programs.append(("plain SQL, \(clients) clients", { try plain(clients) }))
            programs.append(
                (
                    "\(count) node\(count == 1 ? "" : "s"), \(clients) clients",
                    { try save(nodes[count] ?? [], clients: clients) }
                ))
        }
        try compare("commits a second", programs)
    }

    private func plain(_ clients: Int) throws -> Double {
        try Load.rate(clients: clients, seconds: seconds) { client in
            nonisolated(unsafe) let service = try PlainService(server.connection)
            return { _ in
                try service.raise(.random(in: 1...Self.itemCount))
                return 1
            }
        }
    }

    /// Appends entries as long as those of the saves, by the statement that nodes use.
    private func raw(entryCount: Int) throws -> Double {
        let name = UUID().uuidString
        try Store.open(at: path(name), for: Item.self, journal: journal(name)).close()
        let journal = journal(name)
        guard let start = try journal.head() else { return 0 }
        nonisolated(unsafe) var head = start
        return try Load.rate(clients: 1, seconds: seconds) { _ in
            { _ in
                let entries = (1...entryCount).map { number in
                    let revision = Revision(head.revision.number + UInt64(number))
                    return SharedJournalEntry(
                        revision: revision, hash: (0..<32).map { _ in .random(in: 0...255) },
                        bytes: [UInt8](repeating: 7, count: 250))
                }
                guard try journal.append(entries, replacing: [], after: head),
                    let last = entries.last
                else { throw SharedJournalError(.unavailable, "the raw statement was refused") }
                (head.revision, head.hash) = (last.revision, last.hash)
                return entryCount
            }
        }
    }

    private func save(_ nodes: [Store], clients: Int) throws -> Double {
        try Load.rate(clients: clients, seconds: seconds) { client in
            let store = nodes[client % nodes.count]
            let ids = try store.fetch(Item.self).ids()
            return { _ in
                try store.edit(author: "lala") { context in
                    try context.object(Item.self, id: ids.randomElement() ?? ids[0])?.stock += 1
                }
                return 1
            }
        }
    }

    // MARK: Reads

    private func reads() throws {
        let local = try Store.open(at: path("local"), for: Item.self)
        try fill(local)
        let nodes = try self.nodes(2)
        func read(_ store: Store) throws -> Double {
            let ids = try store.fetch(Item.self).ids()
            return try Load.rate(clients: 1, seconds: seconds) { _ in
                { number in
                    for offset in 0..<100 {
                        _ = try store.object(Item.self, id: ids[(number + offset * 7) % ids.count])
                    }
                    return 100
                }
            }
        }
        try compare(
            "reads of an object a second",
            [
                ("a store alone", { try read(local) }), ("a node", { try read(nodes[0]) }),
            ])
    }

    // MARK: Catching up

    private func catchUp() throws {
        let name = UUID().uuidString
        let store = try Store.open(at: path("\(name) 0"), for: Item.self, journal: journal(name))
        try fill(store)
        let ids = try store.fetch(Item.self).ids()
        DispatchQueue.concurrentPerform(iterations: 100) { client in
            for number in 0..<Self.catchUpCount / 100 {
                try? store.edit(author: "lala") { context in
                    try context.object(Item.self, id: ids[(client + number) % ids.count])?.stock +=
                        1
                }
            }
        }
        let count = Double(try store.revision().number)
        var number = 0
        try compare(
            "entries a second that a new node applies",
            [
                (
                    "a new node",
                    {
                        number += 1
                        let start = ContinuousClock.now
                        let node = try Store.open(
                            at: path("\(name) \(number)"), for: Item.self, journal: journal(name))
                        let elapsed = (ContinuousClock.now - start) / .seconds(1)
                        node.close()
                        return count / elapsed
                    }
                )
            ])
    }

    // MARK: Many stores

    private func manyStores() throws {
        let database = PostgresDatabase(server.connection)
        let stores = try (0..<Self.storeCount).map { number in
            let name = UUID().uuidString
            var configuration = Store.Configuration()
            configuration.durability = .relaxed(within: .seconds(1))
            let store = try Store.open(
                at: path(name), for: Item.self, journal: database.journal(of: name),
                configuration: configuration)
            let context = store.context()
            context.insert(Item(name: "item"))
            try context.save()
            return store
        }
        let one = try nodes(1)
        func saveAnywhere() throws -> Double {
            try Load.rate(clients: 2 * Self.clientCount, seconds: seconds) { _ in
                { _ in
                    try stores[.random(in: 0..<stores.count)].edit(author: "lala") { context in
                        try context.fetch(Item.self).first()?.stock += 1
                    }
                    return 1
                }
            }
        }
        try compare(
            "commits a second, \(Self.storeCount) stores",
            [
                ("one store, 16 clients", { try save(one, clients: 2 * Self.clientCount) }),
                ("\(Self.storeCount) stores, 16 clients", saveAnywhere),
            ])
        func transactions() throws -> Int {
            try server.sql("SELECT pg_stat_clear_snapshot()")
            return Int(
                try server.sql(
                    "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'")) ?? 0
        }
        // A session that is idle reports what it has done after 10 seconds.
        Thread.sleep(forTimeInterval: 15)
        let before = try transactions()
        Thread.sleep(forTimeInterval: 10)
        let idle = withExtendedLifetime(stores) { (try? transactions()).map { ($0 - before) / 10 } }
        print("\(Self.storeCount) idle stores: \(idle ?? 0) statements a second")
    }

    // MARK: Stores

    private func path(_ name: String) -> String { directory.appending(path: name).path }

    private func journal(_ name: String) -> PostgresJournal {
        .postgres(server.connection, store: name)
    }

    private func nodes(_ count: Int) throws -> [Store] {
        let name = UUID().uuidString
        var configuration = Store.Configuration()
        configuration.durability = .relaxed(within: .seconds(1))
        let nodes = try (0..<count).map { number in
            try Store.open(
                at: path("\(name) \(number)"), for: Item.self, journal: journal(name),
                configuration: configuration)
        }
        if let first = nodes.first { try fill(first) }
        for node in nodes { while try node.revision() == 0 { sched_yield() } }
        return nodes
    }

    private func fill(_ store: Store) throws {
        let context = store.context(author: "lala")
        for number in 0..<Self.itemCount { context.insert(Item(name: "item \(number)")) }
        try context.save()
    }

    // MARK: Output

    /// Runs programs in turn, and prints the median of each, beside that of the first.
    private func compare(
        _ what: String, _ programs: [(name: String, body: () throws -> Double)]
    ) throws {
        var results = programs.map { _ in [Double]() }
        for _ in 0..<rounds {
            for (index, program) in programs.enumerated() {
                results[index].append(try program.body())
            }
        }
        print("\(what):")
        let medians = results.map { $0.sorted()[$0.count / 2] }
        for (program, median) in zip(programs, medians) {
            let name = program.name.padding(toLength: 28, withPad: " ", startingAt: 0)
            let rate = String(format: "%10.0f", median)
            print("  \(name)\(rate)  \(String(format: "%.2f", median / medians[0]))")
        }
    }
}
