import Foundation
import StetStore
import Testing

/// The subscriptions that an earlier version wrote are read, and continued, by this one.
struct GoldenSubscriptionTests {
    private static let tag = ObjectKey(Number.tag, 1)
    private static let other = ObjectKey(Number.tag, 2)
    private static let failure = SubscriptionState.Failure(
        revision: 3, count: 2, time: Date(timeIntervalSinceReferenceDate: 12.5),
        message: "no \u{e9}cho")

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: .library, .small(mapByteCount: 1 << 20))
        func bytes(_ byte: UInt8) -> [Value] { [.data(Data([byte]))] }
        let edits = [
            Edit(tag, from: nil, to: bytes(0)), Edit(tag, from: bytes(0), to: bytes(1), base: 1),
            Edit(other, from: nil, to: bytes(2)), Edit(tag, from: bytes(1), to: bytes(3), base: 2),
        ]
        for (index, edit) in edits.enumerated() {
            _ = try file.commit([edit], EditNote(author: "a", time: Double(index)))
        }
        func update(
            _ name: String, _ action: SubscriptionUpdate.Action, by fence: UInt64? = nil
        ) throws {
            try file.subscriptions.update(SubscriptionUpdate(name, fence: fence, action))
        }
        try update("mailer", .create(after: 1, holdsHistory: true))
        try update("mailer", .acquire)
        try update("mailer", .acquire)
        let parked = SubscriptionState.ParkedDelivery(
            revision: 2, objects: [tag.id], failure: failure(of: 2))
        try update("mailer", .park(parked, from: 1), by: 2)
        try update("mailer", .fail(failure, isLast: true), by: 2)
        try update("index \u{1F50E}", .create(after: 0, holdsHistory: false))
        try update("index \u{1F50E}", .acquire)
        try update("index \u{1F50E}", .advance(from: 0, to: 4), by: 1)
        try update("index \u{1F50E}", .pause)
        file.close()
    }

    private static func failure(of revision: Revision) -> SubscriptionState.Failure {
        SubscriptionState.Failure(
            revision: revision, count: 5, time: Date(timeIntervalSinceReferenceDate: -1),
            message: "")
    }

    @Test func theGoldenSubscriptionsAreReadAndGoneOnWith() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("subscriptions", to: directory.file(), madeBy: Self.make)
        let file = try directory.open()
        let states = try file.subscriptions.states()
        #expect(states.map(\.name) == ["index \u{1F50E}", "mailer"])
        #expect(states.map(\.status) == [.paused, .stopped])
        #expect(states.map(\.position) == [4, 2])
        #expect(states.map(\.lag) == [0, 2])
        #expect(states.map(\.parkedCount) == [0, 1])
        #expect(states.map(\.failure) == [nil, Self.failure])
        #expect(states.map(\.holdsHistory) == [false, true])
        let record = try #require(try file.subscriptions.record(named: "mailer"))
        #expect(record.fence == 2)
        #expect(
            try file.subscriptions.parkedDeliveries(of: "mailer") == [
                SubscriptionState.ParkedDelivery(
                    revision: 2, objects: [Self.tag.id], failure: Self.failure(of: 2))
            ])
        #expect(try file.verify().problems == [])

        func update(_ action: SubscriptionUpdate.Action, by fence: UInt64? = nil) throws {
            try file.subscriptions.update(SubscriptionUpdate("mailer", fence: fence, action))
        }
        try update(.resume)
        try update(.acquire)
        #expect(
            thrown(SubscriptionError.self) { try update(.advance(from: 2, to: 3), by: 2) }?.code
                == .lost)
        try update(.advance(from: 2, to: 3), by: 3)
        try update(.finishParked(2), by: 3)
        #expect(try file.subscriptions.states().map(\.position) == [4, 3])
        #expect(try file.subscriptions.parkedDeliveries(of: "mailer") == [])
        #expect(try file.verify().problems == [])
    }
}
