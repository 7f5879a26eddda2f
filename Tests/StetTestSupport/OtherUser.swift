import Foundation
import Synchronization

/// Runs `body` on a separate thread with access only to the files that user 65534 may access.
///
/// Only root can limit a thread in this way: for other users the thread keeps its rights.
package func withRightsOfNobody<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
    try onThread {
        // Applies to this thread only, and also drops root's exemption from permissions.
        if geteuid() == 0 { _ = function("setfsuid", as: SetUser.self)(65_534) }
        return try body()
    }
}

/// Runs `body` on a thread that sees `directory` mounted read-only; returns nil if this process may
/// not mount.
package func withReadOnlyMount<Value: Sendable>(
    of directory: String, _ body: @escaping @Sendable () throws -> Value
) throws -> Value? {
    try onThread {
        let newMounts: Int32 = 0x2_0000  // CLONE_NEWNS
        guard function("unshare", as: Unshare.self)(newMounts) == 0,
            mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0,
            mount(directory, directory, nil, UInt(MS_BIND), nil) == 0,
            mount(
                "none", directory, nil,
                UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0
        else { return nil }
        // The mounts end with the thread.
        return try body()
    }
}

private typealias SetUser = @convention(c) (UInt32) -> Int32
private typealias Unshare = @convention(c) (Int32) -> Int32

/// Returns a function of Linux that Swift's Glibc module lacks.
private func function<Function>(_ name: String, as type: Function.Type) -> Function {
    guard let symbol = dlsym(nil, name) else { preconditionFailure("no function \(name)") }
    return unsafeBitCast(symbol, to: type)
}

/// Runs `body` on a separate thread, and waits for its end.
package func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
    let outcome = Outcome<Value>()
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let result = Result(catching: body)
        outcome.value.withLock { $0 = result }
        ended.signal()
    }
    ended.wait()
    return try outcome.value.withLock { try $0!.get() }
}

/// Runs `body`, which blocks, on a separate thread.
///
/// Two tests that block threads of the pool, of which a machine with two cores has two, would wait
/// forever for the tasks that end their waiting.
package func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) -> Task<Value, any Error> {
    Task {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
        }
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
}
