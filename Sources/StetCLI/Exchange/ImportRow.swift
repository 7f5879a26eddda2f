import FoundationEssentials
import StetStore

/// An object of a file, in the form in which it is committed.
struct ImportRow {
    let line: Int
    let key: ObjectKey
    /// The revision of the stored object; 0 when the store never had it.
    let base: Revision
    /// The body in the store; nil for a new object.
    let before: [UInt8]?
    let after: [UInt8]
    /// The changes of the links of the relationships in the file.
    let links: [LinkChange]

    var hasSameBody: Bool { before == after }
    var isUnchanged: Bool { hasSameBody && links.isEmpty }
}

/// One problem of a row.
struct ImportProblem: Hashable {
    var message: String
    /// The name of the property; nil when the problem concerns the row as a whole.
    var property: String?

    init(_ message: String, property: String? = nil) {
        self.message = message
        self.property = property
    }

    init(_ violation: Violation) {
        self.init(violation.message, property: violation.property)
    }
}

/// Converts records of a file to rows, by the schema and the stored objects.
struct ImportConversion {
    private let schema: Schema
    /// The shapes by number of the entity.
    private let shapes: [ObjectShape]
    /// The wanted entity; nil when the lines name it.
    private let entity: String?
    /// The time for stamps, in seconds since 2001.
    private let time: Double
    /// The state of ordered lists, with the members that the rows append.
    private let state: WorkingState

    init(_ schema: Schema, entity: String?, time: Double, at revision: Revision) {
        self.schema = schema
        self.entity = entity
        self.time = time
        shapes = schema.entities.numbers.map { ObjectShape(schema, ofEntity: $0) }
        state = WorkingState(schema, at: revision)
    }

    /// A stored object.
    private struct Stored {
        let body: [UInt8]
        let values: [Value]
    }

    /// Returns the row for a record, or its problems.
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
        let shape = shapes[number]
        let key = ObjectKey(number, id)
        let last = try reader.head().revision
        let known = try reader.lastChange(ofEntity: number, id, asOf: last)
        let stored = try reader.withRecord(ofEntity: number, id, asOf: last) { record in
            Stored(
                body: Array(record.body),
                values: try RecordBody(record.body, of: shape.entity).values())
        }
        var (values, problems) = try self.values(record, shape, id, stored?.values)
        let links = try self.links(record, shape, id, isNew: known == nil, &problems, reader)
        try place(&values, key, stored?.values, &problems, reader)
        guard problems.isEmpty else { return (nil, problems) }
        stamp(&values, record, shape.entity, stored?.values)
        var writer = RecordWriter()
        writer.begin(propertyCount: values.count)
        writer.write(values, of: shape.entity)
        let row = ImportRow(
            line: record.line, key: key, base: known?.revision ?? .zero, before: stored?.body,
            after: Array(writer.buffer.bytes), links: links)
        return (row, [])
    }

    /// Returns all values of an object; those that the file does not contain stay, or are nil.
    private func values(
        _ record: ImportRecord, _ shape: ObjectShape, _ id: ObjectID, _ old: [Value]?
    ) throws -> ([Value], [ImportProblem]) {
        let entity = shape.entity
        var values = old ?? Array(repeating: .null, count: entity.properties.count)
        var problems = record.fields.keys.filter { !shape.names.contains($0) }.sorted()
            .map { ImportProblem("\(entity.name) has no property \($0)") }
        var sound: [Slot] = []
        for (slot, property) in entity.properties.slotted where !property.isDerived {
            guard let field = record.fields[property.name], !property.isMissing(field) else {
                if values[slot] == .null, !property.isOptional, property.stamp == nil {
                    problems.append(property.problem("is missing"))
                }
                continue
            }
            guard let value = property.value(field), property.acceptsUnplaced(value) else {
                problems.append(property.problem(field))
                continue
            }
            values[slot] = property.normalized(value)
            sound.append(slot)
        }
        for value in entity.optionalValues {
            problems += settle(value, &values, record, entity)
        }
        // Rules over several properties are checked later, for all rows together.
        if !problems.isEmpty {
            for slot in sound {
                problems += try entity.violations(of: values[slot], slot: slot, id, .english)
                    .map { ImportProblem($0) }
            }
        }
        return (values, problems)
    }

    /// Makes an optional embedded value one that is present or absent as a whole, and returns what
    /// the file lacks for it.
    ///
    /// A file that gives only members means a value that is present.
    private func settle(
        _ value: OptionalValue, _ values: inout [Value], _ record: ImportRecord, _ entity: Entity
    ) -> [ImportProblem] {
        let presence = entity.properties[value.presence]
        let given = value.members.filter {
            record.fields[entity.properties[$0].name] != nil && values[$0] != .null
        }
        if record.fields[presence.name] == nil, !given.isEmpty {
            values[value.presence] = .bool(true)
        }
        switch values[value.presence] {
        case .bool(true):
            return value.missing(in: values, of: entity).map {
                entity.properties[$0].problem("is missing")
            }
        case .null:
            value.clear(&values)
            return given.isEmpty ? [] : [presence.problem("is nil, and its members are not")]
        default: return [presence.problem("is true, or nil for no value")]
        }
    }

    /// Sets stamped properties to the time, unless the file contains their values or nothing
    /// changes.
    private func stamp(
        _ values: inout [Value], _ record: ImportRecord, _ entity: Entity, _ old: [Value]?
    ) {
        if values == old { return }
        for slot in entity.stampedSlots {
            let property = entity.properties[slot]
            let owner = entity.optionalValue(at: slot)
            if let owner, values[owner.presence] == .null { continue }
            guard old == nil || property.stamp == .update,
                record.fields[property.name].map(property.isMissing) ?? true
            else { continue }
            values[slot] = .date(Date(timeIntervalSinceReferenceDate: time))
        }
    }

    // MARK: Members

    /// Appends an object to the members of each owner that the file names without a position,
    /// unless it already is one of them.
    private func place(
        _ values: inout [Value], _ key: ObjectKey, _ old: [Value]?,
        _ problems: inout [ImportProblem], _ reader: borrowing StoreReader
    ) throws {
        for end in schema.referenceEnds(ofMember: key.entity) where end.isOrdered {
            guard let owner = values[end.slot].target else { continue }
            if let old, old[end.slot].target == owner, case .reference = values[end.slot] {
                values[end.slot] = old[end.slot]
            }
            let position: ListPosition
            if case .placed(_, let given) = values[end.slot] {
                position = given
            } else {
                let last = try state.lastPosition(of: owner, at: end, reader)
                guard let next = ListPosition.between(last, nil) else {
                    let property = shapes[key.entity].entity.properties[end.slot]
                    problems.append(property.problem("has no place left behind the last member"))
                    continue
                }
                position = next
                values[end.slot] = .placed(owner, next)
            }
            state.pending.members.set(.present(position), of: key.id, in: owner, at: end)
        }
    }

    /// Returns the changes of an object's links that give it the members in the file.
    private func links(
        _ record: ImportRecord, _ shape: ObjectShape, _ id: ObjectID, isNew: Bool,
        _ problems: inout [ImportProblem], _ reader: borrowing StoreReader
    ) throws -> [LinkChange] {
        var changes: [LinkChange] = []
        for link in shape.links {
            let name = link.relationship.name
            guard let field = record.fields[name] else { continue }
            guard let ids = field.ids else {
                problems.append(
                    ImportProblem("\(name) is not a list of ids of objects", property: name))
                continue
            }
            guard Set(ids).count == ids.count else {
                problems.append(ImportProblem("\(name) has an object twice", property: name))
                continue
            }
            changes += try link.changes(of: id, to: ids, isNew: isNew, reader)
        }
        return changes
    }
}

extension LinkedRelationship {
    /// Returns the changes that give an object exactly these members, moving as few as possible.
    fileprivate func changes(
        of source: ObjectID, to ids: [ObjectID], isNew: Bool, _ reader: borrowing StoreReader
    ) throws -> [LinkChange] {
        let present =
            isNew
            ? [] : try reader.linkedMembers(of: source, at: end, asOf: try reader.head().revision)
        let wanted =
            end.isOrdered
            ? ListPlacement.arrange(ids, from: present) : ids.map { MemberPlace(nil, $0) }
        var former: [ObjectID: Membership] = [:]
        for place in present { former[place.id] = .present(place.position) }
        var changes: [LinkChange] = []
        func append(_ target: ObjectID, _ after: Membership) throws {
            let before = former.removeValue(forKey: target) ?? .absent
            if before == after { return }
            let key = LinkKey(link: link, source: source, target: target)
            let previous = isNew ? .zero : try reader.link(key).revision
            changes.append(LinkChange(key, before: before, after: after, previous: previous))
        }
        for place in wanted { try append(place.id, .present(place.position)) }
        for target in former.keys.sorted() { try append(target, .absent) }
        return changes
    }
}

extension ImportRecord.Field {
    /// The ids of a list, in which an empty field is an empty list; nil for anything else.
    fileprivate var ids: [ObjectID]? {
        let json: JSON?
        switch self {
        case .json(let value): json = value
        case .text(let field): json = field.text.isEmpty ? .null : JSON(text: field.text)
        }
        switch json {
        case .null?: return []
        case .array(let values)?:
            let ids = values.compactMap { value -> ObjectID? in
                if case .string(let text) = value { ObjectID(text) } else { nil }
            }
            return ids.count == values.count ? ids : nil
        default: return nil
        }
    }
}

extension Property {
    /// Returns whether a field is empty where neither nil nor empty text is a value.
    fileprivate func isMissing(_ field: ImportRecord.Field) -> Bool {
        guard case .text(let field) = field, !isOptional, type != .string else { return false }
        return field.text.isEmpty && !field.isQuoted
    }

    fileprivate func problem(_ text: String) -> ImportProblem {
        ImportProblem("\(name) \(text)", property: name)
    }

    /// Returns what is wrong with a field that has no value of the property.
    fileprivate func problem(_ field: ImportRecord.Field) -> ImportProblem {
        let json: JSON?
        switch field {
        case .json(let value): json = value
        case .text(let field): json = embedded == nil ? nil : JSON(text: field.text)
        }
        guard let mistake = json.flatMap({ ValueReader(of: self).mistake(inElementsOf: $0) })
        else { return problem(expectation) }
        return ImportProblem("\(name)\(mistake)", property: name)
    }

    /// Returns whether a value suits the property; a reference may still need a position.
    fileprivate func acceptsUnplaced(_ value: Value) -> Bool {
        if case .reference = value { return type == .reference }
        return accepts(value)
    }

    /// Returns the value of a field; nil when it is not one of the property's type.
    fileprivate func value(_ field: ImportRecord.Field) -> Value? {
        switch field {
        case .json(let json): return ValueReader(of: self).value(json: json)
        case .text(let field):
            if field.text.isEmpty, !field.isQuoted, isOptional { return .null }
            return ValueReader(of: self).value(text: field.text)
        }
    }

    /// Returns the value after the normalisers that the schema names.
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
