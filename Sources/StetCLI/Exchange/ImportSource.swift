import FoundationEssentials
import StetStore

/// A file of objects that is read one by one.
struct ImportSource {
    private enum Reader {
        case csv(CSVReader, columns: [String])
        case jsonl(FileBytes, line: Int)
    }

    private var reader: Reader
    /// The names of properties by column; an empty name skips a column.
    private let names: [String: String]
    /// The entity of lines that do not name one.
    private let entity: Entity?

    /// Creates a source for a file of JSON Lines.
    init(jsonLines file: FileBytes, _ names: [String: String], _ entity: Entity?) {
        reader = .jsonl(file, line: 0)
        self.names = names
        self.entity = entity
    }

    /// Creates a source for a file of comma-separated values whose first row contains the names of
    /// its columns.
    init(csv file: FileBytes, _ names: [String: String], _ shape: ObjectShape) throws {
        let entity = shape.entity
        var csv = try CSVReader(file)
        self.names = names
        self.entity = entity
        guard let (line, header) = try csv.next() else {
            throw ExchangeError(line: 1, message: "there is no row with the names of the columns")
        }
        let columns = header.fields.map { names[$0.text] ?? $0.text }
        for unknown in names.keys.sorted()
        where !header.fields.contains(where: { $0.text == unknown }) {
            throw ExchangeError(line: line, message: "there is no column \(unknown)")
        }
        var seen: Set<String> = []
        for column in columns where !column.isEmpty {
            guard column == "id" || shape.names.contains(column) else {
                throw ExchangeError(
                    line: line,
                    message: "\(entity.name) has no property \(column); map the column, or leave "
                        + "it out with --map \"\(column)=\"")
            }
            guard seen.insert(column).inserted else {
                throw ExchangeError(line: line, message: "two columns are called \(column)")
            }
        }
        reader = .csv(csv, columns: columns)
    }

    /// Returns the next object; nil at the end.
    ///
    /// - Throws: `ExchangeError` when the file is malformed.
    mutating func next() throws -> ImportRecord? {
        switch reader {
        case .csv(var csv, let columns):
            guard let (line, row) = try csv.next() else { return nil }
            reader = .csv(csv, columns: columns)
            return record(line, row, columns)
        case .jsonl(let file, var line):
            while let bytes = try file.line() {
                line += 1
                reader = .jsonl(file, line: line)
                if bytes.allSatisfy({ [0x09, 0x0d, 0x20].contains($0) }) { continue }
                return record(line, bytes)
            }
            return nil
        }
    }

    private func record(_ line: Int, _ row: CSVRow, _ columns: [String]) -> ImportRecord {
        var record = ImportRecord(line: line)
        guard row.fields.count == columns.count else {
            record.problem =
                "there are \(row.fields.count) fields for \(columns.count) columns"
            return record
        }
        for (name, field) in zip(columns, row.fields) where !name.isEmpty {
            if name == "id", entity?.slot(of: name) == nil {
                record.id = field.text.isEmpty ? nil : field.text
            } else {
                record.fields[name] = .text(field)
            }
        }
        return record
    }

    /// Returns the record of an exported line, or of an object whose members are the values.
    private func record(_ line: Int, _ bytes: [UInt8]) -> ImportRecord {
        var record = ImportRecord(line: line)
        guard bytes.count <= FileBytes.lineByteCount,
            case .object(var members)? = JSON(bytes: bytes)
        else {
            record.problem = "it is no JSON object in one line"
            return record
        }
        if case .object(let values)? = members["values"], entity?.slot(of: "values") == nil {
            if case .string(let name)? = members["entity"] { record.entity = name }
            if let id = members["id"] { record.id = id.plainText }
            members = values
        } else if let id = members["id"], entity?.slot(of: "id") == nil {
            record.id = id.plainText
            members["id"] = nil
        }
        for (member, value) in members {
            let name = names[member] ?? member
            if !name.isEmpty { record.fields[name] = .json(value) }
        }
        return record
    }
}

/// The contents of a line of a file about an object, before an entity's properties interpret it.
struct ImportRecord {
    /// A value in the form of the file.
    enum Field {
        case json(JSON)
        case text(CSVRow.Field)
    }

    var line: Int
    /// The name of the entity; nil when the line does not name it.
    var entity: String?
    var id: String?
    /// The fields, by the names of properties.
    var fields: [String: Field] = [:]
    /// The reason why the line is not an object at all; nil when it is one.
    var problem: String?
}

extension JSON {
    /// A string without its quotation marks; other values in JSON.
    fileprivate var plainText: String { if case .string(let text) = self { text } else { text } }
}
