import Metrics
import StetLMDB

/// What a store tells the metrics system of the process.
///
/// Every metric has the dimension `store`, the name of the file without its directory. Without a
/// metrics system a call costs a few nanoseconds.
///
/// | label | kind | what | |---|---|---| | `stet.save.duration` | timer | from the submission of a
/// change set to its outcome | | `stet.save.refused` | counter | saves without a commit; dimension
/// `code` | | `stet.commit.duration` | timer | one LMDB transaction of the writer | |
/// `stet.commit.batch_size` | recorder | change sets in it | | `stet.writer.queue_depth` | gauge |
/// change sets that still wait when a batch begins | | `stet.observer.lag` | recorder | commits
/// that an observer is behind when it gets one | | `stet.reader.oldest_age` | gauge | seconds, of
/// the oldest open read, over all processes | | `stet.reader.held_back_pages` | gauge | free pages
/// that cannot be used before its end | | `stet.map.used_bytes`, `stet.map.bytes` | gauge | of the
/// memory map |
///
/// The last four are brought up to date every 30 seconds while the store is written or observed.
struct StoreMetrics: Sendable {
    let saveDuration: Metrics.Timer
    let commitDuration: Metrics.Timer
    let batchSize: Recorder
    let queueDepth: Gauge
    let observerLag: Recorder
    private let oldestReaderAge: Gauge
    private let heldBackPages: Gauge
    private let usedBytes: Gauge
    private let mapBytes: Gauge
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
        oldestReaderAge = gauge("stet.reader.oldest_age")
        heldBackPages = gauge("stet.reader.held_back_pages")
        usedBytes = gauge("stet.map.used_bytes")
        mapBytes = gauge("stet.map.bytes")
    }

    /// Counts a save that came to nothing.
    func countRefused(_ code: String) {
        Counter(
            label: "stet.save.refused", dimensions: dimensions + [("code", code)], factory: factory
        ).increment()
    }

    /// Tells what the store holds now.
    func record(_ statistics: StoreStatistics) {
        let age = statistics.readers.first?.age ?? .zero
        oldestReaderAge.record(age.seconds)
        heldBackPages.record(statistics.heldBackPageCount)
        usedBytes.record(statistics.usedByteCount)
        mapBytes.record(statistics.mapByteCount)
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
