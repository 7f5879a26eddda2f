import Logging
import StetLMDB

/// A log that records the level, message and metadata of each line.
final class RecordedLog: Sendable {
    private let recorded = Monitor<[String]>([])
    private let listener = Monitor<(@Sendable (String) -> Void)?>(nil)

    var lines: [String] { recorded.withLock { $0 } }

    var logger: Logger {
        Logger(label: "stet") { _ in Handler(log: self) }
    }

    /// Calls `body` after each line, on the thread that logs.
    func listen(_ body: @escaping @Sendable (String) -> Void) {
        listener.withLock { $0 = body }
    }

    private func record(_ line: String) {
        recorded.withLock { $0.append(line) }
        listener.withLock { $0 }?(line)
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata = Logger.Metadata()

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let (level, message) = (event.level, event.message)
            let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map {
                "\($0)=\($1)"
            }
            log.record("\(level) \(message) \(pairs.joined(separator: " "))")
        }
    }
}
