import Glibc
import StetLMDB

/// A copy of a store, made while others use it.
package struct StoreCopy: Hashable, Sendable {
    /// What the copy's own verification found; nothing wrong.
    package let report: VerificationReport
    /// Bytes of its file.
    package let byteCount: Int

    /// How far a copy is.
    package struct Progress: Hashable, Sendable {
        /// Bytes that are written.
        package let byteCount: Int
        /// About how many there will be: others may be writing to the store.
        package let expectedByteCount: Int
    }
}

extension StoreFile {
    /// Makes a copy of the last commit's state at `path`, in a file that is not there yet.
    ///
    /// The copy has the store's id, schema and whole journal, and nothing but what is in use: each
    /// entry of each table is written anew into an empty file. It has no free pages, and nothing of
    /// what was trimmed, redacted, deleted and trimmed, or removed by a migration, nor the authors
    /// of trimmed commits.
    ///
    /// It is written under another name (`PATH.new-ID`; what a process that is killed here leaves
    /// is removed by the next copy to the same path), synced, verified, and only then given its
    /// own, so that there never is half a copy. Its place is not judged: who opens it there does.
    ///
    /// A read is open while the entries are copied, not while the copy is verified.
    ///
    /// - Parameters:
    ///   - path: The path of the copy.
    ///   - progress: A closure that is called after each piece that was written.
    /// - Returns: What the verification of the copy found, and its size.
    /// - Throws: `StoreError`: `.alreadyExists`, `.damaged` when the copy does not verify, and
    ///   those of the file system.
    /// - Complexity: O(bytes in use), twice on the disk for a while, in bounded memory but for the
    ///   verification.
    package func copy(
        to path: String, progress: (StoreCopy.Progress) -> Void = { _ in }
    ) throws -> StoreCopy {
        try StoreError.wrapping(path: self.path) {
            try StoreCopier.refuseUsed(path)
            let draft = try StoreCopier.naming(path) { try Draft(of: path) }
            defer { draft.remove() }
            let copy = try StoreCopier(file: self).withRewritten(path) {
                try StoreCopier(file: $0).fill(draft, of: self, progress)
            }
            try StoreCopier.naming(path) {
                do {
                    try draft.publish()
                } catch let error as LMDBError where error.code == EEXIST {
                    throw StoreCopier.alreadyExists(path)
                }
            }
            return copy
        }
    }
}

/// Writes copies of a store, under names that are not theirs yet.
struct StoreCopier {
    let file: StoreFile

    /// Writes and verifies a copy that has no name of its own yet; errors name the original.
    func fill(
        _ draft: Draft, of original: StoreFile, _ progress: (StoreCopy.Progress) -> Void
    ) throws -> StoreCopy {
        let byteCount = try Self.naming(draft.target) {
            try write(to: draft.path, progress)
        }
        progress(StoreCopy.Progress(byteCount: byteCount, expectedByteCount: byteCount))
        return StoreCopy(
            report: try Self.verify(copy: draft.path, of: original), byteCount: byteCount)
    }

    /// Errors of the file system that concern the copy name it as the caller did.
    static func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as LMDBError where error.operation == .openEnvironment {
            throw StoreError(LMDBError(.create, code: error.code, path: path))
        }
    }

    static func alreadyExists(_ path: String) -> StoreError {
        StoreError(
            .alreadyExists, path: path, message: "There is a file \(path) already.",
            advice: "Give a name that is not taken; nothing was changed.")
    }

    /// A lock file that is there would be shared with whoever uses the file that it belonged to.
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
    }

    private func write(
        to path: String, _ progress: (StoreCopy.Progress) -> Void
    ) throws -> Int {
        let statistics = try file.environment.statistics()
        let freePageCount = try file.environment.pageCount(heldBackBy: 0)
        let expected = (statistics.usedPageCount - freePageCount) * statistics.pageByteCount
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        defer { Glibc.close(descriptor) }
        var byteCount = 0
        try file.environment.copy { bytes in
            try Self.write(bytes, to: descriptor, path)
            byteCount += bytes.count
            progress(
                StoreCopy.Progress(
                    byteCount: byteCount, expectedByteCount: max(expected, byteCount)))
        }
        guard fsync(descriptor) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        return byteCount
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

    private static func verify(copy path: String, of original: StoreFile) throws
        -> VerificationReport
    {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        configuration.inspectsPages = true
        let report: VerificationReport
        do {
            let copy = try StoreFile.open(at: path, configuration)
            defer { copy.close() }
            report = try copy.verify()
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
