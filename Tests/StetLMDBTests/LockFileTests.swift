import Foundation
import Glibc
import StetLMDB
import Testing

/// The lock file, which LMDB writes through a map.
struct LockFileTests {
    private func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    @Test func noPageOfItIsLeftToAFullDisk() throws {
        let directory = try EnvironmentDirectory()
        let environment = try directory.open(readerCount: 510)
        defer { environment.close() }
        let lock = try #require(status("\(directory.file())-lock"))
        #expect(lock.st_size > 30_000)
        #expect(Int(lock.st_blocks) * 512 >= Int(lock.st_size))
    }

    @Test func itsSizeIsThatOfTheOneWhoOpenedFirst() throws {
        let directory = try EnvironmentDirectory()
        try directory.open(readerCount: 20).close()
        let first = status("\(directory.file())-lock")?.st_size
        let environment = try directory.open(readerCount: 10)
        defer { environment.close() }
        #expect(status("\(directory.file())-lock")?.st_size == first)
    }

    @Test func aNewOneHasTheRightsOfTheDataFile() throws {
        let directory = try EnvironmentDirectory()
        try directory.open().close()
        for mode in [0o640, 0o600] as [mode_t] {
            #expect(chmod(directory.file(), mode) == 0)
            #expect(unlink("\(directory.file())-lock") == 0)
            try directory.open().close()
            #expect(status("\(directory.file())-lock").map { $0.st_mode & 0o777 } == mode)
        }
    }

    @Test(arguments: ["elsewhere", "missing"])
    func aLinkInItsPlaceIsNotFollowed(destination: String) throws {
        let directory = try EnvironmentDirectory()
        try directory.open().close()
        try directory.open("elsewhere").close()
        let lock = "\(directory.file())-lock"
        #expect(unlink(lock) == 0)
        #expect(symlink(directory.file(destination), lock) == 0)
        #expect(lmdbError { try directory.open() }?.code == LMDBError.isALink)
        #expect(directory.names.filter { $0 == "missing" } == [])
    }
}
