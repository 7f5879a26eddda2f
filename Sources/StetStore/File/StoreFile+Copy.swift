import Glibc
import StetLMDB

/// The result of copying a store while others use it.
package struct StoreCopy: Hashable, Sendable {
    /// The report of the copy's own verification, which found nothing wrong.
    package let report: VerificationReport
    /// The number of bytes of its file.
    package let byteCount: Int

    /// The progress of a copy.
    package struct Progress: Hashable, Sendable {
        /// The number of bytes that were written.
        package let byteCount: Int
        /// The approximate total, because others may be writing to the store.
        package let expectedByteCount: Int
    }
}

extension StoreFile {
    /// Copies the state of the last commit to a new file at `path`.
    ///
    /// The copy has the store's id, schema and whole journal, and only data in use: each entry of
    /// each table is written anew into an empty file. It has no free pages, and no bytes of
    /// anything that was trimmed, redacted, deleted and trimmed, or removed by a migration, nor of
    /// the authors of trimmed commits.
    ///
    /// It is written under another name (`PATH.new-ID`; the next copy to the same path removes what
    /// a killed process leaves), synced, verified, and only then renamed, so that a partial copy
    /// never exists. Its place is not checked before the copy is opened.
    ///
    /// A read is open while the entries are copied, not while the copy is verified.
    ///
    /// - Parameters:
    ///   - path: The path of the copy.
    ///   - progress: A closure that is called after each piece that was written, and with the last
    ///     count for each commit that is verified; an error that it throws ends the copy.
    /// - Returns: The verification report of the copy, and its size.
    /// - Throws: `StoreError`: `.alreadyExists`, `.damaged` when the copy does not verify, and
    ///   errors of the file system.
    /// - Complexity: O(bytes in use), which are on the disk twice for a while; memory is bounded
    ///   except for the verification.
    package func copy(
        to path: String, progress: (StoreCopy.Progress) throws -> Void = { _ in }
    ) throws -> StoreCopy {
        try StoreError.wrapping(path: self.path) {
            try StoreCopier.refuseUsed(path)
            let (draft, copy) = try StoreCopier(file: self).draft(for: path, progress)
            defer { draft.remove() }
            try StoreCopier.publish(draft)
            return copy
        }
    }
}

/// Writes copies of a store under temporary names.
struct StoreCopier {
    let file: StoreFile

    /// Makes a verified copy, as `copy(to:)` does, that still has a temporary name.
    func draft(
        for path: String, _ progress: (StoreCopy.Progress) throws -> Void
    ) throws -> (draft: Draft, copy: StoreCopy) {
        let draft = try Self.naming(path) { try Draft(of: path) }
        do {
            let begin = try begin()
            let copy = try withRewritten(path, { try progress(begin) }) {
                try StoreCopier(file: $0).fill(draft, of: file, progress)
            }
            return (draft, copy)
        } catch {
            draft.remove()
            throw error
        }
    }

    /// Writes and verifies a copy that has a temporary name; errors name the original.
    func fill(
        _ draft: Draft, of original: StoreFile, _ progress: (StoreCopy.Progress) throws -> Void
    ) throws -> StoreCopy {
        let byteCount = try Self.naming(draft.target) {
            try write(to: draft.path, progress)
        }
        let end = StoreCopy.Progress(byteCount: byteCount, expectedByteCount: byteCount)
        let report = try Self.verify(copy: draft.path, of: original) { try progress(end) }
        return StoreCopy(report: report, byteCount: byteCount)
    }

    /// Runs `body`, changing errors of the file system that concern the copy to name the caller's
    /// path.
    static func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as LMDBError where error.operation == .openEnvironment {
            throw StoreError(LMDBError(.create, code: error.code, path: path))
        }
    }

    /// Gives a draft the caller's name, unless there is a file of that name.
    static func publish(_ draft: Draft) throws {
        try naming(draft.target) {
            do {
                try draft.publish()
            } catch let error as LMDBError where error.code == EEXIST {
                throw alreadyExists(draft.target)
            }
        }
    }

    static func alreadyExists(_ path: String) -> StoreError {
        StoreError(
            .alreadyExists, path: path, message: "There is a file \(path) already.",
            advice: "Choose a name that does not exist yet. Nothing was changed.")
    }

    /// Refuses the path of an existing file or lock file: a lock file would be shared with the
    /// users of the file that it belonged to.
    static func refuseUsed(_ path: String) throws {
        try StorePlace.checkName(path)
        var status = stat()
        if lstat(path, &status) == 0 { throw alreadyExists(path) }
        let lock = "\(path)-lock"
        guard lstat(lock, &status) != 0 else {
            throw StoreError(
                .alreadyExists, path: path,
                message: "There is the lock file \(lock) of another store already.",
                advice: "Remove it when no process has that store open, or give another name.")
        }
        try StoreCreation.refuseLog(of: path)
    }

    /// Returns the progress of a copy that has not begun.
    func begin() throws -> StoreCopy.Progress {
        let statistics = try file.environment.statistics()
        let usedPageCount =
            statistics.usedPageCount - (try file.environment.pageCount(heldBackBy: 0))
        return StoreCopy.Progress(
            byteCount: 0, expectedByteCount: usedPageCount * statistics.pageByteCount)
    }

    private func write(
        to path: String, _ progress: (StoreCopy.Progress) throws -> Void
    ) throws -> Int {
        let expected = try begin().expectedByteCount
        var byteCount = 0
        try Self.writeFile(at: path) { write in
            try file.environment.copy { bytes in
                try write(bytes)
                byteCount += bytes.count
                try progress(
                    StoreCopy.Progress(
                        byteCount: byteCount, expectedByteCount: max(expected, byteCount)))
            }
        }
        return byteCount
    }

    /// Calls `body` with a function that appends bytes to an empty file, and syncs the file.
    static func writeFile(
        at path: String, _ body: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        defer { Glibc.close(descriptor) }
        try body { try write($0, to: descriptor, path) }
        guard fsync(descriptor) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String
    ) throws(LMDBError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, part.baseAddress, part.count)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw LMDBError(.openEnvironment, code: errno, path: path)
            }
        }
    }

    private static func verify(
        copy path: String, of original: StoreFile, _ check: () throws -> Void
    ) throws -> VerificationReport {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        configuration.inspectsPages = true
        let report: VerificationReport
        do {
            let copy = try StoreFile.open(at: path, configuration)
            defer { copy.close() }
            report = try copy.verify(check)
        } catch let error as StoreError where error.code == .damaged {
            throw StoreError(
                .damaged, path: original.path, message: error.message, advice: error.advice)
        }
        if let problem = report.problems.first {
            throw StoreError.damaged(
                "its copy does not verify: \(problem)", path: original.path)
        }
        return report
    }
}
