import Foundation
import StetLiveOracle
import StetTestSupport
import Testing

/// Random queries and random commits: the updates of live queries lead to the results of the
/// queries run afresh.
///
/// `STET_PAIRS` sets the number of pairs of a query and commits that are compared.
@Suite struct LiveQueryOracleTests {
    private static let pairs = ProcessInfo.processInfo.environment["STET_PAIRS"].flatMap(Int.init)

    @Test(arguments: 0..<4)
    func updatesLeadToWhatTheQueryGivesAnew(part: Int) throws {
        let trials = max((Self.pairs ?? repetitions(20_000)) / LiveQueryTrial.pairCount / 4, 1)
        var counts = LiveQueryTrial.Counts()
        for number in 0..<trials {
            var trial = try LiveQueryTrial(seed: 7, stream: part * trials + number)
            let problem = try trial.run(&counts)
            #expect(problem == nil, "stream \(part * trials + number)")
            if problem != nil { return }
        }
        #expect(counts.updates > counts.pairs / 10)
        #expect(counts.steps > counts.reruns)
    }

    @Test(arguments: 0..<2)
    func updatesOfContextsLeadToWhatTheQueryGivesAnew(part: Int) throws {
        var counts = LiveQueryTrial.Counts()
        for number in 0..<8 {
            var trial = try ContextQueryTrial(seed: 7, stream: part * 8 + number)
            let problem = try trial.run(&counts)
            #expect(problem == nil, "stream \(part * 8 + number)")
            if problem != nil { return }
        }
        #expect(counts.contextPairs > 500)
    }
}
