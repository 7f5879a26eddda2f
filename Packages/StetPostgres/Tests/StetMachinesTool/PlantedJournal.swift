import Foundation
import Stet
import StetMachines

/// A bug that a run of the campaign plants, to show that it would be found.
enum Plant: String, Codable, CaseIterable, Sendable {
    case appendsWithoutComparing
    case acknowledgesBeforeTheCommit
    case takesNotificationsForData
}

/// A shared journal with a bug.
final class PlantedJournal: SharedJournal {
    private let journal: any SharedJournal
    private let plant: Plant
    private let server: String
    private let store: String
    private let hints: String

    init(
        _ journal: any SharedJournal, _ plant: Plant, server: String, store: String, hints: String
    ) {
        (self.journal, self.plant, self.server) = (journal, plant, server)
        (self.store, self.hints) = (store, hints)
    }

    var name: String { journal.name }

    func append(
        _ entries: [SharedJournalEntry], replacing earlier: [SharedJournalEntry],
        after head: SharedJournalHead
    ) throws -> Bool {
        switch plant {
        case .appendsWithoutComparing:
            for entry in entries { try overwrite(entry) }
            return true
        case .acknowledgesBeforeTheCommit:
            let journal = journal
            Thread.detachNewThread {
                _ = try? journal.append(entries, replacing: earlier, after: head)
            }
            return true
        case .takesNotificationsForData:
            for entry in entries { try notify(entry) }
            return try journal.append(entries, replacing: earlier, after: head)
        }
    }

    /// Writes an entry at its revision, whatever is there.
    private func overwrite(_ entry: SharedJournalEntry) throws {
        let (hash, bytes) = (hexadecimal(entry.hash), hexadecimal(entry.bytes))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/psql")
        process.arguments = [
            "-h", server, "-U", "stet", "-d", "postgres", "-qc",
            """
            WITH head AS (UPDATE stet_head SET revision = \(entry.revision), hash = '\(hash)'
                WHERE store = '\(store)')
            INSERT INTO stet_entry
            VALUES ('\(store)', \(entry.revision), '\(hash)', '\(bytes)')
            ON CONFLICT (store, revision) DO UPDATE SET hash = excluded.hash, bytes = excluded.bytes
            """,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw SharedJournalError(.unavailable, "it refuses")
        }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        "\\x"
            + bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
    }

    // MARK: Notifications

    private func notification(_ revision: Revision) -> URL {
        URL(fileURLWithPath: "\(hints)/\(revision)")
    }

    /// Sends an entry to all nodes.
    private func notify(_ entry: SharedJournalEntry) throws {
        try Data(entry.hash + entry.bytes).write(to: notification(entry.revision), options: .atomic)
    }

    private func notified(after revision: Revision) -> SharedJournalEntry? {
        let next = Revision(revision.number + 1)
        guard let data = try? Data(contentsOf: notification(next)) else { return nil }
        return SharedJournalEntry(
            revision: next, hash: Array(data.prefix(32)), bytes: Array(data.dropFirst(32)))
    }

    func entries(after revision: Revision, byteLimit: Int) throws -> [SharedJournalEntry] {
        if plant == .takesNotificationsForData, let entry = notified(after: revision) {
            return [entry]
        }
        return try journal.entries(after: revision, byteLimit: byteLimit)
    }

    func head() throws -> SharedJournalHead? {
        guard var head = try journal.head() else { return nil }
        if plant == .takesNotificationsForData, let entry = notified(after: head.revision) {
            (head.revision, head.hash) = (entry.revision, entry.hash)
        }
        return head
    }

    // MARK: The rest

    func create(at head: SharedJournalHead, base path: String) throws -> Bool {
        try journal.create(at: head, base: path)
    }

    func fence() throws -> SharedJournalHead? { try journal.fence() }

    func readBase(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        try journal.readBase(receive)
    }

    func replaceBase(
        by path: String, at head: SharedJournalHead, removingEntriesThrough last: Revision
    ) throws {
        try journal.replaceBase(by: path, at: head, removingEntriesThrough: last)
    }

    func remove(at head: SharedJournalHead) throws -> Bool { try journal.remove(at: head) }

    func listen(_ wake: @escaping @Sendable () -> Void) -> AnyObject? { journal.listen(wake) }
}
