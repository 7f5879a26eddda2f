import Stet

/// A value of a statement, in the binary form of PostgreSQL.
enum Parameter {
    case text(String)
    case integer(Int64)
    case bytes([UInt8])
    case integers([Revision])
    case byteArrays([[UInt8]])

    static func integer(_ revision: Revision) -> Parameter {
        .integer(Int64(bitPattern: revision.number))
    }

    /// Returns the revisions, hashes and bytes of entries.
    static func columns(of entries: [SharedJournalEntry]) -> [Parameter] {
        [
            .integers(entries.map(\.revision)), .byteArrays(entries.map(\.hash)),
            .byteArrays(entries.map(\.bytes)),
        ]
    }

    /// The number of the type.
    var type: UInt32 {
        switch self {
        case .text: 25
        case .integer: 20
        case .bytes: 17
        case .integers: 1_016
        case .byteArrays: 1_001
        }
    }

    var encoded: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .integer(let number): Self.bigEndian(number)
        case .bytes(let bytes): bytes
        case .integers(let revisions):
            Self.array(
                ofType: 20, revisions.map { Self.bigEndian(Int64(bitPattern: $0.number)) })
        case .byteArrays(let arrays): Self.array(ofType: 17, arrays)
        }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Returns an array of one dimension without nulls.
    private static func array(ofType type: Int32, _ elements: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + elements.reduce(0) { $0 + $1.count + 4 })
        for number in [1, 0, type, Int32(elements.count), 1] { bytes += bigEndian(number) }
        for element in elements {
            bytes += bigEndian(Int32(element.count))
            bytes += element
        }
        return bytes
    }
}

extension Answer {
    /// Returns the head in the only row; nil when there is none.
    func head() throws -> SharedJournalHead? {
        if rowCount == 0 { return nil }
        guard let id = ObjectID(String(decoding: try bytes(0, 0), as: UTF8.self)) else {
            throw SharedJournalError(.damaged, "its head has no id of a store")
        }
        return SharedJournalHead(
            store: id, revision: try revision(0, 1), hash: try bytes(0, 2),
            fence: try integer(0, 3))
    }

    func revision(_ row: Int, _ column: Int) throws -> Revision {
        let number = try integer(row, column)
        guard number >= 0 else {
            throw SharedJournalError(.damaged, "it has the revision \(number)")
        }
        return Revision(UInt64(number))
    }

    func integer(_ row: Int, _ column: Int) throws -> Int64 {
        let bytes = try bytes(row, column)
        guard bytes.count == 8 else {
            throw SharedJournalError(.damaged, "it has a number of \(bytes.count) bytes")
        }
        return bytes.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
    }
}
