import CLMDB
import Glibc

extension Environment {
    /// Passes a consistent copy of the file, without its free pages, to `receive`, piece by piece
    /// from its beginning, while others continue to read and write.
    ///
    /// LMDB writes it to a pipe on a separate thread, so that the receiver decides where it goes
    /// and knows its progress. A read is open exactly as long as this runs.
    ///
    /// - Parameter receive: Receives the bytes, which are valid for the call only; an error ends
    ///   the copy.
    /// - Throws: `LMDBError`, and the error of `receive`.
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
            // Another process has enlarged the map. Nothing has been received yet.
            if code == MDB_MAP_RESIZED {
                try adoptForeignSize()
                continue
            }
            return try check(code, .copy, path)
        }
    }
}

/// The pipe between LMDB's copy of a file and its receiver.
private enum CopyPipe {
    /// A failure of the pipe on the side of the receiver.
    struct Failure: Error {
        let code: Int32
    }

    /// Passes the copy to `receive`; returns LMDB's result code.
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
        // If the thread is still writing, it gets EPIPE and ends.
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

/// The input and output of the copying thread.
private struct CopyThread {
    let handle: OpaquePointer
    let output: Int32
    var code: Int32 = 0
}

private func runCopy(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let work = context?.assumingMemoryBound(to: CopyThread.self) else { return nil }
    // Blocks SIGPIPE, so that a receiver that stops gives EPIPE instead of ending the process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    work.pointee.code = mdb_env_copyfd2(
        work.pointee.handle, work.pointee.output, UInt32(MDB_CP_COMPACT))
    close(work.pointee.output)
    return nil
}
