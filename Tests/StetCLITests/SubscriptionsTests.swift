import Foundation
import StetStore
import Testing

/// The command `subscriptions`, on a store that is in use.
struct SubscriptionsTests {
    private let fixture: Fixture

    /// Creates three commits, and two subscriptions: one is at the first commit and has failed, the
    /// other has parked it.
    init() throws {
        fixture = try Fixture()
        for (number, name) in ["a", "b", "c"].enumerated() {
            try fixture.commit([(2, .fixed(1), [.string(name)])], time: Double(number))
        }
        let subscriptions = fixture.file.subscriptions
        let failure = SubscriptionState.Failure(
            revision: 2, count: 5, time: Date(timeIntervalSinceReferenceDate: 0), message: "no\nway"
        )
        let id = try #require(ObjectID("01900000-0000-7000-8000-000000000001"))
        let parked = SubscriptionState.ParkedDelivery(revision: 2, objects: [id], failure: failure)
        let updates = [
            SubscriptionUpdate("audit", .create(after: 1, holdsHistory: false)),
            SubscriptionUpdate("audit", fence: 0, .fail(failure, isLast: true)),
            SubscriptionUpdate("mail", .create(after: 0, holdsHistory: true)),
            SubscriptionUpdate("mail", fence: 0, .park(parked, from: 0)),
        ]
        for update in updates { try subscriptions.update(update) }
    }

    private func run(_ arguments: String...) throws -> Tool.Outcome {
        try Tool.Running(["subscriptions", fixture.path] + arguments).outcome()
    }

    @Test func allAreListed() throws {
        let text = """
            audit: stopped at 1, 2 behind, holds no history
              commit 2 failed 5 times, last 2001-01-01T00:00:00.000Z: no\\nway
            mail: active at 2, 1 behind, 1 parked

            """
        #expect(try run() == Tool.Outcome(status: 0, output: text))
        let failure = """
            {"count":5,"message":"no\\nway","revision":2,"time":"2001-01-01T00:00:00.000Z"}
            """
        let json = """
            {"failure":\(failure),"holdsHistory":false,"isOwned":false,"lag":2,"name":"audit",\
            "parkedCount":0,"position":1,"status":"stopped"}
            {"failure":null,"holdsHistory":true,"isOwned":false,"lag":1,"name":"mail",\
            "parkedCount":1,"position":2,"status":"active"}

            """
        #expect(try run("--json") == Tool.Outcome(status: 0, output: json))
        let lease = try #require(try fixture.file.subscriptions.lease(of: "mail"))
        #expect(try run("--name", "mail").output.hasPrefix("mail: active at 2, 1 behind, owned"))
        withExtendedLifetime(lease) {}
    }

    @Test func parkedDeliveriesAreShownRetriedAndDropped() throws {
        let parked = """
            mail: active at 2, 1 behind, 1 parked
              2 parked, 1 objects: commit 2 failed 5 times, last 2001-01-01T00:00:00.000Z: no\\nway

            """
        #expect(try run("--name", "mail").output == parked)
        #expect(
            try run("--name", "mail", "--retry", "--parked", "1").output == parked)
        #expect(
            try run("--name", "mail", "--retry").output
                == parked.replacingOccurrences(of: "2 parked,", with: "2 due,"))
        #expect(
            try run("--name", "mail", "--drop").output == "mail: active at 2, 1 behind\n")
        #expect(try fixture.file.subscriptions.parkedDeliveries(of: "mail") == [])
    }

    @Test func oneIsPausedResumedRewoundAndRemoved() throws {
        #expect(
            try run("--name", "audit", "--resume").output
                == "audit: active at 1, 2 behind, holds no history\n")
        #expect(try run("--name", "mail", "--pause").output.hasPrefix("mail: paused at 2"))
        #expect(
            try run("--name", "mail", "--rewind", "1").output == "mail: paused at 1, 2 behind\n")
        let late = try run("--name", "mail", "--rewind", "9")
        #expect(late.status == 66)
        #expect(late.errors.contains("The last commit is 3"))
        #expect(try run("--name", "mail", "--remove") == Tool.Outcome(status: 0))
        #expect(try fixture.file.subscriptions.states().map(\.name) == ["audit"])
    }

    @Test func whatIsNotThereOrNotUnderstoodIsRefused() throws {
        let missing = try run("--name", "none", "--pause")
        #expect(missing.status == 66)
        #expect(missing.errors.contains("There is no subscription \"none\" in the store."))
        #expect(try run("--name", "none").status == 66)
        for arguments in [
            ["--pause"], ["--name", "mail", "--pause", "--rewind", "1"],
            ["--name", "mail", "--pause", "--parked", "1"],
        ] {
            let outcome = try Tool.Running(["subscriptions", fixture.path] + arguments).outcome()
            #expect(outcome.status == 64, "\(arguments)")
        }
    }

    @Test func aTrimNamesWhoHoldsIt() throws {
        let shown = try Tool.run("trim", fixture.path, "--before", "4")
        #expect(shown.output.hasSuffix("the journal begins after 1\n  held by mail\n"))
    }
}
