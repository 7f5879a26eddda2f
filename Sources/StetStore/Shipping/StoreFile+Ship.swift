import Glibc
import StetLMDB

/// The result of shipping a journal.
package struct StoreShipment: Hashable, Sendable {
    /// The last commit in the directory.
    package internal(set) var revision: Revision
    /// The number of commits that were shipped.
    package internal(set) var commitCount = 0
    /// The number of bytes of the new segments, and of the large values of their commits.
    package internal(set) var byteCount = 0
    /// The commit whose state a new base contains; nil when none was made.
    package internal(set) var base: Revision?
}

/// Receives the progress of shipping or restoring a journal.
package struct ShippingProgress {
    /// Called for each piece of a base that is copied.
    package var copied: (StoreCopy.Progress) -> Void = { _ in }
    /// Called after each segment with the number of commits that are done, and of all.
    package var finished: (_ doneCount: Int, _ count: Int) -> Void = { _, _ in }

    package init() {}
}

extension StoreFile {
    /// Writes the commits that a directory does not have to segments in it; the first call writes
    /// a base as well.
    ///
    /// Only commits that are on the disk are shipped. Each file is written under a temporary name,
    /// synced, and renamed when it is complete; the next call removes what an interrupted one has
    /// left, and continues after the last segment.
    ///
    /// - Parameters:
    ///   - directory: A directory that exists and is used for this store only.
    ///   - makesBase: Whether a new base is written although there is one.
    ///   - progress: Receives the progress.
    /// - Returns: The last commit in the directory, and what was written.
    /// - Throws: `StoreError`: `.wrongStore` when the directory has commits that this store does
    ///   not have, `.historyTrimmed` when commits were trimmed before they were shipped,
    ///   `.storeBusy`, `.damaged`, and errors of the file system. `CancellationError` when the task
    ///   is cancelled; finished segments stay.
    /// - Complexity: O(bytes of the new commits), and of the store for a base; memory is bounded by
    ///   a segment of 16 MiB and its last commit.
    package func ship(
        to directory: String, makesBase: Bool = false,
        progress: ShippingProgress = ShippingProgress()
    ) throws -> StoreShipment {
        try Shipper(file: self, directory: directory, progress: progress).ship(makesBase: makesBase)
    }
}

/// Writes the files of a directory that a journal is shipped to.
private struct Shipper {
    /// The end of what was shipped.
    private struct Position {
        var revision: Revision
        var hash: Digest

        init(revision: Revision, hash: Digest) {
            self.revision = revision
            self.hash = hash
        }

        /// Creates the end of a segment.
        init(_ segment: JournalSegment) {
            let last = segment.entries[segment.entries.count - 1].envelope
            self.init(revision: last.revision, hash: last.hash)
        }
    }

    let file: StoreFile
    let directory: String
    let progress: ShippingProgress

    func ship(makesBase: Bool) throws -> StoreShipment {
        try StoreError.wrapping(path: file.path) {
            let lock = try ShippingLock(directory)
            defer { lock.release() }
            let last = try file.head().revision
            try file.sync()
            return try ship(through: last, makesBase: makesBase)
        }
    }

    private func ship(through last: Revision, makesBase: Bool) throws -> StoreShipment {
        let known = try ShippedJournal(directory)
        let present = try end(of: known)
        var base: Revision?
        if makesBase || present == nil { base = try writeBase(in: known) }
        let shipped = try ShippedJournal(directory)
        let start = try start(from: present, in: shipped)
        try refuseTrimmed(start)
        var position = start
        var shipment = StoreShipment(revision: start.revision, base: base)
        while position.revision < last {
            try Task.checkCancellation()
            let begin = position.revision
            shipment.byteCount += try writeSegment(after: &position, through: last, in: shipped)
            shipment.commitCount += Int(position.revision.number - begin.number)
            progress.finished(
                shipment.commitCount, Int(last.number - start.revision.number))
        }
        shipment.revision = max(position.revision, shipped.bases.last ?? .zero)
        return shipment
    }

    // MARK: Where to continue

    /// Returns the end of the segments, or else the last base; nil in an empty directory.
    private func end(of shipped: ShippedJournal) throws -> Position? {
        if let range = shipped.segments.last {
            let segment = try shipped.segment(range)
            let path = shipped.path(ofSegment: range)
            guard segment.store == file.storeID else { throw Self.foreign(path) }
            return try checked(Position(segment), path)
        }
        return try shipped.bases.last.map { try end(ofBase: $0, in: shipped) }
    }

    private func end(
        ofBase revision: Revision, in shipped: ShippedJournal
    ) throws -> Position {
        let base = try shipped.base(revision)
        guard base.store == file.storeID else { throw Self.foreign(base.path) }
        return try checked(Position(revision: base.head.revision, hash: base.head.hash), base.path)
    }

    /// Refuses a position that the journal does not have; one that was trimmed cannot be compared.
    private func checked(_ position: Position, _ path: String) throws -> Position {
        if try file.read({ try $0.floor() }) > position.revision { return position }
        var head = Head()
        (head.revision, head.hash) = (position.revision, position.hash)
        guard try file.extends(head) else { throw Self.foreign(path) }
        return position
    }

    /// Returns the position to continue from: the end of the segments if the next commit is still
    /// in the journal, or is yet to be made, and the last base otherwise.
    private func start(from present: Position?, in shipped: ShippedJournal) throws -> Position {
        let floor = try file.read { try $0.floor() }
        if let present, present.revision >= floor { return present }
        guard let last = shipped.bases.last else {
            throw DecodingFailure("the directory has no base")
        }
        return try end(ofBase: last, in: shipped)
    }

    private func refuseTrimmed(_ position: Position) throws {
        let floor = try file.read { try $0.floor() }
        guard position.revision < floor else { return }
        throw StoreError(
            .historyTrimmed, path: directory,
            message: "Commits after \(position.revision) were trimmed before they were shipped to "
                + "\(directory): the journal begins after \(floor).",
            advice: "Ship with a new base, and ship more often than the journal is trimmed.")
    }

    private static func foreign(_ path: String) -> StoreError {
        StoreError(
            .wrongStore, path: path,
            message: "The shipped file \(path) has commits that the store does not have.",
            advice: "Ship each store to a directory of its own, and a restored one to a new one.")
    }

    // MARK: Writing

    private func writeBase(in shipped: ShippedJournal) throws -> Revision {
        let (draft, copy) = try StoreCopier(file: file).draft(for: "\(directory)/base") { done in
            try Task.checkCancellation()
            progress.copied(done)
        }
        defer { draft.remove() }
        let path = shipped.path(ofBase: copy.report.revision)
        do {
            try draft.publish(as: path)
        } catch {
            // The directory may have a base of this commit already.
            guard error.code == EEXIST else { throw error }
        }
        return copy.report.revision
    }

    /// Writes a segment with the next commits; returns its size.
    private func writeSegment(
        after position: inout Position, through last: Revision, in shipped: ShippedJournal
    ) throws -> Int {
        var valueByteCount = 0
        let segment = try segment(after: position, through: last, &valueByteCount)
        let bytes = segment.encoded()
        let draft = try Draft(of: "\(directory)/segment")
        defer { draft.remove() }
        try StoreCopier.writeFile(at: draft.path) { try $0(bytes.bytes) }
        try draft.publish(as: shipped.path(ofSegment: segment.range))
        position = Position(segment)
        return bytes.count + valueByteCount
    }

    /// Returns the next commits as a segment, after their large values were written.
    private func segment(
        after position: Position, through last: Revision, _ valueByteCount: inout Int
    ) throws -> JournalSegment {
        var entries: [JournalEntry] = []
        var byteCount = 0
        var end = position
        while end.revision < last, byteCount < JournalSegment.fullByteCount {
            let next = end.revision.next
            let commit = try file.read { try $0.commit(next) }
            try commit.checkDigest()
            guard commit.envelope.previousHash == end.hash else {
                throw DecodingFailure("revision \(next) does not follow the hash before it")
            }
            valueByteCount += try ShippedValues(directory: directory)
                .write(valuesOf: commit, from: file)
            entries.append(JournalEntry(envelope: commit.envelope, body: commit.body))
            byteCount += commit.body.count
            end = Position(revision: next, hash: commit.envelope.hash)
        }
        return JournalSegment(store: file.storeID, entries: entries)
    }
}

/// The right to write to a directory that a journal is shipped to, among all processes.
private struct ShippingLock {
    private let descriptor: Int32

    /// - Throws: `StoreError` (`.storeBusy`) when somebody else ships to it; `LMDBError`.
    init(_ directory: String) throws {
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: directory)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StoreError(
                .storeBusy, path: directory,
                message: "The journal is being shipped to \(directory) already.",
                advice: "Try again when that has ended.")
        }
    }

    func release() {
        // A process that is being spawned has a copy of the descriptor, so the lock is released
        // explicitly.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
