import Glibc

/// Wakes one thread when another thread requests it, when somebody writes to a file, or after a
/// timeout.
///
/// One thread waits and decides what is watched; any thread may call `wake()`. The pipe's
/// descriptors are constant, `notification` belongs to the waiting thread.
package final class FileWatch: @unchecked Sendable {  // `notification` has one thread, no lock
    private let path: String
    private let pipe: (reading: Int32, writing: Int32)
    /// An inotify instance while the file is watched; -1 otherwise.
    private var notification: Int32 = -1
    /// The number of times that the environment had opened or replaced its file when the watch
    /// began.
    private var reopeningCount = 0

    /// Creates a watch of the file at `path`, which does not watch yet.
    ///
    /// - Throws: `LMDBError` when the process has no descriptor left.
    package init(path: String) throws(LMDBError) {
        self.path = path
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        pipe = (ends[0], ends[1])
    }

    deinit {
        stopWatching()
        close(pipe.reading)
        close(pipe.writing)
    }

    /// Whether writes to the file wake the thread.
    package var isWatching: Bool { notification >= 0 }

    /// Lets writes to the file wake the thread; `environment` has it open.
    ///
    /// It has no effect when the system has no watch left: then only the timeout wakes the thread.
    package func startWatching(_ environment: Environment) {
        let count = environment.reopeningCount
        if isWatching, count == reopeningCount { return }
        stopWatching()
        reopeningCount = count
        #if STET_FAULTS
            if environment.faults.code(for: .watch) != 0 { return }
        #endif
        notification = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        if isWatching, inotify_add_watch(notification, path, UInt32(IN_MODIFY)) < 0 {
            stopWatching()
        }
    }

    /// Ends the watching that `startWatching(_:)` began.
    package func stopWatching() {
        if isWatching { close(notification) }
        notification = -1
    }

    /// Ends the current or the next `wait`.
    package func wake() {
        var byte: UInt8 = 1
        // Ignores failures: a full pipe also wakes the thread.
        _ = write(pipe.writing, &byte, 1)
    }

    /// Returns after a `wake()`, a write to the file, or the timeout; true when the file was
    /// written.
    package func wait(milliseconds: Int32) -> Bool {
        var descriptors = [pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)]
        if isWatching {
            descriptors.append(pollfd(fd: notification, events: Int16(POLLIN), revents: 0))
        }
        if poll(&descriptors, UInt(descriptors.count), milliseconds) <= 0 { return false }
        drain(pipe.reading)
        if isWatching { drain(notification) }
        return descriptors.count > 1 && descriptors[1].revents != 0
    }

    /// Reads and discards all available bytes.
    private func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
