import Glibc
import StetLMDB

/// The measurements by which a probe judges an open store.
package struct StoreCondition: Sendable {
    /// The reason why the store cannot be read; nil when it can.
    package let failure: StoreError?
    /// Whether the path still refers to the open files.
    package let isInPlace: Bool
    /// The process that writes through a log, if it is another one and saves do not wait for it.
    package let otherWriter: Int32?
    package let usedByteCount: Int
    /// The size that the file may reach.
    package let mapByteCount: Int
    /// The number of bytes that the file system has left; nil when that is unknown.
    package let freeByteCount: Int?
    package let readerCount: Int
    package let readerLimit: Int
    package let waitingSaveCount: Int
    /// The time for which the oldest save of this process has been waiting.
    package let longestWait: Duration
    /// The time since the last checkpoint of this process's log; nil without one.
    package let checkpointAge: Duration?
}

extension StoreFile {
    /// Returns the measurements by which a probe judges the store: it reads the head, the table of
    /// readers and the size of the file system, and no object.
    ///
    /// - Complexity: O(readers).
    package func condition() -> StoreCondition {
        var failure: StoreError?
        var statistics: Environment.Statistics?
        var readerCount = 0
        var log: Environment.LogOverview?
        var owner: Int32?
        do {
            try StoreError.wrapping(path: path) {
                _ = try read { try $0.head() }
                statistics = try environment.statistics()
                readerCount = try environment.readers().count
                log = try environment.log.overview()
                owner = try environment.log.owner()
            }
        } catch {
            failure =
                error as? StoreError
                ?? StoreError(.inputOutput, path: path, message: "\(error)")
        }
        let waits = environment.configuration.waitsForLogOwner
        return StoreCondition(
            failure: failure, isInPlace: isClosed || environment.isInPlace,
            otherWriter: waits ? nil : owner,
            usedByteCount: statistics.map { $0.usedPageCount * $0.pageByteCount } ?? 0,
            mapByteCount: max(
                environment.configuration.mapByteCount, statistics?.mapByteCount ?? 0),
            freeByteCount: freeByteCount, readerCount: readerCount,
            readerLimit: statistics?.readerLimit ?? 0, waitingSaveCount: waitingCount,
            longestWait: writer.longestWait, checkpointAge: log?.statistics?.age)
    }

    private var freeByteCount: Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }
}
