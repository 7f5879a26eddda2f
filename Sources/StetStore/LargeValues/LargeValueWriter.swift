import StetLMDB

/// Writes the bytes of a large value to a store, a few chunks in each transaction, before the
/// commit that refers to them.
///
/// State: the bytes that wait, guarded by a monitor, because each transaction may run on another
/// thread.
package final class LargeValueWriter: Sendable {
    /// The number of chunks that one transaction writes: about 1 MiB.
    private static let stepCount = 16
    private static let stepByteCount = stepCount * LargeValue.chunkByteCount

    private struct State {
        var hasher = DigestHasher()
        var byteCount = 0
        /// The number of chunks that were written.
        var chunkCount = 0
        /// The bytes that were not written yet.
        var rest: [UInt8] = []
    }

    private let file: StoreFile
    private let table: LargeValueTable
    private let key = ObjectID()
    private let state = Monitor(State())

    /// Begins a value.
    ///
    /// - Throws: `StoreError` (`.modelMismatch`) when no model of the store has large values.
    package init(_ file: StoreFile) throws {
        guard let table = file.projection.largeValues, file.schema.hasLargeValues else {
            throw StoreError(
                .modelMismatch, path: file.path, message: "No model of the store has large data.",
                advice: "Give a model an attribute of the type LargeData.")
        }
        self.file = file
        self.table = table
    }

    /// Returns whether bytes can be appended without writing to the disk.
    package func hasRoom(for byteCount: Int) -> Bool {
        state.withLock { $0.rest.count + byteCount < Self.stepByteCount }
    }

    /// Appends bytes to the value.
    ///
    /// - Throws: `StoreError`, as a commit does.
    package func append(_ bytes: UnsafeRawBufferPointer) throws {
        try state.withLock { state in
            state.hasher.update(bytes)
            state.byteCount += bytes.count
            var bytes = bytes
            while !bytes.isEmpty {
                let count = min(Self.stepByteCount - state.rest.count, bytes.count)
                state.rest += bytes[..<count]
                bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
                if state.rest.count == Self.stepByteCount { try write(&state) { _, _ in } }
            }
        }
    }

    /// Writes the rest, and makes the bytes a value.
    ///
    /// If the store has a value with these bytes already, those that were written are removed.
    ///
    /// - Throws: `StoreError`, as a commit does.
    package func finish() throws -> LargeValue {
        try state.withLock { state in
            let value = LargeValue(digest: state.hasher.finish(), byteCount: state.byteCount)
            let time = file.time()
            try write(&state) { transaction, isFirst in
                if var present = try table.entry(value.digest, in: transaction.reading) {
                    _ = try table.removeChunks(key, in: transaction)
                    present.time = max(present.time, time)
                    try table.put(present, in: transaction)
                } else {
                    let entry = LargeValueTable.Entry(
                        value: value, key: key, referenceCount: 0, time: time)
                    try table.put(entry, in: transaction)
                }
                if !isFirst { try table.removeUnfinished(key, in: transaction) }
            }
            return value
        }
    }

    /// Removes what was written, if possible; a later trim does it otherwise.
    ///
    /// The last transaction may have been committed although it failed: then the chunks belong to
    /// a value, which others may already use.
    package func abandon() {
        try? file.environment.writeGrowing { transaction in
            guard try table.isUnfinished(key, in: transaction.reading),
                try table.removeChunks(key, in: transaction)
            else { return }
            try table.removeUnfinished(key, in: transaction)
        }
    }

    /// Writes the bytes that wait, and what `body` writes, in one transaction; `body` learns
    /// whether it is the first one of the value.
    private func write(
        _ state: inout State,
        _ body: (_ transaction: borrowing WriteTransaction, _ isFirst: Bool) throws -> Void
    ) throws {
        let first = state.chunkCount
        let done = try state.rest.withUnsafeBytes { bytes in
            try StoreError.wrapping(path: file.path) {
                try file.environment.writeGrowing { transaction in
                    let head = try Head.read(in: transaction.reading)
                    guard head.schemaRevision == UInt32(file.schema.revision) else {
                        throw StoreError.migratedElsewhere(path: file.path)
                    }
                    if first > 0, try !table.isUnfinished(key, in: transaction.reading) {
                        throw StoreError.largeDataSwept(path: file.path)
                    }
                    let count = try put(bytes, from: first, in: transaction)
                    // Renewed by each step, so that a trim leaves what still arrives.
                    if count == Self.stepCount {
                        try table.putUnfinished(key, since: file.time(), in: transaction)
                    }
                    try body(transaction, first == 0 && count < Self.stepCount)
                    return count
                }
            }
        }
        state.chunkCount += done
        state.rest.removeAll(keepingCapacity: true)
    }

    /// Writes bytes as chunks from a number on; returns how many there are.
    private func put(
        _ bytes: UnsafeRawBufferPointer, from first: Int,
        in transaction: borrowing WriteTransaction
    ) throws -> Int {
        var number = first
        for start in stride(from: 0, to: bytes.count, by: LargeValue.chunkByteCount) {
            let end = min(start + LargeValue.chunkByteCount, bytes.count)
            try table.put(
                UnsafeRawBufferPointer(rebasing: bytes[start..<end]), chunk: number, of: key,
                in: transaction)
            number += 1
        }
        return number - first
    }
}
