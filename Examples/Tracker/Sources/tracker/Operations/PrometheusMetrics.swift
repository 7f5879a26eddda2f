import CoreMetrics
import Foundation
import Synchronization

/// Keeps the metrics of the service and of its store, and writes them in the text format of
/// Prometheus: a small factory, for one process.
///
/// Timers and recorders become summaries of sum and count.
final class PrometheusMetrics: MetricsFactory {
    fileprivate struct Series: Hashable, Comparable {
        let name: String
        let labels: String
        let kind: String

        static func < (one: Series, other: Series) -> Bool {
            (one.name, one.labels) < (other.name, other.labels)
        }
    }

    fileprivate struct Total {
        var sum = 0.0
        var count = 0
    }

    // The values of all series, guarded by the mutex.
    private let totals = Mutex<[Series: Total]>([:])

    /// The metrics in the text format, sorted by name.
    var text: String {
        var lines: [String] = []
        var last = ""
        for (series, total) in totals.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            if series.name != last { lines.append("# TYPE \(series.name) \(series.kind)") }
            last = series.name
            if series.kind == "summary" {
                lines.append("\(series.name)_sum\(series.labels) \(total.sum)")
                lines.append("\(series.name)_count\(series.labels) \(total.count)")
            } else {
                lines.append("\(series.name)\(series.labels) \(total.sum)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        handler("\(label)_total", dimensions, "counter")
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        handler(label, dimensions, aggregate ? "summary" : "gauge")
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        handler(label, dimensions, "gauge")
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        handler("\(label)_seconds", dimensions, "summary")
    }

    func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    private func handler(_ label: String, _ dimensions: [(String, String)], _ kind: String)
        -> Handler
    {
        let pairs = dimensions.map { key, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\(Self.name(key))=\"\(escaped.replacing("\n", with: " "))\""
        }
        let labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
        let series = Series(name: Self.name(label), labels: labels, kind: kind)
        change(series) { _ in }
        return Handler(metrics: self, series: series)
    }

    private static func name(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private func destroy(_ handler: Any) {
        guard let handler = handler as? Handler else { return }
        totals.withLock { $0[handler.series] = nil }
    }

    fileprivate func change(_ series: Series, _ body: (inout Total) -> Void) {
        totals.withLock { body(&$0[series, default: Total()]) }
    }
}

/// One series, as whichever kind of metric it was made.
private final class Handler: CounterHandler, RecorderHandler, MeterHandler, TimerHandler {
    let metrics: PrometheusMetrics
    let series: PrometheusMetrics.Series

    init(metrics: PrometheusMetrics, series: PrometheusMetrics.Series) {
        self.metrics = metrics
        self.series = series
    }

    func increment(by amount: Int64) { metrics.change(series) { $0.sum += Double(amount) } }
    func increment(by amount: Double) { metrics.change(series) { $0.sum += amount } }
    func decrement(by amount: Double) { metrics.change(series) { $0.sum -= amount } }
    func reset() { set(0.0) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { metrics.change(series) { $0.sum = value } }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard series.kind == "summary" else { return set(value) }
        metrics.change(series) {
            $0.sum += value
            $0.count += 1
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
