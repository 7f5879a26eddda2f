import Stet
import StetTestSupport
import Testing

@Model private final class Entry {
    @Attribute(.trimmed, .lowercased) var path: String
    var site: Int
    @Attribute(.length(...20)) var text: String = ""
    #Unique<Entry>(\.site, \.path)

    init(site: Int, path: String) {
        self.site = site
        self.path = path
    }
}

@Model private final class Ticket {
    @Attribute(.unique) var name: String
    @Attribute(.unique) var number: Int
    var note: String = ""

    init(name: String, number: Int) {
        self.name = name
        self.number = number
    }
}

/// Insertion of streams, some of whose elements exist already.
@Suite struct InsertStreamTests {
    private let store: Store

    init() throws {
        store = try Store.inMemory(for: Entry.self)
        try store.edit { context in
            let entry = Entry(site: 1, path: "a")
            entry.text = "first"
            context.insert(entry)
        }
    }

    private func stream(_ lines: [String]) -> AsyncStream<String> {
        AsyncStream { continuation in
            for line in lines { continuation.yield(line) }
            continuation.finish()
        }
    }

    private var texts: [String] {
        get throws {
            try store.fetch(Entry.self).sorted(by: \.path).all().map { "\($0.path) \($0.text)" }
        }
    }

    @Test("Service 4 by default the first object with a value that another has ends the insertion")
    func fail() async throws {
        let error = await #expect(throws: InsertStreamError.self) {
            try await store.insert(stream: stream(["b", "A "]), batch: 1) {
                Entry(site: 1, path: $0)
            }
        }
        #expect(error?.insertedCount == 1)
        #expect(error?.cause is ValidationError)
        #expect(try texts == ["a first", "b "])
    }

    @Test(
        "Service 4 skip leaves the existing object, and of two new ones inserts the first",
        arguments: [1, 2, 10])
    func skip(batch: Int) async throws {
        let lines = ["b 1", "A 2", "c 3", "B 4", "d 5"]
        let count = try await store.insert(
            stream: stream(lines), batch: batch, onConflict: .skip
        ) { line in
            let entry = Entry(site: 1, path: String(line.prefix(1)))
            entry.text = String(line.suffix(1))
            return entry
        }
        #expect(count == 3)
        #expect(try texts == ["a first", "b 1", "c 3", "d 5"])
        #expect(try store.verify().problems.isEmpty)
    }

    @Test(
        "Service 4 update takes over what the closure takes, also within a batch",
        arguments: [1, 2, 10])
    func update(batch: Int) async throws {
        let lines = ["b 1", " A 2", "b 3", "c 4"]
        let count = try await store.insert(
            stream: stream(lines), batch: batch,
            onConflict: .update { existing, new in existing.text += new.text }
        ) { line in
            let entry = Entry(site: 1, path: String(line.dropLast(2)))
            entry.text = String(line.suffix(1))
            return entry
        }
        #expect(count == 2)
        #expect(try texts == ["a first2", "b 13", "c 4"])
    }

    @Test("Service 4 other violations end the insertion, whatever the policy is")
    func otherViolations() async throws {
        await #expect(throws: InsertStreamError.self) {
            try await store.insert(stream: stream(["a", "b"]), onConflict: .skip) { path in
                let entry = Entry(site: 1, path: path)
                entry.text = String(repeating: "x", count: 21)
                return entry
            }
        }
        #expect(try texts == ["a first"])
    }

    // MARK: Two unique values

    /// Inserts tickets, written as name and number, into a store that has "a1" and "z9"; returns
    /// all tickets with their notes.
    private func tickets(
        _ lines: [String], batch: Int, onConflict policy: UniquenessPolicy<Ticket>
    ) async throws -> [String] {
        let store = try Store.inMemory(for: Ticket.self)
        try await store.edit { context in
            context.insert(Ticket(name: "a", number: 1))
            context.insert(Ticket(name: "z", number: 9))
        }
        try await store.insert(stream: stream(lines), batch: batch, onConflict: policy) { line in
            Ticket(name: String(line.prefix(1)), number: Int(line.suffix(1)) ?? 0)
        }
        #expect(try store.verify().problems.isEmpty)
        return try store.fetch(Ticket.self).sorted(by: \.name).all()
            .map { "\($0.name)\($0.number)\($0.note)" }
    }

    @Test(
        "Service 4 an object gives way to those that are inserted, not to one that is not",
        arguments: [1, 2, 10])
    func twoUniqueValues(batch: Int) async throws {
        // "a2" gives way to "a1", so that "b2" can stay, and "b3" gives way to that; "e9" gives
        // way to "z9", so that "e5" can stay.
        let lines = ["a2", "b2", "b3", "c3", "d9", "e9", "e5"]
        let skipped = try await tickets(lines, batch: batch, onConflict: .skip)
        #expect(skipped == ["a1", "b2", "c3", "e5", "z9"])
        let updated = try await tickets(
            lines, batch: batch,
            onConflict: .update { existing, new in
                existing.note += " \(new.name)\(new.number)"
            })
        #expect(updated == ["a1 a2", "b2 b3", "c3", "e5", "z9 d9 e9"])
    }

    @Test(
        "Service 4 an object that conflicts with two others gives way to the first of them",
        arguments: [1, 2, 10])
    func twoOthers(batch: Int) async throws {
        let noting = UniquenessPolicy<Ticket>.update { existing, new in
            existing.note += " \(new.name)\(new.number)"
        }
        #expect(try await tickets(["a9"], batch: batch, onConflict: noting) == ["a1 a9", "z9"])
        let updated = try await tickets(["b2", "a2"], batch: batch, onConflict: noting)
        #expect(updated == ["a1 a2", "b2", "z9"])
    }

    @Test(
        "Service 4 an object that is in the way of a later one may have to give way itself",
        arguments: [1, 2, 10])
    func chain(batch: Int) async throws {
        // "c9" gives way to "z9", "c3" to "c2", and "d3" to nothing.
        let skipped = try await tickets(
            ["c9", "c2", "c3", "d3"], batch: batch, onConflict: .skip)
        #expect(skipped == ["a1", "c2", "d3", "z9"])
    }

    @Test(
        "Service 4 a closure may change the unique values of the existing object, or delete it",
        arguments: [1, 2, 10])
    func changedWinner(batch: Int) async throws {
        let renumbered = try await tickets(
            ["a2", "c1"], batch: batch,
            onConflict: .update { existing, new in existing.number = new.number })
        #expect(renumbered == ["a2", "c1", "z9"])
        let replaced = try await tickets(
            ["a2", "c1", "a3"], batch: batch,
            onConflict: .update { existing, _ in existing.context?.delete(existing) })
        #expect(replaced == ["a3", "c1", "z9"])
    }

    @Test("Service 4 a conflict that is resolved is no refused save")
    func refusals() async throws {
        let store = try Store.inMemory(for: Ticket.self)
        try await store.edit { $0.insert(Ticket(name: "a", number: 1)) }
        var refusals = store.refusals.makeAsyncIterator()
        func insert(_ lines: [String], _ policy: UniquenessPolicy<Ticket>) async throws -> Int {
            try await store.insert(stream: stream(lines), lines[0], onConflict: policy) { line in
                Ticket(name: String(line.prefix(1)), number: Int(line.suffix(1)) ?? 0)
            }
        }
        #expect(try await insert(["a2", "b3"], .skip) == 1)
        await #expect(throws: InsertStreamError.self) { _ = try await insert(["a4"], .fail) }
        #expect(await refusals.next()?.label == "a4")
    }
}
