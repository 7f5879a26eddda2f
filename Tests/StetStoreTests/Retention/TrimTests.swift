import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Synchronization
import Testing

/// A store whose oldest commits were trimmed.
struct TrimTests {
    private let library: Library
    private let tag = ObjectKey(Number.tag, 1)

    init() throws { library = try Library() }

    private var file: StoreFile { library.file }

    private func fill(_ count: Int, seed: UInt64 = 1) throws {
        var history = RandomHistory(seed: seed)
        for number in 0..<count {
            try library.commit(
                history.edits(of: library),
                EditNote(author: number % 3 == 0 ? nil : "a", time: Double(number)))
        }
    }

    private func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
        thrown(StoreError.self, body)?.code
    }

    private func floor() throws -> Revision { try file.read { try $0.floor() } }

    /// Everything at and above the floor is as the array says, and the rest is refused or right.
    private func check(floor: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try self.floor() == Revision(floor), sourceLocation: sourceLocation)
        let head = library.revision.number
        for number in floor...head {
            #expect(
                try file.objects(asOf: Revision(number))
                    == library.expected(asOf: Revision(number)),
                "\(number)", sourceLocation: sourceLocation)
        }
        for number in 0..<floor {
            let revision = Revision(number)
            for key in Set(library.states.flatMap(\.values.keys)).sorted() {
                do {
                    let shown = try file.object(key, asOf: revision)
                    #expect(
                        shown == library.expected(asOf: revision)[key],
                        sourceLocation: sourceLocation)
                } catch let error as StoreError {
                    #expect(error.code == .historyTrimmed, sourceLocation: sourceLocation)
                }
            }
            guard number > 0 else { continue }
            #expect(
                code { try file.read { try $0.commit(revision) } } == .historyTrimmed,
                sourceLocation: sourceLocation)
        }
        if floor < head {
            for number in floor + 1...head {
                #expect(
                    try file.read { try $0.commit(Revision(number)) }
                        == library.commits[Int(number) - 1], sourceLocation: sourceLocation)
            }
        }
        #expect(try file.verify().problems == [], sourceLocation: sourceLocation)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func theStateIsThatOfTheArrayFromTheFloorOn(seed: UInt64) throws {
        try fill(30, seed: seed)
        for floor in [1, 2, 15, 29, 30] as [UInt64] {
            try file.trim(through: Revision(floor))
            try check(floor: floor)
            try library.reopen()
            try check(floor: floor)
        }
        // A store without any journal entries accepts new commits.
        try fill(10, seed: seed + 100)
        try check(floor: 30)
        try file.trim(through: 12)
        try check(floor: 30)
        try file.trim(through: .max)
        try check(floor: 40)
    }

    @Test func everythingThatAsksBelowTheFloorIsTold() throws {
        for number in 1...6 {
            try library.commit(
                [library.edit(tag, [.data(Data([UInt8(number)]))])],
                EditNote(author: "a", time: Double(number)))
        }
        try file.trim(through: 3)
        let owner = UndoOwner(author: "a", scope: nil)
        func revisions(from first: Revision.Bound) throws -> [Revision] {
            try file.read { try $0.history(ofEntity: 3, tag.id, from: first) }.map(\.revision)
        }
        #expect(code { try file.read { try $0.commit(3) } } == .historyTrimmed)
        #expect(code { try file.read { try $0.commit(2) } } == .historyTrimmed)
        #expect(try file.read { try $0.commit(4) }.revision == 4)
        #expect(code { try file.read { try $0.difference(from: 2, to: 6) } } == .historyTrimmed)
        #expect(try file.read { try $0.difference(from: 3, to: 6) }.changes.count == 1)
        #expect(code { try revisions(from: 1) } == .historyTrimmed)
        #expect(try revisions(from: .earliest) == [6, 5, 4])
        #expect(try revisions(from: 5) == [6, 5])
        #expect(code { try revisions(from: 2) } == .historyTrimmed)
        #expect(code { _ = try file.preparedUndo(.revert(2)) } == .historyTrimmed)
        #expect(
            code { try file.read { try $0.nextCommit(from: 1, to: 6, where: Commit.Filter()) } }
                == .historyTrimmed)
        #expect(try file.read { try $0.lastRevision(until: 4.5) } == 4)
        #expect(try file.read { try $0.lastRevision(until: 3) } == 3)
        #expect(code { try file.read { try $0.lastRevision(until: 2.5) } } == .historyTrimmed)
        let id = CommitID(store: file.storeID, base: 0, token: 8)
        #expect(file.outcome(of: id) == .unknown)
        for _ in 1...3 { try file.undo(.undo(owner), time: 9) }
        #expect(code { try file.undo(.undo(owner), time: 9) } == .historyTrimmed)
        #expect(try file.object(tag, asOf: .max)?.cells == [.bytes([3])])
        #expect(try file.verify().problems == [])
    }

    @Test func aMessageSaysWhereTheJournalBegins() throws {
        try fill(5)
        try file.trim(through: 4)
        let error = thrown(StoreError.self) { try file.read { try $0.commit(2) } }
        #expect(error?.message == "Commit 2 was trimmed: the journal begins after 4.")
        #expect(error?.path == file.path)
    }

    @Test func thePlanSaysWhatWouldBeLostAndChangesNothing() throws {
        for (author, scope) in [("a", nil), ("b", "x"), ("a", nil), (nil, nil), ("a", "x")] {
            try library.commit(
                [library.edit(tag, [.data(Data([UInt8(library.states.count)]))])],
                EditNote(author: author, scope: scope))
        }
        try file.undo(.undo(UndoOwner(author: "a", scope: "x")))
        let dump = try file.dump()
        let plan = try file.read { try TrimPlan(through: 5, $0) }
        #expect(plan.floor == 5)
        #expect(plan.commitCount == 5)
        let bytes = dump["journal"]?.filter { $0.key[7] <= 5 }.reduce(0) { $0 + $1.value.count }
        #expect(plan.byteCount == bytes)
        #expect(
            plan.lostSteps == [
                TrimPlan.LostSteps(author: "a", scope: nil, undoCount: 2, redoCount: 0),
                TrimPlan.LostSteps(author: "b", scope: "x", undoCount: 1, redoCount: 0),
            ])
        #expect(try file.dump() == dump)
        let whole = try file.read { try TrimPlan(through: .max, $0) }
        #expect(whole.floor == 6)
        #expect(whole.commitCount == 6)
        #expect(whole.lostSteps.count == 3)
        try file.trim(through: 5)
        let rest = try file.read { try TrimPlan(through: 5, $0) }
        #expect(rest.commitCount == 0)
        #expect(rest.byteCount == 0)
        #expect(rest.lostSteps == [])
    }

    @Test func aTrimInManyStepsCanBeInterruptedAndGoneOnWith() throws {
        for number in 0..<2_500 {
            try library.commit([
                library.edit(ObjectKey(Number.tag, number % 7), [.data(Data("\(number)".utf8))])
            ])
        }
        var floors: [Revision] = []
        try file.trim(through: 2_400) { floor in
            floors.append(floor)
            return false
        }
        #expect(floors == [1_000])
        #expect(try file.verify().problems == [])
        try library.reopen()
        try file.trim(through: 2_400) { floor in
            floors.append(floor)
            return true
        }
        #expect(floors == [1_000, 2_000])
        #expect(try floor() == 2_400)
        #expect(try file.objects(asOf: 2_450) == library.expected(asOf: 2_450))
        #expect(try file.verify().problems == [])
    }

    @Test func whoReadsMeanwhileGoesOnReadingTheOldCommits() throws {
        try fill(10)
        let expected = library.commits.map(\.hash)
        var hashes: [String] = []
        try file.read { reader in
            for number in 1...10 as ClosedRange<UInt64> {
                hashes.append(try reader.commit(Revision(number)).hash)
                if number == 3 {
                    // Uses another thread, because a thread has one transaction at a time.
                    let thread = Thread { [file] in try? file.trim(through: 8) }
                    thread.start()
                    while !thread.isFinished { sched_yield() }
                }
            }
        }
        #expect(hashes == expected)
        try check(floor: 8)
    }

    @Test func aDamagedEntryIsNotTrimmedAway() throws {
        try fill(6)
        let entries = try #require(try file.dump()["journal"])
        let third = try #require(entries.first { $0.key[7] == 3 })
        var damaged = third.value
        damaged[damaged.count - 1] ^= 1
        try file.tamper("journal", third.key, damaged)
        #expect(code { try file.trim(through: 5) } == .damaged)
        #expect(try floor() == 0)
        try file.tamper("journal", third.key, nil)
        #expect(code { try file.trim(through: 5) } == .damaged)
        try file.tamper("journal", third.key, third.value)
        try file.trim(through: 5)
        try check(floor: 5)
    }

    // MARK: Hostile bytes

    private var floorKey: [UInt8] { Array("floor".utf8) }

    @Test func everyAlteredByteOfTheFloorIsReported() throws {
        try fill(8)
        try file.trim(through: 5)
        let value = try #require(try file.dump()[""]?[floorKey])
        for index in value.indices {
            for bit in 0..<8 {
                var damaged = value
                damaged[index] ^= 1 << UInt8(bit)
                try file.tamper(nil, floorKey, damaged)
                #expect(code { try file.verify() } == .damaged, "\(index)")
            }
        }
        for count in 0..<value.count {
            try file.tamper(nil, floorKey, Array(value.prefix(count)))
            #expect(code { try file.read { try $0.commit(1) } } == .damaged, "\(count)")
        }
        try file.tamper(nil, floorKey, value + [0])
        #expect(code { try file.trim(through: 7) } == .damaged)
        try file.tamper(nil, floorKey, value)
        try check(floor: 5)
    }

    @Test func aFloorThatIsWrongInAnyFieldIsReported() throws {
        try fill(8)
        try file.trim(through: 5)
        let value = try #require(try file.dump()[""]?[floorKey])
        let floor = try value.withUnsafeBytes { try JournalFloor(decoding: $0) }
        var others = Array(repeating: floor, count: 7)
        others[0].revision = 4
        others[1].revision = 6
        others[2].hash = .zero
        others[3].digest += StateDigest(first: 1, second: 0)
        others[4].schemaRevision = 2
        others[5].time = 1e9
        others[6].digest += StateDigest(first: 0, second: 1)
        for (number, other) in others.enumerated() {
            var buffer = ByteBuffer()
            other.append(to: &buffer)
            try file.tamper(nil, floorKey, Array(buffer.bytes))
            let problems = (try? file.verify().problems) ?? ["refused"]
            #expect(!problems.isEmpty, "\(number)")
        }
        try file.tamper(nil, floorKey, nil)
        #expect(try file.verify().problems.isEmpty == false)
    }

    @Test func everyAlteredRecordIsStillFoundAfterATrim() throws {
        try fill(8)
        try file.trim(through: 5)
        var missed: [String] = []
        for table in ["records.1", "records.2", "records.3", "members", "journal"] {
            for (key, value) in try #require(try file.dump()[table]) {
                var damages: [[UInt8]?] = [nil]
                for index in value.indices {
                    var damaged = value
                    damaged[index] ^= 1 << UInt8(index % 8)
                    damages.append(damaged)
                }
                for damage in damages {
                    try file.tamper(table, key, damage)
                    let problems = (try? file.verify().problems) ?? ["refused"]
                    if problems.isEmpty { missed.append("\(table) \(key)") }
                }
                try file.tamper(table, key, value)
            }
        }
        #expect(missed == [])
        try check(floor: 5)
    }

    /// The digest comes from the journal, not from the records: a record that was wrong before the
    /// trim is wrong after it.
    @Test func aTrimDoesNotMakeAWrongRecordRight() throws {
        try library.commit([library.edit(tag, [.data(Data([1]))])])
        try library.commit([library.edit(ObjectKey(Number.tag, 2), [.data(Data([2]))])])
        var record = encodedBody([.data(Data([9]))])
        let header = RecordHeader(isTombstone: false, schemaRevision: 1, revision: 1)
        let body = record
        record = [UInt8](repeating: 0, count: RecordLayout.headerByteCount) + body
        let hash = body.withUnsafeBytes { RecordHeader.bodyHash($0, of: tag.id) }
        record.withUnsafeMutableBytes { header.store(bodyHash: hash, to: $0.baseAddress!) }
        try file.tamper("records.3", tag.id.bytes, record)
        try file.trim(through: 2)
        #expect(
            try file.verify().problems == [
                "The state that the journal begins with is not the one that it was trimmed to."
            ])
    }

    // MARK: Retention

    @Test func retentionTellsWhatNeedNotBeKept() throws {
        var configuration = StoreFile.Configuration.small()
        for (retention, expected) in [
            (Retention.forever, 0), (.count(3), 7), (.count(0), 10), (.count(100), 0),
            (.age(.seconds(4)), 5), (.age(.seconds(100)), 0), (.age(.zero), 9),
        ] as [(Retention, UInt64)] {
            let directory = try StoreDirectory()
            configuration.retention = retention
            configuration.time = { 10 }
            // Each reading of the clock is 31 seconds after the last one.
            let clock = Mutex(Duration.zero)
            configuration.uptime = {
                clock.withLock {
                    $0 += .seconds(31)
                    return $0
                }
            }
            let file = try StoreFile.open(at: directory.file(), schema: .library, configuration)
            for number in 1...10 {
                _ = try file.commit(
                    [Edit(ObjectKey(Number.tag, number), from: nil, to: [.data(Data())])],
                    EditNote(time: Double(number)))
            }
            file.attend()
            while try file.read({ try $0.floor() }) < Revision(expected) { sched_yield() }
            let rounds = file.idleRoundCount
            while file.idleRoundCount < rounds + 2 {
                file.attend()
                sched_yield()
            }
            #expect(try file.read { try $0.floor() } == Revision(expected), "\(retention)")
            if expected > 0 { #expect(try file.overview().floor?.retention == retention) }
            #expect(try file.verify().problems == [])
        }
    }
}
