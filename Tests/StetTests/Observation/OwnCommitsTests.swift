import StetStore
import Testing

@testable import Stet

/// The memory that a context has of its own commits.
struct OwnCommitsTests {
    @Test("A7 what a context remembers of its own commits is bounded, and the last ones are known")
    func theMemoryOfOwnCommitsIsBounded() {
        let own = OwnCommits()
        let id = CommitID(store: ObjectID(), base: .zero, token: 1)
        let last = UInt64(4 * OwnCommits.rangeLimit + 1)
        // Another writer commits between any two.
        for number in stride(from: 1, through: last, by: 2) {
            own.land(id, Revision(number))
            #expect(own.rangeCount <= OwnCommits.rangeLimit)
        }
        let known = UInt64(OwnCommits.rangeLimit)
        for number in stride(from: last - known + 2, through: last, by: 2) {
            #expect(own.contains(id, Revision(number)))
        }
        #expect(!own.contains(id, Revision(last - 1)))
        #expect(!own.contains(id, Revision(last + 1)))
        #expect(!own.contains(id, 1))
    }

    @Test func commitsInARowAreOneRange() {
        let own = OwnCommits()
        let id = CommitID(store: ObjectID(), base: .zero, token: 1)
        for number in 5...1_000 { own.land(id, Revision(UInt64(number))) }
        #expect(own.rangeCount == 1)
        #expect(own.contains(id, 5))
        #expect(own.contains(id, 1_000))
        #expect(!own.contains(id, 4))
        #expect(!own.contains(id, 1_001))
    }
}
