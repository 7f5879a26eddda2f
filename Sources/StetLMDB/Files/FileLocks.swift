import CLMDB
import Glibc
import Synchronization

/// Stet's own locks on the two files of an environment, beside LMDB's.
///
/// LMDB's locks belong to a thread id, which two PID namespaces can give to two threads, and to a
/// process, which loses them when any of its code closes the lock file. These locks belong to an
/// open file description (`F_OFD_SETLK`): only the end of the process that holds them releases
/// them. They are on bytes beyond the end of any file, and encode values in their position and
/// length, which `F_OFD_GETLK` returns: so none of them outlives a process.
///
/// State: descriptors and identities are constant; the map, which is set once before the
/// environment is shared, is LMDB's reader table, shared with other processes.
final class FileLocks: @unchecked Sendable {  // its variables are set before it is shared
    /// A right that one process at a time has; the raw value gives the position of its lock.
    enum Right: Int {
        /// The right to open the files, and to replace them.
        case opening = 1
        /// The right to write, which is taken before LMDB's writer lock, so that nobody waits for
        /// that.
        case writing = 2
        /// The right to be the next writer.
        case turn = 3
        /// The right to write through a log, or without syncs, which a process keeps until it
        /// closes the file.
        case logging = 10
    }

    /// A value that every process with the file open publishes about itself.
    private enum Claim: Int {
        case process = 4
        case namespace = 5
        /// The number of the other one of the two files.
        case counterpart = 6

        /// The position of the first byte for its values, which are below 2^48.
        var base: Int { rawValue << 48 }
    }

    /// The byte that the user of a draft locks.
    static let draftLock = 7 << 48
    /// The position of the first byte that leases lock.
    private static let leaseBase = 8 << 48
    /// The byte that a process locks while it migrates the file with code.
    static let migrationLock = 9 << 48

    let path: String
    /// The identities of the data file and of the lock file.
    let identity: FileIdentity
    let lockIdentity: FileIdentity
    private let data: SharedDescriptor
    private let lock: SharedDescriptor
    private let process = Int(getpid())
    /// Whether this process has the right to write through a log.
    private let isLogging = Atomic(false)
    private(set) var readers = ReaderTable(nil)
    /// True when the files have no names any more.
    private(set) var isUnnamed = false

    var lockPath: String { "\(path)-lock" }

    /// Opens both files, and allocates the blocks of the lock file.
    ///
    /// LMDB only sets its size and writes through a map, where a full disk would end the process
    /// with SIGBUS.
    ///
    /// `place` is the present path of a file that will be renamed to `path`; nil for `path`.
    init(
        at path: String, presently place: String? = nil, readerCount: Int, createsFile: Bool
    ) throws(LMDBError) {
        self.path = path
        let creation = createsFile ? O_CREAT : 0
        data = try SharedDescriptor(place ?? path, O_RDWR | creation, naming: path)
        lock = try Self.lockFile(of: place ?? path, data)
        guard let identity = data.identity, let lockIdentity = lock.identity else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        self.identity = identity
        self.lockIdentity = lockIdentity
        // Keeps the size, from which every process derives the number of slots.
        let byteCount = ReaderTable.byteCount(slots: readerCount)
        if fallocate(lock.number, FALLOC_FL_KEEP_SIZE, 0, byteCount) != 0,
            [ENOSPC, EDQUOT].contains(errno)
        {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
    }

    /// Opens the lock file; users who may open the data file may also open a lock file that is
    /// created here, whichever user this process runs as.
    private static func lockFile(
        of path: String, _ data: SharedDescriptor
    ) throws(LMDBError) -> SharedDescriptor {
        let lockPath = "\(path)-lock"
        while true {
            do throws(LMDBError) {
                // Only a new file changes its owner: an existing one might have other names.
                let new = try SharedDescriptor(lockPath, O_RDWR | O_CREAT | O_EXCL, naming: path)
                _ = new.adoptRights(of: data)
                return new
            } catch let error where error.code == EEXIST {}
            do throws(LMDBError) {
                return try SharedDescriptor(lockPath, O_RDWR, naming: path)
            } catch let error where error.code == ENOENT {}
        }
    }

    /// Sets owner and rights of a draft that will replace the data file to those of that file.
    ///
    /// - Throws: `LMDBError` (`EPERM`) when this process may not.
    func giveRights(to draft: Draft) throws(LMDBError) {
        if !draft.adoptRights(of: data) { throw LMDBError(.create, code: EPERM, path: path) }
    }

    /// Refuses to create a data file at `path` beside the lock file of processes that have another
    /// one open.
    static func refuseInUse(lockFileOf path: String) throws(LMDBError) {
        guard access("\(path)-lock", F_OK) == 0 else { return }
        let lock = try SharedDescriptor("\(path)-lock", O_RDWR, naming: path)
        if try lock.other(in: Claim.counterpart.base, than: -1, path) != nil {
            throw LMDBError(movedAwayFrom: path)
        }
    }

    /// Releases everything, after LMDB has closed the files.
    func close() {
        data.close()
        lock.close()
    }

    var dataFile: SharedDescriptor { data }
    var dataDescriptor: Int32 { data.number }

    // MARK: Claims

    /// Returns whether no other process has the files open; the caller has the right to open.
    func isAlone() throws(LMDBError) -> Bool {
        try data.other(in: Claim.process.base, than: process, path) == nil
    }

    /// Publishes the values of this process, and refuses to share the files with incompatible
    /// processes.
    ///
    /// The caller has the right to open.
    func claim() throws(LMDBError) {
        // Without /proc, two namespaces are noticed only by equal process ids.
        if let namespace = FileIdentity(path: "/proc/self/ns/pid")?.number,
            try !data.claim(namespace, in: Claim.namespace.base, path)
        {
            throw LMDBError(.openEnvironment, code: LMDBError.otherNamespace, path: path)
        }
        guard try data.hold(Claim.process.base + process, 1, path) else {
            throw LMDBError(.openEnvironment, code: LMDBError.otherNamespace, path: path)
        }
        guard try data.claim(lockIdentity.number, in: Claim.counterpart.base, path) else {
            throw LMDBError(
                .openEnvironment, code: LMDBError.moved, path: path,
                detail: "its lock file was removed or replaced while others have the store open")
        }
        guard try lock.claim(identity.number, in: Claim.counterpart.base, path) else {
            throw LMDBError(movedAwayFrom: path)
        }
    }

    // MARK: Place

    /// Whether both paths name the open files; true for files without names.
    var isInPlace: Bool {
        isUnnamed
            || FileIdentity(path: path) == identity
                && FileIdentity(path: lockPath) == lockIdentity
    }

    /// Takes the names of the files away; called before anybody shares them.
    func removeNames() {
        unlink(path)
        unlink(lockPath)
        isUnnamed = true
    }

    /// Throws when a path names another file than the open one.
    ///
    /// - Complexity: two system calls.
    func checkPlace(_ operation: LMDBError.Operation) throws(LMDBError) {
        if isInPlace { return }
        for (path, identity, name) in [
            (path, identity, "its file"), (lockPath, lockIdentity, "its lock file"),
        ] {
            let present = FileIdentity(path: path)
            if present == identity { continue }
            throw LMDBError(
                operation, code: LMDBError.moved, path: self.path,
                detail: present == nil
                    ? "\(name) was removed or renamed while it was open"
                    : "\(name) was replaced by another while it was open")
        }
    }

    /// Refuses to replace the files when they are not in their place, or have no names.
    func checkNamedPlace() throws(LMDBError) {
        if isUnnamed { throw LMDBError(unnamed: path) }
        try checkPlace(.begin)
    }

    /// Shows the next process that opens the files that they are in use, even if LMDB's own lock is
    /// lost because code in this process closes the lock file.
    func holdOpen(_ holds: Bool) throws(LMDBError) {
        if holds { try lock.share(0, path) } else { lock.release(0, 1) }
    }

    // MARK: Rights

    /// Takes a right; returns false when another process has it.
    func take(_ right: Right) throws(LMDBError) -> Bool {
        let isTaken = try data.hold(right.rawValue << 48, process + 1, path)
        if right == .logging, isTaken { isLogging.store(true, ordering: .relaxed) }
        return isTaken
    }

    func release(_ right: Right) {
        if right == .logging { isLogging.store(false, ordering: .relaxed) }
        data.release(right.rawValue << 48, process + 1)
    }

    /// Whether this process has the right to write through a log.
    var isLogOwner: Bool { isLogging.load(ordering: .relaxed) }

    /// Returns the process that has a right; nil when it is none or this one.
    func holder(of right: Right) throws(LMDBError) -> Int32? {
        try data.conflict(right.rawValue << 48, 1, path).map { Int32(clamping: $0.count - 1) }
    }

    /// Takes the right to open; waits for others for a limited time.
    func takeOpening(_ limit: Duration) throws(LMDBError) {
        let end = systemUptime() + limit
        while try !take(.opening) {
            if systemUptime() > end {
                let holder = try holder(of: .opening)
                throw LMDBError(
                    .openEnvironment, code: LMDBError.busy, path: path,
                    detail: "process \(holder.map(String.init) ?? "?") is opening or replacing it")
            }
            var pause = timespec(tv_sec: 0, tv_nsec: 200_000)
            nanosleep(&pause, nil)
        }
    }

    // MARK: Leases

    /// Acquires a right that only one holder at a time can have, in this process or another.
    ///
    /// - Parameters:
    ///   - number: The number of the right, from 0 up to 2^48.
    ///   - place: The present path of a file that will be renamed to `path`; nil for `path`.
    /// - Returns: The descriptor that has the right; nil while another holder has it.
    /// - Throws: `LMDBError`.
    func lease(
        _ number: Int, presently place: String? = nil
    ) throws(LMDBError) -> SharedDescriptor? {
        // Needs its own descriptor, because a lock conflicts only with those of other descriptors.
        let descriptor =
            isUnnamed
            ? try SharedDescriptor(reopening: data, naming: path)
            : try SharedDescriptor(place ?? path, O_RDWR, naming: path)
        guard descriptor.identity == identity else { throw LMDBError(movedAwayFrom: path) }
        return try descriptor.hold(Self.leaseBase + number, 1, path) ? descriptor : nil
    }

    func isLeased(_ number: Int) throws(LMDBError) -> Bool {
        try data.conflict(Self.leaseBase + number, 1, path) != nil
    }

    // MARK: Readers

    /// Maps LMDB's reader table, which exists by now, and frees the slots that earlier processes
    /// have left, including one with the id of this process.
    ///
    /// The caller has the right to open, and this process has not read yet.
    func watchReaders() throws(LMDBError) {
        readers = ReaderTable(lock.number)
        let own = getpid()
        for slot in readers.slots where slot.process == own { readers.free(slot) }
        _ = try freeSlotsOfTheDead()
    }

    /// Frees the slots of processes that have died; returns their number.
    ///
    /// It does nothing while another process opens the files, because that one does it.
    func removeStaleReaders() throws(LMDBError) -> Int {
        guard try take(.opening) else { return 0 }
        defer { release(.opening) }
        return try freeSlotsOfTheDead()
    }

    /// Frees the slots of processes that have died; the caller has the right to open, so no new
    /// process can get the id of a dead one in between.
    private func freeSlotsOfTheDead() throws(LMDBError) -> Int {
        var isAlive = [getpid(): true]
        var count = 0
        for slot in readers.slots {
            if isAlive[slot.process] == nil {
                isAlive[slot.process] = try isAliveElsewhere(slot.process)
            }
            if isAlive[slot.process] == false, readers.free(slot) { count += 1 }
        }
        return count
    }

    /// Returns whether a process lives, by Stet's lock or, for a program that uses LMDB alone, by
    /// LMDB's.
    private func isAliveElsewhere(_ process: Int32) throws(LMDBError) -> Bool {
        if try data.conflict(Claim.process.base + Int(process), 1, path) != nil { return true }
        return try lock.conflict(Int(process), 1, path) != nil
    }
}

/// A descriptor whose locks belong to this process alone: a forked child closes it.
final class SharedDescriptor: Sendable {
    /// The descriptor; -1 after it was closed, when it has no locks and can take none.
    private let descriptor = Atomic<Int32>(-1)
    /// `F_OFD_GETLK`, `F_OFD_SETLK` and `F_OFD_SETLKW` of linux/fcntl.h, which Swift does not
    /// import.
    private static let (getCommand, setCommand, waitCommand) = (Int32(36), Int32(37), Int32(38))
    private let forkGeneration = ProcessFork.generation

    init(_ file: String, _ flags: Int32, naming path: String) throws(LMDBError) {
        let number = ProcessFork.closingInChild {
            open(file, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        }
        if number < 0 { throw LMDBError(.openEnvironment, code: errno, path: path) }
        descriptor.store(number, ordering: .relaxed)
    }

    /// Another descriptor of an open file, also of one that has no name.
    init(reopening other: SharedDescriptor, naming path: String) throws(LMDBError) {
        let number = ProcessFork.closingInChild {
            open("/proc/self/fd/\(other.number)", O_RDWR | O_CLOEXEC)
        }
        if number < 0 { throw LMDBError(.openEnvironment, code: errno, path: path) }
        descriptor.store(number, ordering: .relaxed)
    }

    deinit { close() }

    func close() {
        if forkGeneration != ProcessFork.generation { return }
        // A process that is being spawned has a copy of the descriptor, so the locks are released
        // explicitly.
        release(0, 0)
        let number = descriptor.exchange(-1, ordering: .relaxed)
        if number >= 0 { ProcessFork.close(number) }
    }

    var number: Int32 { descriptor.load(ordering: .relaxed) }

    var identity: FileIdentity? { FileIdentity(descriptor: number) }

    /// Sets owner, group and rights of the file to those of another file; returns false when this
    /// process may not set that owner or group.
    func adoptRights(of other: SharedDescriptor) -> Bool {
        var (own, wanted) = (stat(), stat())
        guard fstat(number, &own) == 0, fstat(other.number, &wanted) == 0 else { return false }
        var isGiven = own.st_uid == wanted.st_uid && own.st_gid == wanted.st_gid
        if !isGiven {
            isGiven = fchown(number, wanted.st_uid, wanted.st_gid) == 0
            // Tries the group alone, which helps even if the owner cannot change.
            if !isGiven { _ = fchown(number, uid_t.max, wanted.st_gid) }
        }
        return fchmod(number, wanted.st_mode & 0o777) == 0 && isGiven
    }

    /// Takes an exclusive lock; returns false when another process has a lock there.
    func hold(_ start: Int, _ count: Int, _ path: String) throws(LMDBError) -> Bool {
        try set(F_WRLCK, start, count, path)
    }

    /// Takes an exclusive lock; waits while another process has a lock there.
    func wait(_ start: Int, _ path: String) throws(LMDBError) {
        var lock = Self.lock(F_WRLCK, start, 1)
        while fcntl(number, Self.waitCommand, &lock) != 0 {
            if errno != EINTR { throw LMDBError(.openEnvironment, code: errno, path: path) }
        }
    }

    /// Takes a shared lock.
    func share(_ start: Int, _ path: String) throws(LMDBError) {
        _ = try set(F_RDLCK, start, 1, path)
    }

    func release(_ start: Int, _ count: Int) {
        var lock = Self.lock(F_UNLCK, start, count)
        _ = fcntl(number, Self.setCommand, &lock)
    }

    private func set(
        _ type: Int32, _ start: Int, _ count: Int, _ path: String
    ) throws(LMDBError) -> Bool {
        var lock = Self.lock(type, start, count)
        if fcntl(number, Self.setCommand, &lock) == 0 { return true }
        if errno == EAGAIN || errno == EACCES { return false }
        throw LMDBError(.openEnvironment, code: errno, path: path)
    }

    /// Returns the range of another process's lock on one of these bytes.
    func conflict(_ start: Int, _ count: Int, _ path: String) throws(LMDBError) -> Range<Int>? {
        if count <= 0 { return nil }
        var lock = Self.lock(F_WRLCK, start, count)
        guard fcntl(number, Self.getCommand, &lock) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        if Int32(lock.l_type) == F_UNLCK { return nil }
        return Int(lock.l_start)..<Int(lock.l_start + lock.l_len)
    }

    /// Publishes a value from 0 up to 2^48; returns false when others have published another one.
    func claim(_ value: Int, in base: Int, _ path: String) throws(LMDBError) -> Bool {
        try share(base + value, path)
        return try other(in: base, than: value, path) == nil
    }

    /// Returns a value other than `own`, from 0 up to 2^48, that others have published.
    func other(in base: Int, than own: Int, _ path: String) throws(LMDBError) -> Int? {
        if let found = try conflict(base, own, path) { return found.lowerBound - base }
        let found = try conflict(base + own + 1, FileIdentity.numberLimit - own - 1, path)
        return found.map { $0.lowerBound - base }
    }

    private static func lock(_ type: Int32, _ start: Int, _ count: Int) -> flock {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(start)
        lock.l_len = off_t(count)
        return lock
    }
}

/// The identity of a file behind a path or a descriptor, whatever its name.
package struct FileIdentity: Hashable, Sendable {
    let device: UInt
    let inode: UInt

    /// The upper bound of numbers, exclusive.
    static let numberLimit = 1 << 48

    /// A number that distinguishes files of a file system that are open at the same time.
    var number: Int { Int(inode % UInt(Self.numberLimit)) }

    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}
