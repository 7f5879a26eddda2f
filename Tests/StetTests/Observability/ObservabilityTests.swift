import Foundation
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import Stet
import StetLMDB
import StetServiceLifecycle
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// Metrics, logs and the life of a store in a service group.
struct ObservabilityTests {
    private let directory = TemporaryDirectory()
    private let metrics = TestMetrics()
    private let log = RecordedLog()

    private func open(
        uptime: (@Sendable () -> Duration)? = nil, retention: Retention = .forever
    ) throws -> Store {
        var configuration = Store.Configuration()
        configuration.retention = retention
        configuration.metricsFactory = metrics
        configuration.logger = log.logger
        configuration.uptime = uptime
        return try Store.open(
            at: directory.file("notes.stet"), for: Notebook.self, Article.self,
            configuration: configuration)
    }

    private let store = [("store", "notes.stet")]

    private func save(_ store: Store, _ name: String = "good") throws {
        let context = store.context()
        context.insert(Notebook(name: name))
        try context.save()
    }

    @Test func savesAreTimedAndBatchesCounted() throws {
        let opened = try open()
        for _ in 0..<5 { try save(opened) }
        let saves = try metrics.expectTimer("stet.save.duration", store)
        #expect(saves.values.count == 5)
        #expect(saves.values.allSatisfy { $0 > 0 })
        opened.close()
        #expect(try metrics.expectTimer("stet.commit.duration", store).values.count == 5)
        #expect(
            try metrics.expectRecorder("stet.commit.batch_size", store).values == [1, 1, 1, 1, 1])
        #expect(try metrics.expectGauge("stet.writer.queue_depth", store).lastValue == 0)
    }

    @Test func refusedSavesAreCountedByCode() throws {
        let opened = try open()
        for _ in 0..<3 { #expect(throws: ValidationError.self) { try save(opened, "") } }
        try save(opened)
        let (one, other) = (opened.context(), opened.context())
        try one.fetch(Notebook.self).all()[0].name = "one"
        try other.fetch(Notebook.self).all()[0].name = "other"
        try one.save()
        #expect(throws: ConflictError.self) { try other.save() }
        func count(_ code: String) throws -> Int64 {
            metrics.counterTotal(label: "stet.save.refused", dimensions: store + [("code", code)])
        }
        #expect(try count("Stet.1670") == 3)
        #expect(try count("conflict") == 1)
        #expect(metrics.counterTotal(label: "stet.save.refused") == 4)
        opened.close()
        #expect(throws: StoreError.self) { try one.fetch(Notebook.self).all()[0].name = "late" }
    }

    @Test func readsThatAreStuckAreMeasuredAndLogged() throws {
        let now = Monitor(Duration.seconds(100))
        let opened = try open { now.withLock { $0 } }
        try save(opened)
        try opened.file.read { _ in
            now.withLock { $0 += .seconds(75) }
            let round = opened.file.idleRoundCount
            opened.file.attend()
            while opened.file.idleRoundCount == round { sched_yield() }
        }
        let age = try metrics.expectGauge("stet.reader.oldest_age", store)
        #expect(age.values.max() == 75)
        #expect(try metrics.expectGauge("stet.reader.held_back_pages", store).lastValue != nil)
        let statistics = try opened.statistics()
        #expect(
            try metrics.expectGauge("stet.map.bytes", store).lastValue
                == Double(statistics.mapByteCount))
        #expect(try metrics.expectGauge("stet.log.bytes", store).lastValue != nil)
        #expect(try metrics.expectGauge("stet.log.checkpoint_age", store).lastValue != nil)
        #expect(
            log.lines.contains {
                $0.hasPrefix("warning A read has been open for long")
                    && $0.contains("process=\(getpid())") && $0.contains("seconds=75")
            }, "\(log.lines)")
    }

    @Test func aLogHandlerThatSavesIsRefusedInsteadOfWaitingForItself() throws {
        let now = Monitor(Duration.seconds(100))
        let opened = try open { now.withLock { $0 } }
        try save(opened)
        let codes = Monitor<[StoreError.Code]>([])
        log.listen { [weak opened] line in
            guard line.contains("A read has been open"), let opened else { return }
            do {
                let context = opened.context()
                context.insert(Notebook(name: "log"))
                try context.save()
            } catch {
                codes.withLock { $0.append((error as? StoreError)?.code ?? .damaged) }
            }
        }
        try opened.file.read { _ in
            now.withLock { $0 += .seconds(75) }
            let round = opened.file.idleRoundCount
            opened.file.attend()
            while opened.file.idleRoundCount == round { sched_yield() }
        }
        #expect(codes.withLock { $0 } == [.storeBusy])
        try save(opened)
        #expect(try opened.revision() == 2)
    }

    @Test func aProcessThatIsStoppedWhileItWritesIsNamed() async throws {
        let now = Monitor(Duration.zero)
        let opened = try open {
            now.withLock { time in
                time += .seconds(2)
                return time
            }
        }
        let other = try #require(
            ForeignLock(writing: directory.file("notes.stet"), process: 4_711))
        log.listen { line in
            if line.contains("Another process keeps this one from saving") { other.release() }
        }
        try save(opened)
        #expect(
            log.lines.contains {
                $0.hasPrefix("warning Another process") && $0.contains("process=4711")
            }, "\(log.lines)")
    }

    @Test func whoOpensAStoreWithAnotherRetentionIsWarned() throws {
        let first = try open(retention: .count(5))
        _ = try open(retention: .count(5))
        #expect(log.lines == [])
        let second = try open(retention: .count(7))
        #expect(log.lines.count { $0.contains("another retention") } == 1)
        withExtendedLifetime((first, second)) {}
    }

    #if STET_FAULTS
        @Test func aFailureOfTheDiskIsLoggedWithoutValues() throws {
            let opened = try open()
            opened.file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            #expect(throws: StoreError.self) { try save(opened, "secret") }
            #expect(log.lines.count { $0.hasPrefix("error A commit met a failure") } == 1)
            #expect(!log.lines.contains { $0.contains("secret") })
            #expect(
                metrics.counterTotal(
                    label: "stet.save.refused", dimensions: store + [("code", "inputOutput")]) == 1)
        }
    #endif

    @Test func theLagOfAnObserverIsRecorded() async throws {
        let opened = try open()
        var observer = opened.commits.makeAsyncIterator()
        for _ in 0..<10 {
            let context = opened.context()
            context.insert(Notebook(name: "good"))
            try await context.save()
        }
        for _ in 0..<10 { _ = try await observer.next() }
        let lags = try metrics.expectRecorder("stet.observer.lag", store).values
        #expect(lags == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    }

    @Test func aServiceGroupClosesTheStoreWhenItShutsDown() async throws {
        let opened = try open()
        let user = StoreUser(store: opened)
        let group = ServiceGroup(
            services: [opened, user], gracefulShutdownSignals: [], cancellationSignals: [],
            logger: log.logger)
        let running = Task { try await group.run() }
        while try opened.revision() < 5 { await Task.yield() }
        await group.triggerGracefulShutdown()
        try await running.value
        let saved = user.saved.withLock { $0 }
        #expect(throws: StoreError.self) { try opened.revision() }
        #expect(saved >= 5)
        #expect(try open().revision() == Revision(UInt64(saved)))
    }
}

/// A service that saves until it is asked to stop.
private final class StoreUser: Service {
    let store: Store
    let saved = Monitor(0)

    init(store: Store) { self.store = store }

    func run() async throws {
        let context = store.context()
        while !Task.isShuttingDownGracefully {
            context.insert(Notebook(name: "from a service"))
            try await context.save()
            saved.withLock { $0 += 1 }
        }
    }
}
