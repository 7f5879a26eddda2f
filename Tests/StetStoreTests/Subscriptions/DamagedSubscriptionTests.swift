import Foundation
import StetLMDB
@testable import StetStore
import StetTestSupport
import Testing

/// The stored state of subscriptions, in stores that somebody has written into.
struct DamagedSubscriptionTests {
    private let recordKey = Array("subscription.mailer".utf8)
    private let parkedKey = Array("parked.mailer".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 2]

    /// Returns a library with three commits and a subscription that has failed once, is at the
    /// second commit, and has parked it.
    private func library() throws -> Library {
        let library = try Library()
        for number in 1...3 {
            try library.commit([
                library.edit(ObjectKey(Number.tag, 300 + number), [.data(Data([1]))])
            ])
        }
        let subscriptions = library.file.subscriptions
        try subscriptions.update(
            SubscriptionUpdate("mailer", .create(after: 1, holdsHistory: true)))
        let owner = try subscriptions.update(SubscriptionUpdate("mailer", .acquire))
        func update(_ action: SubscriptionUpdate.Action) throws {
            try subscriptions.update(
                SubscriptionUpdate("mailer", fence: owner.fence, action))
        }
        let parked = SubscriptionState.ParkedDelivery(
            revision: 2, objects: [.fixed(301), .fixed(302)], failure: failure(at: 2))
        try update(.park(parked, from: 1))
        try update(.fail(failure(at: 3), isLast: false))
        return library
    }

    private func failure(at revision: Revision) -> SubscriptionState.Failure {
        SubscriptionState.Failure(
            revision: revision, count: 1, time: Date(timeIntervalSinceReferenceDate: 1_000),
            message: "no answer")
    }

    /// Reads and changes a subscription in every way: each step fails with a `StoreError` or a
    /// `SubscriptionError`, or not at all.
    private func useAll(
        _ library: Library, _ note: Comment, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let file = library.file
        let subscriptions = file.subscriptions
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch is StoreError {} catch is SubscriptionError {} catch {
                Issue.record(
                    "\(type(of: error)): \(error), \(note)", sourceLocation: sourceLocation)
            }
        }
        attempt { _ = try subscriptions.record(named: "mailer") }
        attempt { _ = try subscriptions.parkedDeliveries(of: "mailer") }
        attempt { _ = try subscriptions.states() }
        attempt { _ = try file.read { try TrimPlan(through: 2, $0) } }
        var fence: UInt64?
        attempt {
            fence = try subscriptions.update(SubscriptionUpdate("mailer", .acquire)).fence
        }
        for action in [
            .pause, .resume, .retryParked(nil), .rewind(to: 1), .dropParked(nil),
        ] as [SubscriptionUpdate.Action] {
            attempt { _ = try subscriptions.update(SubscriptionUpdate("mailer", action)) }
        }
        attempt {
            _ = try subscriptions.update(
                SubscriptionUpdate("mailer", fence: fence, .advance(from: 1, to: 3)))
        }
    }

    /// Renews the checksum that a value ends with.
    private func sealed(_ value: [UInt8]) -> [UInt8] {
        guard value.count >= 8 else { return value }
        let content = Array(value.dropLast(8))
        let hash = content.withUnsafeBytes { Checksum.hash($0, seed: 0) }
        return content + withUnsafeBytes(of: hash.littleEndian) { Array($0) }
    }

    private func restore(_ dump: [[UInt8]: [UInt8]], in library: Library) throws {
        for key in [recordKey, parkedKey] { try library.file.tamper(nil, key, dump[key]) }
    }

    @Test(arguments: [false, true])
    func aByteThatIsAnotherIsReportedOrHarmless(isSealed: Bool) throws {
        let library = try library()
        let dump = try #require(try library.file.dump()[""])
        for key in [recordKey, parkedKey] {
            let whole = try #require(dump[key])
            #expect(sealed(whole) == whole)
            for index in whole.indices {
                for byte: UInt8 in [whole[index] ^ 1, whole[index] ^ 0x80, 0, 0xff]
                where byte != whole[index] {
                    var bytes = whole
                    bytes[index] = byte
                    if isSealed { bytes = sealed(bytes) }
                    try restore(dump, in: library)
                    try library.file.tamper(nil, key, bytes)
                    let note: Comment = "byte \(index) of \(key.count) is \(byte)"
                    if !isSealed {
                        #expect(try !library.file.verify().problems.isEmpty, note)
                        #expect(throws: StoreError.self, note) {
                            try library.file.subscriptions.states()
                        }
                    } else {
                        // `verify` reports the damage and does not throw.
                        _ = try library.file.verify()
                    }
                    try useAll(library, note)
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func aValueThatIsCutShortIsReported(isSealed: Bool) throws {
        let library = try library()
        let dump = try #require(try library.file.dump()[""])
        for key in [recordKey, parkedKey] {
            let whole = try #require(dump[key])
            for count in 0..<whole.count {
                try restore(dump, in: library)
                let cut = Array(whole.prefix(count))
                try library.file.tamper(nil, key, isSealed ? sealed(cut) : cut)
                let note: Comment = "\(count) of \(whole.count) bytes"
                #expect(try !library.file.verify().problems.isEmpty, note)
                try useAll(library, note)
            }
        }
    }

    @Test func keysThatNameNothingAreReported() throws {
        let library = try library()
        let value = try #require(try library.file.dump()[""]?[recordKey])
        try library.file.tamper(nil, Array("subscription.".utf8) + [0xff, 0xfe], value)
        #expect(
            try library.file.verify().problems.contains {
                $0.contains("the name of a subscription that is not UTF-8")
            })
        #expect(
            thrown(StoreError.self) { try library.file.subscriptions.states() }?.code == .damaged)
    }

    @Test func numbersAtTheirEndsTrapNowhere() throws {
        let library = try library()
        let most = SubscriptionRecord(
            name: "mailer", position: Revision(.max), fence: .max, version: .max,
            holdsHistory: true, failure: failure(at: Revision(.max)))
        try library.file.environment.write { try SubscriptionTable.put(most, in: $0) }
        #expect(
            try library.file.verify().problems.contains {
                $0.contains("after the last commit")
            })
        #expect(try library.file.subscriptions.states().map(\.lag) == [0])
        let owner = try library.file.subscriptions.update(SubscriptionUpdate("mailer", .acquire))
        #expect(owner.fence == 0)
        #expect(owner.version == 0)
        try library.file.subscriptions.update(SubscriptionUpdate("mailer", .rewind(to: 1)))
        #expect(try library.file.subscriptions.record(named: "mailer")?.position == 1)
    }

    #if STET_FAULTS
        @Test(arguments: [LMDBError.Operation.begin, .get, .put, .commit])
        func anUpdateThatFailsChangesNothing(operation: LMDBError.Operation) throws {
            let library = try library()
            let before = try library.file.dump()
            let update = SubscriptionUpdate("mailer", .advance(from: 2, to: 3))
            library.file.environment.faults.failNext(operation, code: LMDBError.noSpace)
            let error = thrown(StoreError.self) { try library.file.subscriptions.update(update) }
            #expect(error?.code == .diskFull)
            #expect(error?.path == library.file.path)
            #expect(!library.file.environment.faults.isArmed)
            #expect(try library.file.dump() == before)
            #expect(try library.file.subscriptions.update(update).position == 3)
            #expect(try library.file.verify().problems == [])
        }
    #endif
}
