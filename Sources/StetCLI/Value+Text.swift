import FoundationEssentials
import StetStore

// The presentation of values, changes and commits, as text and as JSON.

/// Returns a time in ISO 8601, to the millisecond; outside the years 1 to 9999, the seconds since
/// 2001.
func timeText(_ seconds: Double) -> String { timeText(seconds, withMilliseconds: true) }

extension String {
    /// The text with control characters escaped, so that a value cannot steer a terminal.
    var visible: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": text.append(contentsOf: "\\n".unicodeScalars)
            case "\t": text.append(contentsOf: "\\t".unicodeScalars)
            case _
            where scalar.properties.generalCategory == .control
                || scalar.properties.isBidiControl:
                text.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: text.append(scalar)
            }
        }
        return String(text)
    }
}

extension Value {
    /// The value as text for people.
    var text: String { text(.none) }

    /// Returns the value as text for people, a reference with the name of its target.
    func text(_ names: ObjectNames) -> String {
        switch self {
        case .reference(let id), .placed(let id, _): names.text(id)
        case .string(let value): "\"\(value.visible)\""
        case .date(let value): timeText(value.timeIntervalSinceReferenceDate)
        default: description.visible
        }
    }

    var json: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .integer(value)
        case .double(let value): .double(value)
        case .date(let value): .string(timeText(value.timeIntervalSinceReferenceDate))
        case .string(let value): .string(value)
        case .data(let value): .string(value.base64EncodedString())
        case .uuid(let value): .string(value.uuidString.lowercased())
        case .reference(let id), .placed(let id, _): .string(id.description)
        case .uint(let value): .number(value)
        // Uses the float's own digits. Converted to a double it would have more.
        case .float(let value): .double(Double("\(value)") ?? Double(value))
        case .decimal(let value): .string("\(value)")
        case .url(let value): .string(value.absoluteString)
        case .list(let values): .array(values.map(\.json))
        case .dictionary(let values):
            .object(
                Dictionary(values.map { ($0.keyText, $1.json) }, uniquingKeysWith: { $1 }))
        case .codable(let text): .string(text)
        }
    }

    /// The value as the name of a JSON member.
    private var keyText: String {
        if case .string(let text) = self { text } else { description }
    }
}

extension ObjectChange {
    /// Returns the kind of the change and the object, then a line for each cell.
    func lines(_ names: ObjectNames) -> [String] {
        ["\(kind) \(entity.visible) \(names.text(id))"] + cellLines(names)
    }

    /// The objects that the change names.
    var ids: [ObjectID] {
        [id] + properties.flatMap { [$0.old.target, $0.new.target].compactMap { $0 } }
            + relationships.flatMap { $0.added + $0.removed + $0.moved }
    }

    /// Returns a line for each property, with the value, or the old and the new one, and one for
    /// each relationship whose links have changed.
    func cellLines(_ names: ObjectNames) -> [String] {
        properties.map { property in
            let value =
                switch kind {
                case .insert: property.newLine(names)
                case .delete: property.oldLine(names)
                case .update where property.isMove: "\(property.newLine(names)), moved"
                case .update: "\(property.oldLine(names)) → \(property.newLine(names))"
                }
            return "  \(property.name.visible): \(value)"
        } + relationships.map { "  \($0.name.visible): \($0.line(names))" }
    }

    var json: JSON {
        var values: [String: JSON] = [:]
        for property in properties {
            var sides: [String: JSON] = [:]
            if HiddenValues.cover(property) {
                sides["hidden"] = .bool(true)
            } else {
                if kind != .insert { sides["old"] = property.old.json }
                if kind != .delete { sides["new"] = property.new.json }
            }
            let redacted = [
                property.redacted.old ? "old" : nil, property.redacted.new ? "new" : nil,
            ].compactMap { $0 }
            if !redacted.isEmpty { sides["redacted"] = .array(redacted.map { .string($0) }) }
            if property.isMove { sides["isMoved"] = .bool(true) }
            values[property.name] = .object(sides)
        }
        var members: [String: JSON] = [
            "entity": .string(entity), "id": .string(id.description),
            "kind": .string("\(kind)"), "properties": .object(values),
        ]
        if !relationships.isEmpty {
            members["relationships"] = .object(
                Dictionary(
                    relationships.map { ($0.name, $0.json) }, uniquingKeysWith: { one, _ in one }))
        }
        return .object(members)
    }
}

extension RelationshipChange {
    /// Returns the added, removed and moved members, each with its sign.
    func line(_ names: ObjectNames) -> String {
        [("+", added), ("−", removed), ("~", moved)]
            .flatMap { sign, ids in ids.map { "\(sign) \(names.text($0))" } }.joined(
                separator: ", ")
    }

    /// The added, removed and moved members by name, without empty lists.
    var json: JSON {
        let changes = [("added", added), ("removed", removed), ("moved", moved)]
        return .object(
            Dictionary(
                changes.filter { !$0.1.isEmpty }.map { ($0, $1.json) },
                uniquingKeysWith: { one, _ in one }))
    }
}

extension PropertyChange {
    /// True when a reference keeps its target, and only the object's place among the members
    /// changes.
    var isMove: Bool { old.target != nil && old.target == new.target }
    /// Returns the value before as text for people.
    func oldLine(_ names: ObjectNames) -> String {
        redacted.old || HiddenValues.cover(self) ? oldText : old.text(names)
    }
    /// Returns the value after as text for people.
    func newLine(_ names: ObjectNames) -> String {
        redacted.new || HiddenValues.cover(self) ? newText : new.text(names)
    }
    /// The value after as JSON, or a word that says that it is not shown.
    var newJSON: JSON { HiddenValues.cover(self) ? .string(Property.hiddenText) : new.json }
}

extension Commit {
    /// The commit in one line.
    var line: String {
        let name = label.map { " \"\($0.visible)\"" } ?? ""
        let who = author.map { " by \($0.visible)" } ?? ""
        let what = scope.map { " in \($0.visible)" } ?? ""
        let count = "\(changeCount) change\(changeCount == 1 ? "" : "s")"
        let origin = cause == .edit ? "" : ", \(cause)"
        let mark = metadata[Self.withoutValidatorsKey] == nil ? "" : ", without validators"
        return
            "\(revision) \(timeText(envelope.time))\(name)\(who)\(what): \(count)\(origin)\(mark)"
    }

    /// The metadata key under which a commit of the tool records that validators did not run.
    static var withoutValidatorsKey: String { "stet.withoutValidators" }

    /// The commit without its changes.
    var members: [String: JSON] {
        [
            "author": JSON(author), "cause": .string(cause.name),
            "changeCount": .integer(changeCount), "hash": .string(hash), "label": JSON(label),
            "metadata": .object(metadata.mapValues { .string($0) }),
            "revision": .number(revision.number), "scope": JSON(scope),
            "subject": cause.subject.map { .number($0.number) } ?? .null,
            "time": .string(timeText(envelope.time)),
        ]
    }
}

extension HistoricChange {
    var line: String {
        let name = label.map { " \"\($0.visible)\"" } ?? ""
        let who = author.map { " by \($0.visible)" } ?? ""
        let what = scope.map { " in \($0.visible)" } ?? ""
        let when = timeText(time.timeIntervalSinceReferenceDate)
        return "\(revision) \(when) \(change.kind)\(name)\(who)\(what)"
    }

    var json: JSON {
        guard case .object(var members) = change.json else { return .null }
        members["author"] = JSON(author)
        members["cause"] = .string(cause.name)
        members["label"] = JSON(label)
        members["revision"] = .number(revision.number)
        members["scope"] = JSON(scope)
        members["time"] = .string(timeText(time.timeIntervalSinceReferenceDate))
        members["entity"] = nil
        members["id"] = nil
        return .object(members)
    }
}
