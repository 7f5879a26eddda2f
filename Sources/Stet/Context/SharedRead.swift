import StetStore

/// An open read that the accessors of many objects share, instead of one read for each.
final class SharedRead {
    private let reader: StoreReader

    private init(reader: consuming StoreReader) { self.reader = reader }

    /// Reads the store: in the shared read, if there is one.
    static func read<Result>(
        _ core: ContextCore, _ body: (borrowing StoreReader) throws -> Result
    ) throws -> Result {
        if let shared = core.sharedRead { return try body(shared.reader) }
        return try core.store.file.read(body)
    }

    /// Runs code whose accessors share a read.
    static func during<Result>(_ core: ContextCore, _ body: () throws -> Result) throws -> Result {
        if core.sharedRead != nil { return try body() }
        return try core.reading { reader in
            core.sharedRead = SharedRead(reader: reader.shared())
            defer { core.sharedRead = nil }
            return try body()
        }
    }
}
