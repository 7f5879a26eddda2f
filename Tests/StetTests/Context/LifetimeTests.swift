import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

/// A model that counts how many of its objects are alive.
@Model final class Present {
    var text: String
    var next: Present?
    @Transient var presence = Presence()

    init(text: String, next: Present? = nil) {
        self.text = text
        self.next = next
    }
}

/// Alive as long as its object.
final class Presence {
    static let count = Monitor(0)
    init() { Self.count.withLock { $0 += 1 } }
    deinit { Self.count.withLock { $0 -= 1 } }
}

@Suite(.serialized) struct LifetimeTests {
    /// STET_OBJECTS=1000000 with a build for address sanitizer is the run that looks for leaks.
    @Test func objectsThatCameAndWentAreGone() throws {
        let total =
            ProcessInfo.processInfo.environment["STET_OBJECTS"].flatMap(Int.init) ?? 20_000
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Present.self)
        let before = Presence.count.withLock { $0 }
        let share = 5_000
        for _ in 0..<(total / share) {
            try autoreleasing {
                let context = store.context()
                var last: Present?
                for index in 0..<share {
                    let present = Present(
                        text: "text number \(index) that needs memory", next: last)
                    context.insert(present)
                    last = present
                }
                try autoreleasing {
                    let snapshot = context.snapshot()
                    last?.next = nil
                    context.restore(snapshot)
                }
                try context.save()
                #expect(Presence.count.withLock { $0 } == before + 1)
                for present in try context.fetch(Present.self).all().suffix(share) {
                    present.text += "!"
                }
                context.rollback()
                let refused = Present(text: "refused")
                context.insert(refused)
                context.delete(refused)
                #expect(try context.save() == nil)
                for present in try context.fetch(Present.self).all() { context.delete(present) }
                try context.save()
            }
            #expect(Presence.count.withLock { $0 } == before)
        }
        #expect(try store.context().fetch(Present.self).all().isEmpty)
    }

    /// Releases everything that `body` retains when it ends.
    @inline(never)
    private func autoreleasing(_ body: () throws -> Void) throws { try body() }
}
