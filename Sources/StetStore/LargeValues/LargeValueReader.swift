import StetLMDB

/// Reads the bytes of large values.
package struct LargeValueReader {
    private let file: StoreFile

    /// Creates a reader for a store.
    package init(_ file: StoreFile) { self.file = file }

    /// Reads a part of a large value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - range: The bytes to read, which the value has.
    ///   - body: Receives the parts of the range in order.
    /// - Throws: `StoreError`: `.largeDataMissing` when the store does not have the bytes,
    ///   `.damaged`; the errors of `body`.
    package func read(
        _ value: LargeValue, _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try file.read { reader in
            guard let table = file.projection.largeValues,
                let entry = try table.entry(value, in: reader.transaction)
            else { throw StoreError.largeDataMissing(value, path: file.path) }
            var rest = range
            while !rest.isEmpty {
                let part = LargeValue.part(of: rest)
                let number = part.lowerBound / LargeValue.chunkByteCount
                let start = number * LargeValue.chunkByteCount
                let chunk = try table.chunk(number, of: entry, in: reader.transaction)
                try body(
                    UnsafeRawBufferPointer(
                        rebasing: chunk[part.lowerBound - start..<part.upperBound - start]))
                rest = part.upperBound..<rest.upperBound
            }
        }
    }
}

extension StoreReader {
    /// Returns whether the store has the bytes of a large value.
    package func hasBytes(of value: LargeValue) throws -> Bool {
        try file.projection.largeValues?.entry(value, in: transaction) != nil
    }
}

/// Removes the large values to which nothing refers.
struct LargeValueSweep {
    /// The time for which a value without references stays, in seconds: whoever has written its
    /// bytes saves an object that refers to them within it.
    private static let lifetime: Double = 24 * 60 * 60

    let file: StoreFile

    /// Removes the values that were written before that time, in several transactions.
    func run() throws {
        guard let table = file.projection.largeValues else { return }
        let limit = file.time() - Self.lifetime
        // Others save meanwhile.
        guard try file.environment.read({ try table.hasUnused(before: limit, in: $0) }) else {
            return
        }
        while try !file.environment.writeGrowing({ try table.sweep(before: limit, in: $0) }) {}
    }
}

extension StoreError {
    static func largeDataSwept(path: String) -> StoreError {
        StoreError(
            .largeDataMissing, path: path,
            message: "The first bytes of large data were removed, because none followed for a day.",
            advice: "Write it again from the beginning.")
    }

    static func largeDataMissing(_ value: LargeValue, path: String) -> StoreError {
        StoreError(
            .largeDataMissing, path: path,
            message: "The store does not have the bytes of large data "
                + "\(value.digest.hexadecimal.prefix(16))…",
            advice: "Write them with LargeData(_:in:) to this store, and save within a day.")
    }
}
