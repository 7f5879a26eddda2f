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
}
