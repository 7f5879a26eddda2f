import Foundation
import StetLiveOracle
import Synchronization

/// Compares live queries with queries that run anew: `stet-live PAIRS SEED [CASE]`.
@main
enum StetLiveTool {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
        guard arguments.count >= 2, arguments[0] > 0 else {
            print("usage: stet-live PAIRS SEED [CASE]")
            exit(64)
        }
        let (size, seed) = (arguments[0], UInt64(arguments[1]))
        let count = (size + LiveQueryTrial.pairCount - 1) / LiveQueryTrial.pairCount
        let cases = arguments.count > 2 ? arguments[2]..<arguments[2] + 1 : 0..<count
        let start = ContinuousClock.now
        let next = Mutex(cases.lowerBound)
        let total = Mutex((counts: LiveQueryTrial.Counts(), findings: 0))
        let width = min(ProcessInfo.processInfo.activeProcessorCount, cases.count)
        DispatchQueue.concurrentPerform(iterations: width) { _ in
            while true {
                let index = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard index < cases.upperBound else { return }
                var counts = LiveQueryTrial.Counts()
                let finding = finding(seed, index, &counts)
                total.withLock { total in
                    total.counts.add(counts)
                    guard let finding else { return }
                    total.findings += 1
                    print(
                        "FINDING \(index): \(finding)\n  again: stet-live \(size) \(seed) \(index)")
                }
            }
        }
        let (counts, findings) = total.withLock { $0 }
        let seconds = Int((ContinuousClock.now - start) / .seconds(1))
        print(
            "live-queries: \(findings) findings; size \(size), seed \(seed), \(seconds) s; "
                + "\(counts.pairs) pairs, \(counts.updates) updates, "
                + "\(counts.steps) incremental steps, \(counts.reruns) reruns; aggregates: "
                + "\(counts.valueSteps) incremental steps, \(counts.valueReruns) reruns; "
                + "\(counts.contextPairs) results of contexts")
        exit(findings == 0 ? 0 : 1)
    }

    private static func finding(
        _ seed: UInt64, _ index: Int, _ counts: inout LiveQueryTrial.Counts
    ) -> String? {
        do {
            var trial = try LiveQueryTrial(seed: seed, stream: index)
            if let finding = try trial.run(&counts) { return finding }
            var other = try ContextQueryTrial(seed: seed, stream: index)
            return try other.run(&counts)
        } catch {
            return "threw \(error)"
        }
    }
}

extension LiveQueryTrial.Counts {
    fileprivate mutating func add(_ other: Self) {
        pairs += other.pairs
        updates += other.updates
        steps += other.steps
        reruns += other.reruns
        valueSteps += other.valueSteps
        valueReruns += other.valueReruns
        contextPairs += other.contextPairs
    }
}
