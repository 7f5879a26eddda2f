import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Testing

/// Files that get their name when they are whole.
struct DraftTests {
    private let directory: EnvironmentDirectory

    init() throws { directory = try EnvironmentDirectory() }

    @Test func aDraftGetsItsNameOnce() throws {
        let draft = try Draft(of: directory.file())
        try Data([1]).write(to: URL(fileURLWithPath: "\(draft.path)-lock"))
        try draft.publish()
        #expect(directory.names == ["test.mdb"])
        draft.remove()
        #expect(directory.names == ["test.mdb"])
        let second = try Draft(of: directory.file())
        #expect(lmdbError { try second.publish() }?.code == EEXIST)
        second.remove()
        #expect(directory.names == ["test.mdb"])
    }

    @Test func whatAKilledProcessHasLeftIsRemovedByTheNextAndNothingElse() throws {
        let atWork = try Draft(of: directory.file())
        defer { atWork.remove() }
        let left = "test.mdb.new-0123456789abcdef"
        let others = [
            "test.mdb.new-", "test.mdb.new-0123456789abcdeg", "test.mdb.new-0123456789abcdef0",
            "other.mdb.new-0123456789abcdef",
        ]
        for name in [left, "\(left)-lock"] + others {
            try Data([1]).write(to: URL(fileURLWithPath: directory.file(name)))
        }
        let next = try Draft(of: directory.file())
        defer { next.remove() }
        let drafts = [atWork, next].map { ($0.path as NSString).lastPathComponent }
        #expect(directory.names == (others + drafts).sorted())
    }

    @Test func aLockFileWithoutItsDraftIsRemovedUnlessItIsInUse() throws {
        let (left, used) = (
            "test.mdb.new-0123456789abcdef-lock", "test.mdb.new-0123456789abcdee-lock"
        )
        for name in [left, used] {
            try Data([1]).write(to: URL(fileURLWithPath: directory.file(name)))
        }
        // The number of the data file that a process which has both open publishes.
        let claim = try #require(ForeignLock(directory.file(used), from: 6 << 48 + 7))
        defer { claim.release() }
        try Draft(of: directory.file()).remove()
        #expect(directory.names == [used])
    }
}
