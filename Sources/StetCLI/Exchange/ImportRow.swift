import FoundationEssentials
import StetStore

/// One thing that is wrong with a row.
struct ImportProblem: Hashable {
    var message: String
    /// Nil when the row as a whole is meant.
    var property: String?

    init(_ message: String, property: String? = nil) {
        self.message = message
        self.property = property
    }

    init(_ violation: Violation) {
        self.init(violation.message, property: violation.property)
    }
}

/// An object of a file, as it is to be committed.
struct ImportRow {
    /// Which object it is.
    struct Key: Hashable {
        let entity: Int
        let id: ObjectID
    }

    let line: Int
    let key: Key
    /// The revision of what the store has; 0 where it never had the object.
    let base: Revision
    /// The body in the store; nil for a new object.
    let before: [UInt8]?
    let after: [UInt8]

    var isUnchanged: Bool { before == after }
}

/// Makes rows of what a file says, by the schema and by what the store has.
struct ImportConversion {
    let schema: Schema
    /// The entity that is asked for; nil when the lines say.
    let entity: String?
    /// In seconds since 2001, for stamps.
    let time: Double

    /// The row, or what is wrong with it.
    func row(
        _ record: ImportRecord, _ reader: borrowing StoreReader
    ) throws -> (row: ImportRow?, problems: [ImportProblem]) {
        if let problem = record.problem { return (nil, [ImportProblem(problem)]) }
        guard let name = record.entity ?? entity, let number = schema.number(ofEntity: name),
            name == entity ?? name
        else {
            let other = record.entity.map { "it is an object of \($0)" } ?? "it names no entity"
            return (nil, [ImportProblem(entity.map { "\(other), not of \($0)" } ?? other)])
        }
        guard let id = record.id.map({ ObjectID($0) }) ?? ObjectID() else {
            return (nil, [ImportProblem("the id is no UUID")])
        }
        let described = schema.entities[number - 1]
        let last = try reader.head().revision
        let known = try reader.lastChange(ofEntity: number, id, asOf: last)
        let stored: ([UInt8], [Value])? = try reader.withRecord(ofEntity: number, id, asOf: last) {
            record in
            let body = try RecordBody(record.body, of: described)
            return (
                Array(record.body), try described.properties.indices.map { try body.value($0) }
            )
        }
        var (values, problems) = try self.values(record, described, id, stored?.1)
        guard problems.isEmpty else { return (nil, problems) }
        stamp(&values, record, described, stored?.1)
        var writer = RecordWriter()
        writer.begin(propertyCount: values.count)
        writer.write(values)
        let row = ImportRow(
            line: record.line, key: ImportRow.Key(entity: number, id: id),
            base: known?.revision ?? .zero, before: stored?.0, after: Array(writer.buffer.bytes))
        return (row, [])
    }

    /// All values of an object; those that the file does not give are as before, or nil.
    private func values(
        _ record: ImportRecord, _ entity: Entity, _ id: ObjectID, _ old: [Value]?
    ) throws -> ([Value], [ImportProblem]) {
        var values = old ?? Array(repeating: .null, count: entity.properties.count)
        var problems = record.fields.keys.filter { entity.slot(of: $0) == nil }.sorted()
            .map { ImportProblem("\(entity.name) has no property \($0)") }
        var sound: [Int] = []
        for (slot, property) in entity.properties.enumerated() {
            guard let field = record.fields[property.name], !property.isMissing(field) else {
                if values[slot] == .null, !property.isOptional, property.stamp == nil {
                    problems.append(property.problem("is missing"))
                }
                continue
            }
            guard let value = property.value(field), property.accepts(value) else {
                problems.append(property.problem(property.expectation))
                continue
            }
            values[slot] = property.normalized(value)
            sound.append(slot)
        }
        // The rules of whole rows are asked later, of all at once.
        if !problems.isEmpty {
            for slot in sound {
                problems += try entity.violations(of: values[slot], slot: slot, id, .english)
                    .map { ImportProblem($0) }
            }
        }
        return (values, problems)
    }

    /// Gives properties with a stamp the time, unless the file has values of theirs or nothing
    /// changes.
    private func stamp(
        _ values: inout [Value], _ record: ImportRecord, _ entity: Entity, _ old: [Value]?
    ) {
        if values == old { return }
        for slot in entity.stampedSlots {
            let property = entity.properties[slot]
            guard old == nil || property.stamp == .update,
                record.fields[property.name].map(property.isMissing) ?? true
            else { continue }
            values[slot] = .date(Date(timeIntervalSinceReferenceDate: time))
        }
    }
}

extension Property {
    /// True for an empty field where nil and empty text are no values.
    fileprivate func isMissing(_ field: ImportRecord.Field) -> Bool {
        guard case .text(let field) = field, !isOptional, type != .string else { return false }
        return field.text.isEmpty && !field.isQuoted
    }

    fileprivate func problem(_ text: String) -> ImportProblem {
        ImportProblem("\(name) \(text)", property: name)
    }

    /// The value that a field stands for; nil when it is none of the property's type.
    fileprivate func value(_ field: ImportRecord.Field) -> Value? {
        switch field {
        case .json(let json): return Value(json: json, type, elements: elements)
        case .text(let field):
            if field.text.isEmpty, !field.isQuoted, isOptional { return .null }
            return Value(text: field.text, type, elements: elements)
        }
    }

    /// The value as the normalisers leave it that the schema knows by name.
    fileprivate func normalized(_ value: Value) -> Value {
        guard case .string(let text) = value else { return value }
        return .string(
            normalizers.reduce(text) { text, normalizer in
                switch normalizer {
                case .trimmed: text.withoutWhitespaceAround
                case .lowercased: text.lowercased()
                case .nfc: text.inNormalFormC
                case .custom: text
                }
            })
    }
}

extension String {
    fileprivate var withoutWhitespaceAround: String {
        guard let start = firstIndex(where: { !$0.isWhitespace }),
            let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[start...last])
    }
}
