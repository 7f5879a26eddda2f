import ArgumentParser
import Foundation
import Logging
import StetLMDB
import StetStore
import StetTestSupport

/// Sets clocks ahead or back and corrects them later, by less than a day or by more than the
/// longest pause that counts, while a store trims by age.
struct Clocks: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Lets the clock of SIZE sessions jump between their commits.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            let random = SeededGenerator(seed: options.seed, stream: index)
            let session = try ClockSession(random)
            if let problem = try session.run() { report.finding(index, problem) }
            report.count("commits", session.commits.count)
            report.count("jumps", session.jumpCount)
            report.count("trimmed commits", Int(try session.floor().number))
        }
    }
}

/// One store, and a list of its commits, with which it must agree.
private final class ClockSession {
    struct MadeCommit {
        /// The true time of the commit, in seconds since 2001.
        let made: Double
        let token: UInt64
        let date: Double
        /// Whether the clock was right.
        let isRight: Bool
    }

    private static let day = 86_400.0
    private static let age = 40 * day
    private static let longestPause = 10 * day

    private var random: SeededGenerator
    private let directory = TemporaryDirectory()
    private let clock = Monitor(0.0)
    private let file: StoreFile
    /// The true time, and how far the clock is ahead of it.
    private var now = 26 * 365.25 * day
    private var error = 0.0
    private(set) var commits: [MadeCommit] = []
    private(set) var jumpCount = 0

    init(_ random: SeededGenerator) throws {
        self.random = random
        var configuration = StoreFile.Configuration()
        configuration.retention = .age(.seconds(Self.age))
        configuration.logger = Logger(label: "clocks") { _ in SwiftLogNoOpLogHandler() }
        configuration.time = { [clock] in clock.withLock { $0 } }
        let entity = Entity(name: "Note", properties: [Property(name: "number", type: .int)])
        file = try StoreFile.open(
            at: directory.file(), schema: try Schema(entities: [entity]), configuration)
    }

    func floor() throws -> Revision { try file.read { try $0.floor() } }

    /// Returns a description of the first difference.
    func run() throws -> String? {
        for _ in 0..<Int.random(in: 20...80, using: &random) {
            pass(Double.random(in: 0...5, using: &random) * Self.day)
            if Int.random(in: 0..<6, using: &random) == 0 { jump() }
            if let problem = try commit() ?? trim() { return problem }
            // The clock is corrected after a while.
            if error != 0, Int.random(in: 0..<2, using: &random) == 0 { set(error: 0) }
        }
        set(error: 0)
        let count = commits.count
        while now - commits[count - 1].made <= Self.age + Self.longestPause {
            pass(Self.day)
            if let problem = try commit() ?? trim() { return problem }
        }
        let isHeld = commits[..<count].contains { !$0.isRight }
        if try floor().number < count, !isHeld { return "what is outdated is not trimmed" }
        return try statesAsOfDates() ?? verified()
    }

    private func pass(_ seconds: Double) {
        now += seconds
        set(error: error)
    }

    private func set(error: Double) {
        self.error = error
        let time = now + error
        clock.withLock { $0 = time }
    }

    private func jump() {
        jumpCount += 1
        let far: [Double] = [
            60 * Self.day, 400 * Self.day, 50 * 365 * Self.day, 1e300, .infinity, .nan,
            -60 * Self.day, -400 * Self.day, -25 * 365 * Self.day, -1e300, -.infinity,
        ]
        let near = Double.random(in: -Self.day..<Self.day, using: &random)
        set(error: Bool.random(using: &random) ? near : far.randomElement(using: &random) ?? near)
    }

    private func commit() throws -> String? {
        let token = random.next()
        var changes = ChangeSetBuilder(schema: file.schema)
        let number = commits.count
        let after = changes.encode(entity: 1) { $0.write([.int(number)]) }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: ObjectID(), base: .zero, before: 0..<0, after: after))
        let set = try changes.encoded(
            attributes: CommitAttributes(), base: .zero, token: token,
            time: clock.withLock { $0 })
        let made = try file.commit(set)
        let date = made.time.timeIntervalSinceReferenceDate
        commits.append(
            MadeCommit(made: now, token: token, date: date, isRight: error == 0))
        if made.revision.number != commits.count { return "commit \(commits.count) is lost" }
        guard error == 0 else { return nil }
        return (now...now + Self.day).contains(date)
            ? nil : "\(made) is dated \((date - now) / Self.day) days ahead"
    }

    /// Trims, and checks that no commit is removed that is younger than the age, less the longest
    /// pause that counts and the day by which dates may be wrong.
    private func trim() throws -> String? {
        while !file.trimOutdated() {}
        let floor = try floor()
        guard floor > .zero, error == 0 || abs(error) > Self.day else { return nil }
        let last = commits[Int(floor.number) - 1]
        let least = Self.age - Self.longestPause - Self.day
        return now - last.made < least
            ? "commit \(floor) was trimmed after \((now - last.made) / Self.day) days" : nil
    }

    private func statesAsOfDates() throws -> String? {
        let floor = Int(try floor().number)
        for commit in commits[floor...] {
            for date in [commit.date, commit.date - 1, commit.date + 1] {
                let last = commits.lastIndex { $0.date <= date }.map { $0 + 1 } ?? 0
                guard last > floor else { continue }
                let found = try file.read { try $0.lastRevision(until: date) }
                if found != Revision(UInt64(last)) { return "as of \(date): \(found), not \(last)" }
            }
        }
        return nil
    }

    private func verified() throws -> String? {
        let report = try file.verify()
        if let problem = report.problems.first { return problem }
        let floor = Int(try floor().number)
        for index in commits.indices[floor...] {
            let commit = try file.read { try $0.commit(Revision(UInt64(index + 1))) }
            if commit.id.token != commits[index].token { return "\(commit) is another" }
        }
        return nil
    }
}
