import Foundation
package import Stet
import StetLMDB

/// A shared journal in the memory of this process, with the failures of a real one.
package final class MemoryJournal: SharedJournal {
    /// The failure of an append.
    package enum Failure: Sendable {
        /// Nothing is appended, and the caller knows.
        case unavailable
        /// The entries are appended, and the caller does not get the answer.
        case lostAnswer
        /// Nothing is ever appended, and the caller does not know.
        case lostRequest
        /// The caller does not get an answer, and the entries arrive when `deliver()` is called.
        case late
    }

    /// The calls before which a test may do something.
    package enum Call: Sendable { case create, append, fence, entries }

    private struct State {
        var head: SharedJournalHead?
        var entries: [SharedJournalEntry] = []
        var first = Revision.zero
        var base = Data()
        var baseRevision = Revision.zero
        var isDown = false
        var failsToReplaceBase = false
        /// The call after which no call succeeds.
        var lastCall: Call?
        var failures: [Failure] = []
        /// An append on its way.
        var late: ((inout State) -> Bool)?
        var appendCount = 0
        var wakes: [UUID: @Sendable () -> Void] = [:]

        mutating func append(
            _ entries: [SharedJournalEntry], _ earlier: [SharedJournalEntry],
            _ after: SharedJournalHead
        ) -> Bool {
            guard head == after, let last = entries.last else { return false }
            for entry in earlier {
                let index = self.entries.firstIndex {
                    ($0.revision, $0.hash) == (entry.revision, entry.hash)
                }
                if let index { self.entries[index] = entry }
            }
            self.entries += entries
            head?.revision = last.revision
            head?.hash = last.hash
            appendCount += 1
            return true
        }

        mutating func checkConnection(_ call: Call? = nil) throws {
            if isDown { throw SharedJournalError(.unavailable, "it is down") }
            if let call, call == lastCall { (isDown, lastCall) = (true, nil) }
        }
    }

    private let state = Monitor(State())
    /// Called once, before the next call of a kind.
    private let beforeNext = Monitor<[Call: @Sendable () -> Void]>([:])

    package let isSilent: Bool

    /// Creates a journal; one that is silent gives no hints.
    package init(isSilent: Bool = false) { self.isSilent = isSilent }

    package var name: String { "memory" }

    // MARK: For tests

    /// Whether no call succeeds.
    package var isDown: Bool {
        get { state.withLock(\.isDown) }
        set { state.withLock { $0.isDown = newValue } }
    }

    /// Lets no call succeed after the present or next call of a kind.
    package func goDown(after call: Call) { state.withLock { $0.lastCall = call } }

    /// Lets the next appends fail, one each.
    package func failNext(_ failures: Failure...) { state.withLock { $0.failures += failures } }

    /// Lets the late append arrive; returns whether it succeeded.
    package func deliver() -> Bool {
        state.withLock { state in
            guard let late = state.late else { return false }
            state.late = nil
            return late(&state)
        }
    }

    /// Calls `body` once, before the next call of a kind.
    package func beforeNext(_ call: Call, _ body: @escaping @Sendable () -> Void) {
        beforeNext.withLock { $0[call] = body }
    }

    private func begin(_ call: Call) { beforeNext.withLock { $0.removeValue(forKey: call) }?() }

    /// The number of appends that succeeded.
    package var appendCount: Int { state.withLock(\.appendCount) }
    /// The entries, in order.
    package var entries: [SharedJournalEntry] { state.withLock(\.entries) }

    /// Loses the last entries, as a database does that was restored from a backup.
    package func lose(_ count: Int) {
        state.withLock { state in
            state.entries.removeLast(count)
            state.head?.revision = state.entries.last?.revision ?? state.first
            state.head?.hash = state.entries.last?.hash ?? [UInt8](repeating: 0, count: 32)
        }
    }

    // MARK: A shared journal

    package func head() throws -> SharedJournalHead? {
        try state.withLock { state in
            try state.checkConnection()
            return state.head
        }
    }

    package func create(at head: SharedJournalHead, base path: String) throws -> Bool {
        let base = try Data(contentsOf: URL(fileURLWithPath: path))
        begin(.create)
        return try state.withLock { state in
            try state.checkConnection(.create)
            guard state.head == nil else { return false }
            state.head = head
            state.first = head.revision
            (state.base, state.baseRevision) = (base, head.revision)
            return true
        }
    }

    package func append(
        _ entries: [SharedJournalEntry], replacing earlier: [SharedJournalEntry],
        after head: SharedJournalHead
    ) throws -> Bool {
        begin(.append)
        let (isAppended, wakes) = try state.withLock { state in
            try state.checkConnection(.append)
            let lost = SharedJournalError(.outcomeUnknown, "the connection was lost")
            switch state.failures.isEmpty ? nil : state.failures.removeFirst() {
            case nil: return (state.append(entries, earlier, head), Array(state.wakes.values))
            case .unavailable: throw SharedJournalError(.unavailable, "it refuses")
            case .lostAnswer:
                _ = state.append(entries, earlier, head)
                throw lost
            case .lostRequest: throw lost
            case .late:
                state.late = { $0.append(entries, earlier, head) }
                throw lost
            }
        }
        if isAppended { for wake in wakes { wake() } }
        return isAppended
    }

    package func fence() throws -> SharedJournalHead? {
        begin(.fence)
        return try state.withLock { state in
            try state.checkConnection(.fence)
            state.head?.fence += 1
            return state.head
        }
    }

    package func entries(
        after revision: Revision, byteLimit: Int
    ) throws -> [SharedJournalEntry] {
        begin(.entries)
        return try state.withLock { state in
            try state.checkConnection(.entries)
            var byteCount = 0
            return Array(
                state.entries.drop { $0.revision <= revision }.prefix { entry in
                    defer { byteCount += entry.bytes.count }
                    return byteCount < byteLimit
                })
        }
    }

    package func replaceBase(
        by path: String, at head: SharedJournalHead, removingEntriesThrough last: Revision
    ) throws {
        let base = try Data(contentsOf: URL(fileURLWithPath: path))
        try state.withLock { state in
            try state.checkConnection()
            if state.failsToReplaceBase {
                throw SharedJournalError(.unavailable, "its role may not do this")
            }
            guard let present = state.head, present.store == head.store else {
                throw SharedJournalError(.unavailable, "it was removed")
            }
            if head.revision > state.baseRevision {
                (state.base, state.baseRevision) = (base, head.revision)
            }
            state.entries.removeAll { $0.revision <= last }
        }
    }

    /// Whether the copy of the store's file can't be replaced.
    package var failsToReplaceBase: Bool {
        get { state.withLock(\.failsToReplaceBase) }
        set { state.withLock { $0.failsToReplaceBase = newValue } }
    }

    /// The revision of the copy of the store's file.
    package var baseRevision: Revision { state.withLock(\.baseRevision) }

    /// Returns whether the copy of the store's file or an entry contains a text.
    package func contains(_ text: String) -> Bool {
        let text = Data(text.utf8)
        return state.withLock { state in
            state.base.range(of: text) != nil
                || state.entries.contains { Data($0.bytes).range(of: text) != nil }
        }
    }

    package func readBase(
        _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        let base: Data? = try state.withLock { state in
            try state.checkConnection()
            return state.head == nil ? nil : state.base
        }
        guard let base else { return false }
        try base.withUnsafeBytes(receive)
        return true
    }

    package func remove(at head: SharedJournalHead) throws -> Bool {
        try state.withLock { state in
            try state.checkConnection()
            guard state.head == head else { return false }
            state.head = nil
            state.entries = []
            return true
        }
    }

    package func listen(_ wake: @escaping @Sendable () -> Void) -> AnyObject? {
        if isSilent { return nil }
        let id = UUID()
        state.withLock { $0.wakes[id] = wake }
        return Listening { [weak self] in self?.state.withLock { $0.wakes[id] = nil } }
    }

    private final class Listening {
        let end: () -> Void
        init(_ end: @escaping () -> Void) { self.end = end }
        deinit { end() }
    }
}
