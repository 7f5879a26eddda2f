import CLMDB
import Glibc

extension Environment {
    /// Hands a consistent copy of the file to `receive`, without its free pages, piece by piece
    /// from its beginning, while others go on reading and writing.
    ///
    /// LMDB writes it to a pipe on a thread of its own, so that whoever receives it says where it
    /// goes and sees how far it is. A read is open for as long as this runs, and no longer.
    ///
    /// - Parameter receive: Gets the bytes, valid for the call only; what it throws ends the copy.
    /// - Throws: `LMDBError`, and whatever `receive` throws.
    /// - Complexity: O(pages).
    package func copy(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
        while true {
            let use = try beginUse(.copy, isRead: true)
            let code: Int32
            do {
                defer { endUse(keeping: use.idleRead) }
                code = try CopyPipe.copy(use.handle, receive)
            } catch let error as CopyPipe.Failure {
                throw LMDBError(.copy, code: error.code, path: path)
            }
            // Another process has enlarged the map; nothing was received yet.
            if code == MDB_MAP_RESIZED {
                try adoptForeignSize()
                continue
            }
            return try check(code, .copy, path)
        }
    }
}

/// The pipe through which LMDB's copy of a file goes to its receiver.
private enum CopyPipe {
    /// The pipe failed on the side of the receiver.
    struct Failure: Error {
        let code: Int32
    }

    /// Hands the copy to `receive`; LMDB's code for how it ended.
    static func copy(
        _ handle: OpaquePointer, _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int32 {
        var ends: (input: Int32, output: Int32) = (-1, -1)
        let code = withUnsafeMutableBytes(of: &ends) { bytes in
            pipe2(bytes.bindMemory(to: Int32.self).baseAddress, O_CLOEXEC) == 0 ? 0 : errno
        }
        if code != 0 { throw Failure(code: code) }
        let work = UnsafeMutablePointer<CopyThread>.allocate(capacity: 1)
        defer { work.deallocate() }
        work.initialize(
            to: CopyThread(handle: handle, output: ends.output))
        let thread: pthread_t
        do {
            thread = try start(work)
        } catch {
            Glibc.close(ends.input)
            Glibc.close(ends.output)
            throw error
        }
        let received = Result { try receiveAll(from: ends.input, receive) }
        // A thread that still writes then gets EPIPE, and ends.
        Glibc.close(ends.input)
        pthread_join(thread, nil)
        try received.get()
        return work.pointee.code
    }

    private static func start(_ work: UnsafeMutablePointer<CopyThread>) throws -> pthread_t {
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, runCopy, work)
        guard code == 0 else { throw Failure(code: code) }
        return thread
    }

    private static func receiveAll(
        from descriptor: Int32, _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4_096)
        defer { buffer.deallocate() }
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 {
                try receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                throw Failure(code: errno)
            }
        }
    }
}

/// What the copying thread needs and gives back.
private struct CopyThread {
    let handle: OpaquePointer
    let output: Int32
    var code: Int32 = 0
}

private func runCopy(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let work = context?.assumingMemoryBound(to: CopyThread.self) else { return nil }
    // Who has stopped receiving is told by EPIPE, not by the end of the process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    work.pointee.code = mdb_env_copyfd2(
        work.pointee.handle, work.pointee.output, UInt32(MDB_CP_COMPACT))
    close(work.pointee.output)
    return nil
}
