import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Synchronization
import Testing

/// One migration with code at a time, and nothing left of who has had the lock.
struct MigrationLockTests {
    private let directory: StoreDirectory
    private var path: String { directory.file() }

    init() throws {
        directory = try StoreDirectory()
        try StoreFile.open(at: directory.file(), schema: .library, .small()).close()
    }

    @Test func itIsALockOnTheStoreAndLeavesNoFile() throws {
        let before = directory.names
        let lock = try MigrationLock(path)
        #expect(directory.names == before)
        lock.release()
        #expect(directory.names == before)
    }

    /// The lock of a root process that was killed was once a file that only root could open.
    @Test(.enabled(if: geteuid() == 0, "Only root can give a file to another user."))
    func whoMayWriteToTheStoreMayMigrateItAfterRootDid() throws {
        for file in [directory.path, path, "\(path)-lock"] {
            #expect(chown(file, 65_534, 65_534) == 0)
        }
        let before = directory.names
        let root = try MigrationLock(path)
        let path = path
        let released = Mutex(false)
        // Releases the lock, as the end of the process would, while another user waits for it.
        Thread.detachNewThread {
            released.withLock { $0 = true }
            root.release()
        }
        try withRightsOfNobody {
            let lock = try MigrationLock(path)
            #expect(released.withLock { $0 })
            lock.release()
        }
        #expect(directory.names == before)
    }

    @Test func othersWaitUntilItIsGivenBack() throws {
        let order = Mutex<[Int]>([])
        let lock = try MigrationLock(path)
        let path = path
        let begun = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            begun.signal()
            if let other = try? MigrationLock(path) {
                order.withLock { $0.append(2) }
                other.release()
            }
            ended.signal()
        }
        begun.wait()
        order.withLock { $0.append(1) }
        lock.release()
        ended.wait()
        #expect(order.withLock { $0 } == [1, 2])
    }

    @Test func whoWouldWaitForItselfTraps() async {
        await #expect(processExitsWith: .failure) {
            let directory = try StoreDirectory()
            try StoreFile.open(at: directory.file(), schema: .library, .small()).close()
            let lock = try MigrationLock(directory.file())
            _ = try MigrationLock(directory.file())
            lock.release()
        }
    }
}
