package import Logging
package import Metrics
package import Tracing
import FoundationEssentials
import StetLMDB

extension StoreFile {
    /// The options for opening a store.
    package struct Configuration: Sendable {
        /// The number of bytes of address space for the map.
        package var mapByteCount = usualMapByteCount
        /// The initial number of bytes of the map; nil means all of `mapByteCount`.
        package var initialMapByteCount: Int?
        /// The number of reads that may be open at once, over all processes.
        package var readerCount = 510
        /// Whether a directory that all may write to, and a file system without reliable locks, are
        /// allowed.
        package var allowsUnsafePlace = false
        /// Whether all pages of the file are inspected before any of them is used.
        package var inspectsPages = false

        /// The time at which commits are on the disk.
        package var durability = Durability.usual
        /// Whether saves wait while another process writes through its log.
        package var waitsForOtherWriter = Durability.waitsByDefault
        /// Whether a store is opened whose log is missing, if all of it verifies.
        package var recoversWithoutLog = false

        /// The shared journal of which the store is a node.
        package var sharedJournal: (any SharedJournal)?
        /// The pause between two looks at the shared journal.
        package var followingPause = Duration.milliseconds(200)
        /// The time for which a lost connection to it is tried again before an outcome is unknown.
        package var settleLimit = Duration.seconds(5)

        /// Returns the connection to the shared journal of a store with an id.
        func link(of store: ObjectID, path: String) -> SharedLink? {
            sharedJournal.map { journal in
                SharedLink(
                    journal, of: store, path: path, pause: followingPause,
                    settleLimit: settleLimit)
            }
        }

        /// The commits that stay in the journal.
        package var retention = Retention.forever

        /// The monotonic clock for the ages of readers.
        package var uptime = systemUptime
        /// Receives the current work of a migration, the number of objects that are done, and their
        /// total.
        package var progress: (@Sendable (String, Int, Int) throws -> Void)?
        /// True when each commit is part of a migration.
        package var isMigration = false
        /// The clock for migrations: seconds since 2001.
        package var time: @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate }

        /// The factory of the store's metrics.
        package var metricsFactory: any MetricsFactory = MetricsSystem.factory
        /// The tracer of the store.
        package var tracer: any Tracer = InstrumentationSystem.tracer
        /// The logger of the store.
        package var logger = Logger(label: "stet")

        /// Creates the default configuration.
        package init() {}

        /// The options of the environment of a file that is used as a store.
        func ofStore(entityCount: Int) -> Environment.Configuration {
            var configuration = ofEnvironment(entityCount: entityCount)
            configuration.createsFile = false
            configuration.durability = durability.ofEnvironment
            configuration.waitsForLogOwner = waitsForOtherWriter
            configuration.ignoresMissingLog = recoversWithoutLog
            let tracer = StoreTracer(tracer)
            configuration.checkpointBegan = {
                let span = tracer.begin("stet.checkpoint")
                return { error in span?.end(error) }
            }
            configuration.recovered = { [logger] count in
                logger.notice(
                    "The store was not closed; its last commits were restored from its log.",
                    metadata: ["commits": "\(count)"])
            }
            return configuration
        }

        /// The options of the environment of a file that is being made.
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
