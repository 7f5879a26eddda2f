/// The changes of a write transaction in the order in which they are made: the payload of a frame.
///
/// Each operation has a head of 12 bytes: its kind and the number of its table, the bytes of its
/// key, the bytes of its value. A table gets its number, within the payload, by an operation whose
/// key is its name.
///
/// State: belongs to the thread that has the writer lock.
final class OperationRecorder: @unchecked Sendable {  // used under the writer lock only
    enum Kind: UInt32 {
        /// Opens a table, or creates it.
        case table = 1
        case put
        /// Puts a key that is greater than every other.
        case append
        case delete
        /// Removes all entries of a table.
        case empty
    }

    static let headByteCount = 12
    /// The greatest number of bytes of a payload that is worthwhile: a commit that writes more is
    /// faster without a log.
    static let limit = 4 << 20

    let buffer = FrameBuffer()
    /// The numbers of tables in this payload, by LMDB's number; 0 for none.
    private var numbers: [UInt32] = []
    private var tableCount: UInt32 = 0
    /// Bytes of a value that LMDB has reserved, which are filled before the next operation.
    private var reserved: (source: UnsafeRawPointer, offset: Int, byteCount: Int)?
    private(set) var operationCount = 0

    /// True when the payload would be longer than the limit, or a table has no known name: the
    /// transaction needs a commit without the log.
    private(set) var isIncomplete = false

    /// Forgets all operations.
    func removeAll() {
        buffer.removeAll()
        numbers.removeAll(keepingCapacity: true)
        tableCount = 0
        reserved = nil
        operationCount = 0
        isIncomplete = false
    }

    /// Adds an operation on a table; `name` returns the name of a table that has no number yet.
    func add(
        _ kind: Kind, _ table: Table, _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer = .init(start: nil, count: 0), named name: () -> String?
    ) {
        guard beginOperation() else { return }
        addHead(kind, number(of: table, name), key, valueByteCount: value.count)
        buffer.append(value)
    }

    /// Adds a put whose value is filled where LMDB has reserved it.
    func add(
        _ kind: Kind, _ table: Table, _ key: UnsafeRawBufferPointer,
        reserving value: UnsafeMutableRawBufferPointer, named name: () -> String?
    ) {
        guard beginOperation() else { return }
        addHead(kind, number(of: table, name), key, valueByteCount: value.count)
        let offset = buffer.extend(by: value.count)
        if let source = value.baseAddress {
            reserved = (UnsafeRawPointer(source), offset, value.count)
        }
    }

    /// Notes a table that was opened, because that may have created it.
    func addTable(_ table: Table, _ name: String) {
        guard beginOperation() else { return }
        _ = number(of: table) { name }
    }

    /// Copies the bytes of a reserved value, which the next operation may move.
    func settle() {
        guard let value = reserved else { return }
        buffer.fill(value.offset, from: value.source, byteCount: value.byteCount)
        reserved = nil
    }

    private func beginOperation() -> Bool {
        settle()
        operationCount += 1
        if buffer.count > Self.limit { isIncomplete = true }
        return !isIncomplete
    }

    private func addHead(
        _ kind: Kind, _ table: UInt32, _ key: UnsafeRawBufferPointer, valueByteCount: Int
    ) {
        buffer.append(kind.rawValue | table << 8)
        buffer.append(UInt32(key.count))
        buffer.append(UInt32(valueByteCount))
        buffer.append(key)
    }

    private func number(of table: Table, _ name: () -> String?) -> UInt32 {
        let place = Int(table.handle)
        if place < numbers.count, numbers[place] != 0 { return numbers[place] }
        guard var name = name() else {
            isIncomplete = true
            return 0
        }
        while numbers.count <= place { numbers.append(0) }
        tableCount += 1
        numbers[place] = tableCount
        name.withUTF8 { addHead(.table, tableCount, UnsafeRawBufferPointer($0), valueByteCount: 0) }
        return tableCount
    }
}
