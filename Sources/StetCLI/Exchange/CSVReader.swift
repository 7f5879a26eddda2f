/// Reads a file of comma-separated values, strictly, with the lines on which its rows begin.
///
/// Quoted fields may contain commas, quotes and line breaks; lines end with LF or CR LF.
struct CSVReader {
    private var bytes: FileBytes
    private var line = 1

    init(_ bytes: FileBytes) throws {
        self.bytes = bytes
        if try bytes.peek() == 0xef {
            for expected: UInt8 in [0xef, 0xbb, 0xbf] where try bytes.next() != expected {
                throw Self.failure(line, "it is not in UTF-8")
            }
        }
    }

    private static func failure(_ line: Int, _ message: String) -> ExchangeError {
        ExchangeError(line: line, message: message)
    }

    /// Returns the next row; nil at the end.
    ///
    /// Empty lines are skipped.
    mutating func next() throws -> (line: Int, row: CSVRow)? {
        while let byte = try bytes.peek(), byte == 0x0a || byte == 0x0d {
            _ = try takeLineEnd()
        }
        guard try bytes.peek() != nil else { return nil }
        let start = line
        var fields: [CSVRow.Field] = []
        repeat {
            fields.append(try bytes.peek() == 0x22 ? quotedField() : plainField())
        } while try takeComma()
        return (start, CSVRow(fields: fields))
    }

    private mutating func takeComma() throws -> Bool {
        switch try bytes.peek() {
        case 0x2c:
            _ = try bytes.next()
            return true
        case nil: return false
        default:
            guard try takeLineEnd() else {
                throw Self.failure(
                    line, "behind a quoted field a comma or the line's end is missing")
            }
            return false
        }
    }

    private mutating func takeLineEnd() throws -> Bool {
        let byte = try bytes.peek()
        guard byte == 0x0a || byte == 0x0d else { return false }
        _ = try bytes.next()
        if byte == 0x0d {
            guard try bytes.peek() == 0x0a else {
                throw Self.failure(line, "a carriage return without a line feed")
            }
            _ = try bytes.next()
        }
        line += 1
        return true
    }

    private mutating func plainField() throws -> CSVRow.Field {
        var text: [UInt8] = []
        while let byte = try bytes.peek(), ![0x2c, 0x0a, 0x0d].contains(byte) {
            guard byte != 0x22 else {
                throw Self.failure(line, "a quote in a field that does not begin with one")
            }
            try append(byte, to: &text)
        }
        return CSVRow.Field(try string(text))
    }

    private mutating func quotedField() throws -> CSVRow.Field {
        let start = line
        var text: [UInt8] = []
        _ = try bytes.next()
        while let byte = try bytes.peek() {
            if byte == 0x22 {
                _ = try bytes.next()
                guard try bytes.peek() == 0x22 else {
                    return CSVRow.Field(try string(text), isQuoted: true)
                }
            }
            if byte == 0x0a { line += 1 }
            try append(byte, to: &text)
        }
        throw Self.failure(start, "a quoted field that begins here has no end")
    }

    private mutating func append(_ byte: UInt8, to text: inout [UInt8]) throws {
        guard text.count < FileBytes.lineByteCount else {
            throw Self.failure(line, "a field of more than \(FileBytes.lineByteCount) bytes")
        }
        text.append(byte)
        _ = try bytes.next()
    }

    private func string(_ bytes: [UInt8]) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Self.failure(line, "it is not in UTF-8")
        }
        return text
    }
}
