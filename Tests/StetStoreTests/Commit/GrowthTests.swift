import Foundation
import StetLMDB
import StetStore
import Synchronization
import Testing

/// The map, when it is full.
struct GrowthTests {
    let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private func open(initial: Int, largest: Int, readers: Int = 510) throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = largest
        configuration.initialMapByteCount = initial
        configuration.readerCount = readers
        return try StoreFile.open(at: directory.file(), schema: .library, configuration)
    }

    private func large(_ number: Int) -> Edit { .insertTag(number, 1, byteCount: 100_000) }

    @Test func aFullMapGrowsWhileReadersComeAndGo() throws {
        let file = try open(initial: 1 << 20, largest: 1 << 30)
        #expect(try file.environment.statistics().mapByteCount == 1 << 20)
        let isDone = Atomic(false)
        let problems = Monitor<[String]>([])
        onThreads(4) { thread in
            do {
                if thread == 0 {
                    defer { isDone.store(true, ordering: .relaxed) }
                    for number in 1...100 { _ = try file.commit([large(number)]) }
                    return
                }
                while !isDone.load(ordering: .relaxed) {
                    try file.read { reader in
                        // Nested reads do not wait for the writer that wants to grow the map.
                        let inner = try file.read { try $0.recordCount(ofEntity: Number.tag) }
                        let count = try reader.recordCount(ofEntity: Number.tag)
                        guard UInt64(count) == (try reader.head().revision.number), inner >= count
                        else { throw DecodingFailure("\(count), then \(inner)") }
                    }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
                isDone.store(true, ordering: .relaxed)
            }
        }
        #expect(problems.withLock { $0 } == [])
        // The journal and the records contain 20 MB.
        #expect(try file.environment.statistics().mapByteCount == 32 << 20)
        #expect(try file.verify().problems == [])
        #expect(try file.verify().commitCount == 100)
    }

    @Test func aBatchThatDoesNotFitGrowsTheMapAsAWhole() throws {
        let file = try open(initial: 1 << 20, largest: 64 << 20)
        let writer = HeldWriter(file.environment)
        let first = try file.submit(try file.encode([large(0)]))
        file.untilWaiting(0)
        let submissions = try (1...60).map { try file.submit(try file.encode([large($0)])) }
        writer.release()
        _ = try first.wait()
        #expect(try submissions.map { try $0.wait().revision.number } == Array(2...61))
        #expect(try file.verify().problems == [])
    }

    @Test func aMapOfTheLargestSizeThatIsFullRefusesAndLosesNothing() throws {
        let file = try open(initial: 1 << 20, largest: 4 << 20)
        var count = 0
        var error: StoreError?
        while error == nil {
            error = thrown(StoreError.self) { try file.commit([large(count)]) }
            if error == nil { count += 1 }
        }
        #expect(error?.code == .mapFull)
        #expect(error?.path == file.path)
        #expect(error?.message.contains("MDB_MAP_FULL") == true)
        #expect(error?.advice.isEmpty == false)
        #expect((10...20).contains(count))
        #expect(try file.environment.statistics().mapByteCount == 4 << 20)
        #expect(try file.verify().problems == [])
        #expect(try file.verify().commitCount == count)
        // A smaller commit still fits.
        _ = try file.commit([.insertTag(10_000)])
        // With a larger map the store accepts the large commit.
        file.close()
        let larger = try open(initial: 4 << 20, largest: 8 << 20)
        _ = try larger.commit([large(10_001)])
        #expect(try larger.verify().commitCount == count + 2)
    }

    @Test func ofABatchThatIsTooLargeWhatFitsIsCommitted() throws {
        let file = try open(initial: 4 << 20, largest: 4 << 20)
        let writer = HeldWriter(file.environment)
        let first = try file.submit(try file.encode([large(0)]))
        file.untilWaiting(0)
        let submissions = try (1...30).map { try file.submit(try file.encode([large($0)])) }
        writer.release()
        _ = try first.wait()
        let outcomes = submissions.map { submission in Result { try submission.wait() } }
        let count = outcomes.count { (try? $0.get()) != nil }
        #expect((5...20).contains(count))
        for outcome in outcomes.dropFirst(count) {
            #expect(thrown(StoreError.self) { try outcome.get() }?.code == .mapFull)
        }
        #expect(try file.verify().problems == [])
        #expect(try file.verify().commitCount == count + 1)
    }

    @Test func aReadThatStaysOpenHoldsPagesBackAndIsNamedWithItsAge() throws {
        let now = Monitor(Duration.seconds(100))
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = 4 << 20
        configuration.uptime = { now.withLock { $0 } }
        let file = try StoreFile.open(at: directory.file(), schema: .library, configuration)
        let tag = ObjectKey(Number.tag, 1)
        var value = Data(count: 20_000)
        _ = try file.commit([Edit(tag, from: nil, to: [.data(value)])])
        try file.read { reader in
            now.withLock { $0 = .seconds(145) }
            var error: StoreError?
            var revision = Revision(1)
            while error == nil {
                var next = value
                next[0] &+= 1
                error = thrown(StoreError.self) {
                    let edit = Edit(
                        tag, from: [.data(value)], to: [.data(next)], base: revision)
                    revision = try file.commit([edit]).revision
                }
                if error == nil { value = next }
            }
            #expect(error?.code == .mapFull)
            let statistics = try file.statistics()
            #expect(
                statistics.readers == [
                    StoreStatistics.Reader(processID: getpid(), age: .seconds(45))
                ])
            #expect(statistics.heldBackPageCount > 20)
            #expect(
                error?.advice.contains("process \(getpid()) has been reading for 45 seconds")
                    == true, "\(error?.advice ?? "")")
            #expect(try reader.head().revision == 1)
        }
        let statistics = try file.statistics()
        #expect(statistics.readers == [])
        #expect(statistics.heldBackPageCount == 0)
        // The end of the read frees the pages, so further commits fit.
        for number in 2...40 { _ = try file.commit([.insertTag(number, 1, byteCount: 2_000)]) }
        #expect(try file.verify().problems == [])
    }

    @Test func asManyReadsAsThereAreSlotsAndNoMore() throws {
        let file = try open(initial: 4 << 20, largest: 4 << 20, readers: 6)
        func nest(_ depth: Int) throws {
            if depth > 0 { try file.read { _ in try nest(depth - 1) } }
        }
        try nest(5)
        try nest(6)
        let error = thrown(StoreError.self) { try nest(7) }
        #expect(error?.code == .readersFull)
        #expect(error?.path == file.path)
        #expect(error?.advice.contains("reader limit") == true)
        #expect(try file.commit([.insertTag(1)]).revision == 1)
        try nest(6)
    }
}
