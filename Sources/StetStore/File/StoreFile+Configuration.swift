package import Logging
package import Metrics
import FoundationEssentials
import StetLMDB

extension StoreFile {
    /// How a store is opened.
    package struct Configuration: Sendable {
        /// Bytes of address space for the map.
        package var mapByteCount = usualMapByteCount
        /// Bytes of the map at first; nil means all of `mapByteCount`.
        package var initialMapByteCount: Int?
        /// Reads that may be open at once, over all processes.
        package var readerCount = 510
        /// Lets a directory that all may write to and a file system without reliable locks pass.
        package var allowsUnsafePlace = false
        /// Walks all pages of the file before any of them is used.
        package var inspectsPages = false

        /// Which commits stay in the journal.
        package var retention = Retention.forever

        /// Where the ages of readers are taken from: any monotonic clock.
        package var uptime = systemUptime
        /// Is told what a migration does, how many objects are done, and of how many.
        package var progress: (@Sendable (String, Int, Int) throws -> Void)?
        /// Makes each commit one of a migration's.
        package var isMigration = false
        /// Where a migration takes its time from: seconds since 2001.
        package var time: @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate }

        /// Where the store's metrics go.
        package var metricsFactory: any MetricsFactory = MetricsSystem.factory
        /// Where the store's log goes.
        package var logger = Logger(label: "stet")

        /// The usual configuration.
        package init() {}

        func ofEnvironment(entityCount: Int) -> Environment.Configuration {
            var configuration = Environment.Configuration()
            configuration.mapByteCount = mapByteCount
            configuration.initialMapByteCount = initialMapByteCount
            configuration.readerCount = readerCount
            configuration.uptime = uptime
            configuration.longWait = { [logger] holder, waited in
                logger.warning(
                    "Another process keeps this one from saving; it may be stopped.",
                    metadata: [
                        "process": "\(holder.map(String.init) ?? "unknown")",
                        "seconds": "\(Int(waited.seconds))",
                    ])
            }
            configuration.tableCount = entityCount + StoreTables.fixedCount
            return configuration
        }
    }
}
