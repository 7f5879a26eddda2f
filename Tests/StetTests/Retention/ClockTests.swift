import Foundation
import Logging
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Clocks that are wrong for a while: what commits are dated, and what is trimmed by age.
@Suite struct ClockTests {
    private let directory = TemporaryDirectory()
    private let log = RecordedLog()
    private let seconds = Monitor(1_000.0)
    private static let day = 86_400.0
    private static let year = 365.25 * day

    private func open(
        _ name: String = "store.stet", retention: Retention = .forever
    ) throws -> Store {
        var configuration = Store.Configuration()
        configuration.retention = retention
        configuration.logger = log.logger
        configuration.clock = { [seconds] in
            Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 })
        }
        return try Store.open(
            at: directory.file(name), for: Notebook.self, Article.self,
            configuration: configuration)
    }

    private func set(_ time: Double) { seconds.withLock { $0 = time } }

    private func save(_ store: Store, at times: Double...) throws {
        try save(store, at: times)
    }

    private func save(_ store: Store, at times: [Double]) throws {
        let context = store.context(author: "a")
        for time in times {
            set(time)
            context.insert(Article(title: "\(time)"))
            try context.save()
        }
    }

    private func times(_ store: Store) throws -> [Double] {
        try store.journal(from: .earliest).map(\.time.timeIntervalSinceReferenceDate)
    }

    private func revision(_ store: Store, _ time: Double) throws -> Revision {
        try store.view(asOf: Date(timeIntervalSinceReferenceDate: time)).revision
    }

    // MARK: Dates

    @Test func aClockThatWasAheadDoesNotDateLaterCommits() throws {
        let store = try open()
        let wrong = 75 * Self.year
        try save(store, at: 1_000, 1_100, wrong, wrong + 1, 1_200, 1_300)
        #expect(try times(store) == [1_000, 1_100, wrong, wrong + 1, 1_200, 1_300])
        #expect(log.lines.contains { $0.hasPrefix("warning") && $0.contains("clock") })
        #expect(try store.verify().problems == [])
        store.close()
        let again = try open()
        try save(again, at: 1_400)
        #expect(try times(again).last == 1_400)
        #expect(try again.verify().problems == [])
    }

    @Test func aTimeMeansTheLastCommitThatIsDatedNoLater() throws {
        let store = try open()
        let wrong = 75 * Self.year
        try save(store, at: 1_000, 1_100, wrong, wrong + 1, 1_200, 2 * wrong, 1_300, 1_400)
        let all = try times(store)
        for time in [0, 999, 1_000, 1_150, 1_200, 1_250, 1_300, 1_500, wrong, 3 * wrong] {
            let last = all.lastIndex { $0 <= time }.map { $0 + 1 } ?? 0
            #expect(try revision(store, time) == Revision(UInt64(last)), "\(time)")
        }
        try store.requestTrim(before: 4).confirm()
        #expect(try revision(store, 1_200) == 5)
        #expect(throws: StoreError.self) { try revision(store, 1_100) }
        #expect(try store.verify().problems == [])
    }

    @Test func aHeadThatForgetsABackdatedCommitIsFound() throws {
        let store = try open()
        try save(store, at: 1_000, 75 * Self.year, 1_200)
        try store.file.environment.write { transaction in
            try Array("head".utf8).withUnsafeBytes { key in
                let head = try #require(try transaction.reading.get(key, in: .unnamed))
                var bytes = Array(head)
                #expect(bytes[52..<56] == [3, 0, 0, 0])
                bytes[52] = 0
                try bytes.withUnsafeBytes { try transaction.put($0, for: key, in: .unnamed) }
            }
        }
        #expect(
            try store.verify().problems
                == ["The head's last backdated commit is another than the journal's."])
    }

    @Test func aClockThatIsALittleBehindDatesCommitsLikeTheOneBefore() throws {
        let store = try open()
        try save(store, at: 100_000, 100_000 - Self.day, 99_000, 100_001)
        #expect(try times(store) == [100_000, 100_000, 100_000, 100_001])
    }

    @Test func aCommitThatIsALittleAheadDoesNotHideAClockThatIsFarAhead() throws {
        let store = try open()
        let (near, far) = (Self.day / 2, 400 * Self.day)
        try save(store, at: 1_000, near, far, 2_000, near + 1, far + 1, near + 2)
        #expect(
            try times(store) == [1_000, near, far, near, near + 1, far + 1, near + 2])
        #expect(try store.verify().problems == [])
    }

    @Test func theLastTrimmedCommitMayBeALittleAheadOfTheClock() throws {
        let store = try open()
        let far = 400 * Self.day
        try save(store, at: 1_000, 2_000, far)
        try store.requestTrim(before: 3).confirm()
        try save(store, at: 1_500, 2_500)
        #expect(try times(store) == [far, 2_000, 2_500])
        #expect(try store.verify().problems == [])
    }

    @Test func noCommitIsDatedALittleBeforeTheLastOne() throws {
        let store = try open()
        let (near, middle, far) = (Self.day / 2, 1.4 * Self.day, 400 * Self.day)
        try save(store, at: 1_000, near, far, middle, 2_000)
        #expect(try times(store) == [1_000, near, far, middle, middle])
        #expect(try store.verify().problems == [])
    }

    @Test(arguments: [-10 * year, 45 * day, 89.5 * day])
    func aClockThatIsFarBehindDatesCommitsLikeTheOneBefore(_ time: Double) throws {
        let store = try open()
        let days = (0...90).map { Double($0) * Self.day }
        for day in days { try save(store, at: day) }
        try save(store, at: time, time + 1, 90 * Self.day + 1)
        #expect(try times(store).suffix(3).map { $0 - 90 * Self.day } == [0, 0, 1])
    }

    @Test(arguments: [
        1e300, -1e300, .infinity, -.infinity, .nan, 1e12, -1e12, .greatestFiniteMagnitude,
    ])
    func aTimeThatNoClockShowsIsThatOfTheCommitBefore(_ time: Double) throws {
        let store = try open()
        try save(store, at: 1_000, time, 1_200)
        #expect(try times(store) == [1_000, 1_000, 1_200])
        #expect(log.lines.contains { $0.hasPrefix("warning") && $0.contains("clock") })
        #expect(try store.verify().problems == [])
    }

    @Test func theFirstCommitHasATimeThatAClockShows() throws {
        let store = try open()
        try save(store, at: 1e300, 1_200)
        #expect(try times(store) == [0, 1_200])
    }

    // MARK: Retention

    /// Lets the store trim until nothing is left to be trimmed; where the journal begins.
    private func trimmed(_ store: Store) throws -> Revision {
        while !store.file.trimOutdated() {}
        return try store.floor()
    }

    @Test func aJumpAheadTrimsNothingUntilItIsConfirmed() throws {
        let store = try open(retention: .age(.seconds(30 * Self.day)))
        try save(store, at: 1_000, 2_000, 3_000)
        set(50 * Self.year)
        #expect(try trimmed(store) == 0)
        try save(store, at: 50 * Self.year, 50 * Self.year + 1, 51 * Self.year)
        #expect(try trimmed(store) == 0)
        let warnings = log.lines.filter { $0.hasPrefix("warning") && $0.contains("pause") }
        #expect(warnings.count == 1)
        try store.requestTrim(before: 4).confirm()
        #expect(try trimmed(store) == 3)
        try store.requestTrim(before: 6).confirm()
        #expect(try trimmed(store) == 5)
        #expect(try store.verify().problems == [])
    }

    @Test func whatIsOldGoesOnceTheClockIsRightAgain() throws {
        let store = try open(retention: .age(.seconds(30 * Self.day)))
        try save(store, at: 1_000, 2_000, 50 * Self.year, 3_000)
        for day in 1...5 { try save(store, at: Double(day) * 5 * Self.day) }
        #expect(try trimmed(store) == 0)
        for day in 6...8 { try save(store, at: Double(day) * 5 * Self.day) }
        // Trims the commits of the first 9 days, among them the one dated 2051.
        #expect(try trimmed(store) == 5)
        #expect(try store.verify().problems == [])
    }

    @Test func whatIsOldGoesOnceTheAgeHasPassedSinceAJump() throws {
        let store = try open(retention: .age(.seconds(30 * Self.day)))
        try save(store, at: 1_000, 2_000)
        let start = 50 * Self.year
        for day in 0...5 { try save(store, at: start + Double(day) * 5 * Self.day) }
        #expect(try trimmed(store) == 0)
        for day in 6...7 { try save(store, at: start + Double(day) * 5 * Self.day) }
        #expect(try trimmed(store) == 3)
    }

    @Test func aClockThatFallsBackTrimsNothing() throws {
        let store = try open(retention: .age(.seconds(10 * Self.day)))
        try save(store, at: 90 * Self.day, 91 * Self.day, 0, Self.day)
        set(12 * Self.day)
        #expect(try trimmed(store) == 0)
        try save(store, at: 96 * Self.day, 101 * Self.day, 102 * Self.day)
        #expect(try trimmed(store) == 4)
        #expect(try store.verify().problems == [])
    }

    /// A commit that is dated in the future is trimmed with the next one, which is younger.
    ///
    /// Here the next one is dated years ago, for its clock was behind.
    @Test func aClockThatFallsBackTwiceTrimsNothing() throws {
        let store = try open(retention: .age(.seconds(40 * Self.day)))
        let start = 27 * Self.year
        try save(store, at: (0...11).map { start + Double($0) * 5 * Self.day })
        #expect(try trimmed(store) == 3)
        try save(store, at: start - 344 * Self.day, start - 343 * Self.day)
        set(start + 14 * Self.day)
        #expect(try trimmed(store) == 3)
        try save(store, at: start + 56 * Self.day, start + 60.5 * Self.day)
        #expect(try trimmed(store) == 5)
    }

    @Test func pausesUpToAQuarterOfTheAgeCount() throws {
        for (pause, expected) in [(10.0, 2), (10.001, 0)] as [(Double, Revision)] {
            let store = try open("\(pause)", retention: .age(.seconds(40 * Self.day)))
            for number in 0...5 { try save(store, at: Double(number) * pause * Self.day) }
            set(5 * pause * Self.day + 1)
            #expect(try trimmed(store) == expected, "\(pause)")
        }
    }

    @Test func aWeekWithoutACommitCountsHoweverShortTheAgeIs() throws {
        let store = try open(retention: .age(.seconds(60)))
        try save(store, at: 0, 7 * Self.day)
        #expect(try trimmed(store) == 1)
        set(14 * Self.day + 1)
        #expect(try trimmed(store) == 1)
        set(14 * Self.day)
        #expect(try trimmed(store) == 2)
    }

    @Test func moreThanOneTransactionTrimsIsTrimmed() throws {
        let store = try open(retention: .age(.seconds(60)))
        try save(store, at: (0..<1_100).map { Double($0) })
        set(2_000)
        #expect(try trimmed(store) == 1_100)
    }

    // MARK: Several retentions

    @Test func theShortestOfSeveralRetentionsDecides() throws {
        let keeping = try open()
        try save(keeping, at: 1_000, 2_000, 3_000, 4_000, 5_000, 6_000)
        #expect(try trimmed(keeping) == 0)
        keeping.close()
        let trimming = try open(retention: .count(2))
        // Within a process the retention of the first open applies.
        let later = try open(retention: .count(1))
        #expect(try trimmed(later) == 4)
        #expect(log.lines.count { $0.contains("another retention") } == 1)
        later.close()
        trimming.close()
        let last = try open()
        #expect(try trimmed(last) == 4)
        #expect(try times(last) == [5_000, 6_000])
        #expect(try last.verify().problems == [])
    }
}
