import StetStore

// How a context reads its store.

/// A call of a store that gives its closure a context.
enum StoreCall {
    /// `Store.edit` or the handler of a subscription, which save after the closure has returned.
    case edit
    /// `Store.read`, which shows one revision and saves nothing.
    case read
}

extension StoreCall? {
    /// Traps in the closure of `Store.read`.
    func checkNotReading(_ call: StaticString) {
        trap(
            unless: self != .read, "\(call) inside Store.read: edit in Store.edit, which saves")
    }
}

extension ContextCore {
    /// Reads the store to make objects, which evaluates the default values of their properties.
    func reading<Result>(
        _ body: (borrowing StoreReader) throws -> Result
    ) throws -> Result {
        try deferringDidFetch { try read(body) }
    }

    /// Runs code that makes objects, and then calls `didFetch` of those.
    func deferringDidFetch<Result>(_ body: () throws -> Result) rethrows -> Result {
        hooks.readDepth += 1
        defer {
            hooks.readDepth -= 1
            if !hooks.fetched.isEmpty { hookCalls.callDidFetch() }
        }
        return try body()
    }

    /// Reads the store: in the shared read, if there is one.
    func read<Result>(_ body: (borrowing StoreReader) throws -> Result) throws -> Result {
        if let sharedRead { return try sharedRead.read(body) }
        // Without a retain for each read, which is slow: the file has weak references.
        return try withExtendedLifetime(self) {
            try Unmanaged.passUnretained(store.file)._withUnsafeGuaranteedRef {
                try $0.read(body)
            }
        }
    }

    /// Runs code whose reads share one transaction, instead of one for each.
    func sharingReads<Result>(_ body: () throws -> Result) rethrows -> Result {
        if sharedRead != nil { return try body() }
        sharedRead = SharedRead(store.file)
        defer {
            sharedRead?.end()
            sharedRead = nil
        }
        return try body()
    }
}
