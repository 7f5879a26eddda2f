import Foundation
import Glibc

/// A way to a server's Unix socket that cuts, delays and holds what passes.
///
/// State: the faults and the connections, guarded by the condition.
package final class Proxy: @unchecked Sendable {  // the state is reached under `condition` only
    /// The direction of bytes.
    package enum Direction: Int, Sendable, CaseIterable { case requests, answers }

    /// What the proxy does to bytes on their way.
    package struct Faults: Sendable {
        /// Connections are refused.
        package var isClosed = false
        /// Bytes wait for so many microseconds.
        package var delay: UInt32 = 0
        /// Directions whose bytes wait until they are released, even if the client has gone.
        package var held: Set<Direction> = []
        /// A direction that is held from the next append on.
        package var heldByAppend: Direction?
        /// All connections are cut once so many bytes have passed in a direction.
        package var cut: (direction: Direction, byteCount: Int)?

        package init() {}
    }

    private let condition = NSCondition()
    private var current = Faults()
    /// The pairs of client and server that can be cut.
    private var connections: [Int: (client: Int32, server: Int32)] = [:]
    private var lastNumber = 0
    private var isEnded = false
    private var server: String
    private let listener: Int32

    /// Listens at a path, and connects to the server at another one.
    package init(at path: String, to server: String) throws {
        self.server = server
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        var address = Self.address(path)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isBound == 0, listen(listener, 64) == 0 else {
            throw MachineFailure("the proxy cannot listen at \(path)")
        }
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Changes the faults.
    package func set(_ change: (inout Faults) -> Void) {
        condition.lock()
        change(&current)
        condition.broadcast()
        condition.unlock()
    }

    /// Connects to another server from now on.
    package func move(to server: String) {
        condition.withLock { self.server = server }
        cutAll()
    }

    /// Cuts all connections.
    package func cutAll() {
        condition.lock()
        for (client, server) in connections.values {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
        condition.unlock()
    }

    /// Ends the proxy.
    package func end() {
        set { $0 = Faults() }
        condition.withLock { isEnded = true }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        cutAll()
    }

    private static func address(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        return address
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 {
                if condition.withLock({ isEnded }) { return }
                usleep(1_000)
                continue
            }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            if condition.withLock({ current.isClosed }) {
                close(client)
            } else {
                connect(client)
            }
        }
    }

    private func connect(_ client: Int32) {
        let server = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = Self.address(condition.withLock { self.server })
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isConnected == 0 else {
            close(server)
            close(client)
            return
        }
        let number = condition.withLock {
            lastNumber += 1
            connections[lastNumber] = (client, server)
            return lastNumber
        }
        Thread.detachNewThread { [self] in
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [self] in
                pump(from: server, to: client, .answers)
                isDone.signal()
            }
            pump(from: client, to: server, .requests)
            isDone.wait()
            condition.withLock { connections[number] = nil }
            close(client)
            close(server)
        }
    }

    /// Passes bytes on until there are no more; those of a client that has gone still arrive.
    private func pump(from source: Int32, to destination: Int32, _ direction: Direction) {
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = recv(source, &bytes, bytes.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            if direction == .requests { holdAppend(bytes[..<count]) }
            let passed = wait(direction, count)
            var sent = 0
            while sent < passed {
                let part = bytes[sent..<passed].withUnsafeBytes {
                    send(destination, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if part < 0, errno == EINTR { continue }
                // Whoever has gone does not read; the other one goes on.
                if part <= 0 { break }
                sent += part
            }
            if passed < count {
                cutAll()
                break
            }
        }
        shutdown(destination, Int32(SHUT_WR))
    }

    /// Holds a request or its answer if it is an append, and that is asked for.
    private func holdAppend(_ request: ArraySlice<UInt8>) {
        guard let held = condition.withLock({ current.heldByAppend }) else { return }
        let append = Data("INSERT INTO stet_entry".utf8)
        guard Data(request).range(of: append) != nil else { return }
        set {
            $0.heldByAppend = nil
            $0.held.insert(held)
        }
    }

    /// Waits as long as bytes are held; returns how many of them pass before the connection is cut.
    private func wait(_ direction: Direction, _ count: Int) -> Int {
        condition.lock()
        let delay = current.delay
        condition.unlock()
        if delay > 0 { usleep(delay) }
        condition.lock()
        defer { condition.unlock() }
        while current.held.contains(direction) { condition.wait() }
        guard let cut = current.cut, cut.direction == direction else { return count }
        guard count > cut.byteCount else {
            current.cut?.byteCount -= count
            return count
        }
        current.cut = nil
        return cut.byteCount
    }
}

/// A failure of the campaign itself, which therefore proves nothing.
package struct MachineFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
