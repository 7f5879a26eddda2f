import ArgumentParser
import StetStore
import StetTestSupport

/// Applies random operations by several authors to a store and to a reference model, which must be
/// equal at every revision.
struct Simulate: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Compares SIZE random histories, undone and redone, with a reference model.")

    @OptionGroup var options: CampaignOptions
    @Option(help: "The operations of a history.")
    var operations = 100

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            var random = SeededGenerator(seed: options.seed, stream: index)
            let operations = (0..<operations).map { _ in SimulatedOperation.random(&random) }
            do {
                for (what, count) in try Simulation.run(operations) { report.count(what, count) }
            } catch let difference as Simulation.Difference {
                let (few, last) = shrunk(operations, difference)
                let list = few.map { "\n    \($0)" }.joined()
                report.finding(
                    index, "\(difference.description)\n  the same with:\(list)\n  \(last)")
            }
            report.count("histories")
        }
    }

    /// Returns the fewest operations that still show a difference, and that difference.
    private func shrunk(
        _ operations: [SimulatedOperation], _ difference: Simulation.Difference
    ) -> ([SimulatedOperation], String) {
        var operations = operations
        var last = difference.description
        var width = operations.count / 2
        while width > 0 {
            var start = 0
            while start < operations.count {
                var fewer = operations
                fewer.removeSubrange(start..<min(start + width, operations.count))
                if let found = finding(fewer) {
                    last = found
                    operations = fewer
                } else {
                    start += width
                }
            }
            width /= 2
        }
        return (operations, last)
    }

    /// Returns the difference that operations show; with a kill, whose moment varies, in one of
    /// several attempts.
    private func finding(_ operations: [SimulatedOperation]) -> String? {
        let isKilled = operations.contains { if case .kill = $0 { true } else { false } }
        for _ in 0..<(isKilled ? 8 : 1) {
            do {
                _ = try Simulation.run(operations)
            } catch {
                return (error as? Simulation.Difference)?.description ?? "\(error)"
            }
        }
        return nil
    }
}
