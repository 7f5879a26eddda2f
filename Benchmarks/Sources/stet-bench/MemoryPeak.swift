import BareLMDB
import Foundation
import Glibc
import Synchronization

/// The most memory that the process has had since the beginning, beyond what it had then, without
/// pages of files.
///
/// A thread looks every half millisecond.
final class MemoryPeak: Sendable {
    private let start: Int
    private let state: Mutex<(peak: Int, isDone: Bool)>

    init() {
        // Memory that was freed before would otherwise be taken again, and not seen.
        bare_trim_memory()
        let start = Self.now
        self.start = start
        state = Mutex((start, false))
        Thread.detachNewThread { [self] in
            while note() { usleep(500) }
        }
    }

    /// Notes the present amount; returns false after the end.
    private func note() -> Bool {
        let now = Self.now
        return state.withLock { state in
            if !state.isDone { state.peak = max(state.peak, now) }
            return !state.isDone
        }
    }

    /// Ends the observation, and returns the bytes.
    func end() -> Int {
        _ = note()
        return state.withLock { state in
            state.isDone = true
            return state.peak - start
        }
    }

    /// The present amount in bytes.
    private static var now: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, Int32(text.count), file) != nil else { return 0 }
        let numbers = String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ").prefix(3).compactMap { Int($0) }
        return numbers.count < 3 ? 0 : (numbers[1] - numbers[2]) * Int(getpagesize())
    }
}
