import FoundationEssentials

/// The writes of child processes to the files of a store, their syncs and their acknowledgements:
/// the trace of the recorder in `Tests/CStetRecorder`, in the order of the calls.
package struct WriteTrace: Hashable, Sendable {
    /// One successful call of a recorded process.
    package enum Event: Hashable, Sendable {
        /// Bytes written at `offset`; a power cut may lose them until the next ``sync``.
        case write(offset: Int, bytes: ArraySlice<UInt8>)
        /// Bytes written at `offset` through a descriptor with `O_DSYNC`: they are on the disk, but
        /// earlier writes need not be.
        case synchronousWrite(offset: Int, bytes: ArraySlice<UInt8>)
        /// Bytes written at `offset` by a call that reported an error: later reads may see them,
        /// and no sync writes them to the disk, although they may be there.
        case lostWrite(offset: Int, bytes: ArraySlice<UInt8>)
        /// A sync: everything before it in this file is on the disk.
        case sync
        /// A failed sync: no later one writes the data before it to the disk.
        case failedSync
        /// A change of the size of the file; a power cut may lose it until the next ``sync``.
        case truncate(byteCount: Int)
        /// Bytes written to standard output.
        case output(ArraySlice<UInt8>)
        /// A new name of the file, without the name of the store: empty for its data file; a power
        /// cut may lose it until the next ``nameSync``.
        case name(String)
        /// The removal of a name; a power cut may lose it until the next ``nameSync``.
        case removal(String)
        /// A sync of the directory: the names are on the disk.
        case nameSync
    }

    package let events: [Event]
    /// The number of the file that each event concerns, in order of appearance.
    package let files: [Int]
    /// The number of bytes at the end that are not a whole record: 0 unless the process was killed
    /// while it recorded.
    package let tornByteCount: Int

    /// Reads a trace from a file.
    ///
    /// - Throws: ``WriteTraceError`` if it is not a trace, `CocoaError` if it cannot be read.
    package init(contentsOf path: String) throws {
        try self.init(decoding: [UInt8](Data(contentsOf: URL(filePath: path))))
    }

    /// Reads a trace from bytes.
    ///
    /// A truncated last record is ignored, and counted in ``tornByteCount``.
    package init(decoding bytes: [UInt8]) throws(WriteTraceError) {
        var decoder = TraceDecoder(bytes)
        (events, files) = try decoder.decode()
        tornByteCount = bytes.count - decoder.position
    }
}

extension WriteTrace.Event {
    /// The text of an acknowledgement: output that begins with `ack `.
    ///
    /// Other output has none.
    package var acknowledgement: String? {
        guard case .output(let bytes) = self, bytes.starts(with: Array("ack ".utf8)) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension WriteTrace {
    /// Returns the indices in ``events`` of the acknowledgements whose data was not on the disk.
    ///
    /// An acknowledgement is backed if between the previous acknowledgement (or the start) and this
    /// one there are, in this order, 1. at least one `write`: the data pages; 2. a `sync` with no
    /// `write` and no `truncate` between it and the next step: it covers all of them; 3. a
    /// `synchronousWrite`: the meta page;
    ///
    /// and if at the acknowledgement every `write` and `truncate` since the start is followed by a
    /// `sync`. A `write` after step 2 or 3 leads back to step 1. A `synchronousWrite` before step 2
    /// does not count.
    ///
    /// Each acknowledgement therefore needs a separate commit: the second of two for one group
    /// commit breaks the rule. Output that does not begin with `ack ` is ignored.
    package func unsyncedAcknowledgements() -> [Int] {
        enum Step { case nothing, written, synced, finished }
        var broken: [Int] = []
        var step = Step.nothing
        var hasUnsynced = false
        for (index, event) in events.enumerated() {
            switch event {
            case .write:
                step = .written
                hasUnsynced = true
            case .truncate:
                if step != .nothing { step = .written }
                hasUnsynced = true
            case .sync:
                if step == .written { step = .synced }
                hasUnsynced = false
            case .synchronousWrite:
                if step == .synced { step = .finished }
            case .name, .removal, .nameSync, .lostWrite, .failedSync:
                break
            case .output:
                guard event.acknowledgement != nil else { continue }
                if step != .finished || hasUnsynced { broken.append(index) }
                step = .nothing
            }
        }
        return broken
    }
}

/// The reason why bytes are not a trace, and the offset.
package struct WriteTraceError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The record does not begin with the magic number.
        case magic
        /// The record is of an unknown kind.
        case kind
        /// A record of a process is missing.
        case sequence
        /// The offset or the length is outside the range of a trace.
        case range
    }

    package let code: Code
    /// The offset of the invalid record.
    package let byteOffset: Int

    package init(code: Code, byteOffset: Int) {
        self.code = code
        self.byteOffset = byteOffset
    }

    package var description: String {
        "The trace is not valid: wrong \(code) in the record at byte \(byteOffset)."
    }
}

/// Reads records in sequence; the layout is described in `CStetRecorder.h`.
private struct TraceDecoder {
    private static let headerByteCount = 48
    private static let magic: UInt32 = 0x4352_5453
    /// The maximum size of a file: images are built in memory, and no recorded test writes a larger
    /// one.
    private static let maximalFileByteCount: Int64 = 1 << 32

    private let bytes: [UInt8]
    private(set) var position = 0
    /// The number of records read of each process.
    private var sequences: [UInt64: UInt64] = [:]
    /// The number of each file that has a name, or has never had one.
    private var numbers: [UInt64: Int] = [:]
    private var fileCount = 0
    /// The inode behind each name.
    private var names: [String: UInt64] = [:]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func decode() throws(WriteTraceError) -> (events: [WriteTrace.Event], files: [Int]) {
        var events: [WriteTrace.Event] = []
        var files: [Int] = []
        while let (event, file) = try next() {
            events.append(event)
            files.append(file)
        }
        return (events, files)
    }

    /// Returns the next event and its file, or nil at the end of the last whole record.
    private mutating func next() throws(WriteTraceError) -> (WriteTrace.Event, file: Int)? {
        guard bytes.count - position >= Self.headerByteCount else { return nil }
        guard load(UInt32.self, at: 0) == Self.magic else { throw error(.magic) }
        guard let kind = Kind(rawValue: load(UInt32.self, at: 4)) else { throw error(.kind) }
        let process = load(UInt64.self, at: 16)
        let sequence = sequences[process, default: 0]
        guard load(UInt64.self, at: 8) == sequence else { throw error(.sequence) }
        let inode = load(UInt64.self, at: 24)
        let offset = load(Int64.self, at: 32)
        let length = load(Int64.self, at: 40)
        let range = 0...Self.maximalFileByteCount
        guard range.contains(offset), range.contains(length), range.contains(offset + length) else {
            throw error(.range)
        }
        guard length == 0 || kind.hasPayload else { throw error(.range) }
        let start = position + Self.headerByteCount
        guard bytes.count - start >= Int(length) else { return nil }
        let payload = bytes[start..<start + Int(length)]
        position = payload.endIndex
        sequences[process] = sequence + 1
        let event = Self.event(kind, Int(offset), payload)
        let file = number(ofFile: inode)
        noteName(event, inode)
        return (event, file)
    }

    private static func event(
        _ kind: Kind, _ offset: Int, _ payload: ArraySlice<UInt8>
    ) -> WriteTrace.Event {
        switch kind {
        case .write: .write(offset: offset, bytes: payload)
        case .synchronousWrite: .synchronousWrite(offset: offset, bytes: payload)
        case .sync: .sync
        case .truncate: .truncate(byteCount: offset)
        case .output: .output(payload)
        case .name: .name(String(decoding: payload, as: UTF8.self))
        case .nameSync: .nameSync
        case .removal: .removal(String(decoding: payload, as: UTF8.self))
        case .lostWrite: .lostWrite(offset: offset, bytes: payload)
        case .failedSync: .failedSync
        }
    }

    private mutating func number(ofFile inode: UInt64) -> Int {
        if let number = numbers[inode] { return number }
        fileCount += 1
        numbers[inode] = fileCount - 1
        return fileCount - 1
    }

    /// Records a change of a name: a file that has lost its name is gone, and another may get its
    /// inode.
    private mutating func noteName(_ event: WriteTrace.Event, _ inode: UInt64) {
        let name: String
        var present: UInt64?
        switch event {
        case .name(let given): (name, present) = (given, inode)
        case .removal(let removed): name = removed
        default: return
        }
        if let former = names[name], former != present { numbers[former] = nil }
        if present == nil { numbers[inode] = nil }
        names[name] = present
    }

    private enum Kind: UInt32 {
        case write = 1
        case sync, synchronousWrite, truncate, output, name, nameSync, removal, lostWrite
        case failedSync

        var hasPayload: Bool {
            [.write, .synchronousWrite, .lostWrite, .output, .name, .removal].contains(self)
        }
    }

    private func load<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type, at offset: Int)
        -> Number
    {
        bytes.withUnsafeBytes {
            Number(
                littleEndian: $0.loadUnaligned(fromByteOffset: position + offset, as: Number.self))
        }
    }

    private func error(_ code: WriteTraceError.Code) -> WriteTraceError {
        WriteTraceError(code: code, byteOffset: position)
    }
}
