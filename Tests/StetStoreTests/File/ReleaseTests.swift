import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// A store that nobody uses any more, although it was not closed.
struct ReleaseTests {
    @Test func itCanBeOpenedWithLaterModelsWhileItsThreadFinishesItsWork() throws {
        let directory = try StoreDirectory()
        let (earlier, later) = (
            try Schema(entities: [note(.title)]), try Schema(entities: [note(.title, .rating)])
        )
        let origins = SchemaOrigins(defaults: ["Note": ["rating": .int(0)]])
        let round = BlockedRound()
        var configuration = StoreFile.Configuration.small()
        configuration.uptime = {
            round.pass()
            return systemUptime()
        }
        var file: StoreFile? = try StoreFile.open(
            at: directory.file(), schema: earlier, configuration)
        round.block()
        file?.attend()
        round.waitUntilBlocked()
        file = nil
        let outcome = Monitor<Result<StoreFile, any Error>?>(nil)
        Thread.detachNewThread {
            round.exemptThisThread()
            let opened = Result {
                try StoreFile.open(
                    at: directory.file(), schema: later, origins: origins, .small())
            }
            outcome.withLock { $0 = opened }
            outcome.notify()
        }
        // Lets the other thread find the store that its thread still retains.
        for _ in 0..<1_000 { sched_yield() }
        round.end()
        let opened = try outcome.wait { $0 }.get()
        #expect(opened.schema.entities.map(\.properties.count) == [2])
        opened.close()
    }

    @Test func otherModelsAreRefusedWhileASaveWaitsForAnotherProcess() throws {
        let directory = try StoreDirectory()
        let file = try directory.open()
        let other = try #require(ForeignLock(writing: directory.file(), process: 4_711))
        let submission = try file.submitInserts([1])[0]
        let error = thrown(StoreError.self) {
            try StoreFile.open(
                at: directory.file(), schema: try Schema(entities: [note(.title)]), .small())
        }
        #expect(error?.code == .modelMismatch)
        #expect(!submission.isDecided)
        other.release()
        #expect(try submission.wait().revision == 1)
    }
}

/// A round of work of a writer's thread that is held up.
private final class BlockedRound: Sendable {
    private enum Stage { case free, armed, blocked }

    private let stage = Monitor(Stage.free)
    private let exempt = Monitor<Set<UInt>>([])

    init() { exemptThisThread() }

    func exemptThisThread() { _ = exempt.withLock { $0.insert(pthread_self()) } }

    func block() { reach(.armed) }

    func end() { reach(.free) }

    func waitUntilBlocked() { stage.wait { $0 == .blocked ? () : nil } }

    /// Called by every thread that asks for the time.
    func pass() {
        if exempt.withLock({ $0.contains(pthread_self()) }) { return }
        let isHeld = stage.withLock { stage in
            if stage == .armed { stage = .blocked }
            return stage == .blocked
        }
        guard isHeld else { return }
        stage.notify()
        stage.wait { $0 == .free ? () : nil }
    }

    private func reach(_ next: Stage) {
        stage.withLock { $0 = next }
        stage.notify()
    }
}
