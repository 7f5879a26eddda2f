import StetStore

/// One row of a file of comma-separated values, as RFC 4180 defines it.
struct CSVRow {
    /// One field; quotes distinguish the empty text from nil.
    struct Field: Hashable {
        var text: String
        var isQuoted = false

        init(_ text: String, isQuoted: Bool = false) {
            self.text = text
            self.isQuoted = isQuoted
        }

        init(_ value: Value) {
            self.init(value.exactText, isQuoted: value != .null && value.exactText.isEmpty)
        }

        fileprivate var line: String {
            let special = text.utf8.contains { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }
            let isPadded = text.utf8.first == 0x20 || text.utf8.last == 0x20
            guard isQuoted || special || isPadded else { return text }
            // Works on bytes, because a quote and a following combining accent are one character.
            let doubled = text.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }
            return "\"\(String(decoding: doubled, as: UTF8.self))\""
        }
    }

    var fields: [Field]

    /// The text of the row, without a line end.
    var line: String {
        // An empty line would not count as a row.
        fields.count == 1 && fields[0].line.isEmpty
            ? "\"\"" : fields.map(\.line).joined(separator: ",")
    }
}
