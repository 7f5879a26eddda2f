import FoundationEssentials
import StetStore

/// What a line of a file says of an object, before it is looked at with the eyes of an entity.
struct ImportRecord {
    /// A value as the file has it.
    enum Field {
        case json(JSON)
        case text(CSVRow.Field)
    }

    var line: Int
    /// Nil when the line does not say.
    var entity: String?
    var id: String?
    /// By the names of properties.
    var fields: [String: Field] = [:]
    /// Why it is no object at all.
    var problem: String?
}

/// A file of objects, read one by one.
struct ImportSource {
    private enum Reader {
        case csv(CSVReader, columns: [String])
        case jsonl(FileBytes, line: Int)
    }

    private var reader: Reader
    /// What columns are called; an empty name leaves a column out.
    private let names: [String: String]
    /// The entity of the lines that do not say.
    private let entity: Entity?

    /// A file of JSON Lines.
    init(jsonLines file: FileBytes, _ names: [String: String], _ entity: Entity?) {
        reader = .jsonl(file, line: 0)
        self.names = names
        self.entity = entity
    }

    /// A file of comma-separated values whose first row has the names of its columns.
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

    /// The next object; nil at the end.
    ///
    /// - Throws: `ExchangeError` when the file is not written as it should be.
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

    /// What export has written, or an object with the values as its members.
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

extension JSON {
    /// A string without its quotes; anything else as it is written.
    fileprivate var plainText: String { if case .string(let text) = self { text } else { text } }
}
