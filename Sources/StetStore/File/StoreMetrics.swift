import Metrics
import StetLMDB

/// The metrics that a store records in the metrics system of the process.
///
/// Every metric has the dimension `store`, the name of the file without its directory. Without a
/// metrics system a call costs a few nanoseconds.
///
/// - `stet.save.duration`, a timer: from the submission of a change set to its outcome
/// - `stet.save.refused`, a counter: saves without a commit; dimension `code`
/// - `stet.commit.duration`, a timer: one LMDB transaction of the writer
/// - `stet.commit.batch_size`, a recorder: change sets in it
/// - `stet.writer.queue_depth`, a gauge: change sets that still wait when a batch begins
/// - `stet.observer.lag`, a recorder: commits that an observer is behind when it gets one
/// - `stet.reader.oldest_age`, a gauge: seconds, of the oldest open read, over all processes
/// - `stet.reader.held_back_pages`, a gauge: free pages that cannot be used before its end
/// - `stet.map.used_bytes`, `stet.map.bytes`, gauges: of the memory map
/// - `stet.log.bytes`, a gauge: of the files of a log; 0 without one
/// - `stet.log.checkpoint_age`, a gauge: seconds since the last checkpoint of this process's log
///
/// A node of a shared journal also records:
///
/// - `stet.journal.lag`, a gauge: commits by which it is behind the journal, whenever it asks
/// - `stet.journal.follow_failures`, a counter: failed attempts to follow the journal
///
/// The six about reads, the map and the log are brought up to date every 30 seconds while the store
/// is written or observed.
struct StoreMetrics: Sendable {
    let saveDuration: Metrics.Timer
    let commitDuration: Metrics.Timer
    let batchSize: Recorder
    let queueDepth: Gauge
    let observerLag: Recorder
    let journalLag: Gauge
    let journalFailures: Counter
    private let oldestReaderAge: Gauge
    private let heldBackPages: Gauge
    private let usedBytes: Gauge
    private let mapBytes: Gauge
    private let logBytes: Gauge
    private let checkpointAge: Gauge
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]

    init(path: String, factory: any MetricsFactory) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let dimensions = [("store", name)]
        self.factory = factory
        self.dimensions = dimensions
        func timer(_ label: String) -> Metrics.Timer {
            Metrics.Timer(label: label, dimensions: dimensions, factory: factory)
        }
        func recorder(_ label: String) -> Recorder {
            Recorder(label: label, dimensions: dimensions, aggregate: true, factory: factory)
        }
        func gauge(_ label: String) -> Gauge {
            Gauge(label: label, dimensions: dimensions, factory: factory)
        }
        saveDuration = timer("stet.save.duration")
        commitDuration = timer("stet.commit.duration")
        batchSize = recorder("stet.commit.batch_size")
        queueDepth = gauge("stet.writer.queue_depth")
        observerLag = recorder("stet.observer.lag")
        journalLag = gauge("stet.journal.lag")
        journalFailures = Counter(
            label: "stet.journal.follow_failures", dimensions: dimensions, factory: factory)
        oldestReaderAge = gauge("stet.reader.oldest_age")
        heldBackPages = gauge("stet.reader.held_back_pages")
        usedBytes = gauge("stet.map.used_bytes")
        mapBytes = gauge("stet.map.bytes")
        logBytes = gauge("stet.log.bytes")
        checkpointAge = gauge("stet.log.checkpoint_age")
    }

    /// Counts a save that was refused.
    func countRefused(_ code: String) {
        Counter(
            label: "stet.save.refused", dimensions: dimensions + [("code", code)], factory: factory
        ).increment()
    }

    /// Records the current sizes and readers of the store.
    func record(_ statistics: StoreStatistics) {
        let age = statistics.readers.first?.age ?? .zero
        oldestReaderAge.record(age.seconds)
        heldBackPages.record(statistics.heldBackPageCount)
        usedBytes.record(statistics.usedByteCount)
        mapBytes.record(statistics.mapByteCount)
        logBytes.record(statistics.log?.byteCount ?? 0)
        checkpointAge.record(statistics.log?.checkpointAge?.seconds ?? 0)
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
