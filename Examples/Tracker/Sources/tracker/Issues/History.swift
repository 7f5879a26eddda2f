import Foundation
import Stet

/// A commit that changed an issue, as clients see it.
struct HistoryEntry: Codable {
    struct Change: Codable {
        let field: Field
        let old: FieldValue
        let new: FieldValue
        /// True if a value was redacted, so that it is not known any more.
        let isRedacted: Bool
    }

    let revision: Revision
    let time: Date
    let author: String?
    let label: String?
    let cause: String
    let changes: [Change]
}

extension Store {
    /// Returns the changes of an issue's fields, the latest first.
    func history(ofIssue name: String) throws -> [HistoryEntry] {
        let id = try read(issue: name) { $0.id }.0
        let entries = try history(of: Issue.self, id: id, from: .earliest)
        return try read { context in
            try entries.map { entry in
                HistoryEntry(
                    revision: entry.revision, time: entry.time,
                    author: try context.userName(entry.author), label: entry.label,
                    cause: "\(entry.cause)", changes: try context.fieldChanges(entry.change))
            }
        }
    }
}

extension ManagedContext {
    /// Returns the name of the person with an id; nil for none, and for one who was erased.
    func userName(_ id: String?) throws -> String? {
        try id.flatMap { ObjectID($0) }.flatMap { try object(User.self, id: $0) }?.name
    }

    fileprivate func fieldChanges(_ change: ObjectChange) throws -> [HistoryEntry.Change] {
        var changes = try change.properties.compactMap { property -> HistoryEntry.Change? in
            guard let field = Field(rawValue: property.name), property.old != property.new else {
                return nil
            }
            return HistoryEntry.Change(
                field: field, old: try value(property.old, of: field),
                new: try value(property.new, of: field),
                isRedacted: property.redacted.old || property.redacted.new)
        }
        if let labels = change.relationships.first(where: { $0.name == Field.labels.rawValue }) {
            changes.append(
                HistoryEntry.Change(
                    field: .labels, old: .list(try labelNames(labels.removed)),
                    new: .list(try labelNames(labels.added)), isRedacted: false))
        }
        return changes.sorted { $0.field < $1.field }
    }

    /// Returns the form for clients of a value in the journal, or in a conflict.
    func value(_ value: Value, of field: Field) throws -> FieldValue {
        switch value {
        case .int(let number) where field == .priority:
            .text(Priority(rawValue: number)?.name ?? "\(number)")
        case .int(let number): .number(number)
        case .string(let text): .text(text)
        case .reference(let id): .text(id.description)
        case .list(let labels):
            .list(
                try labelNames(
                    labels.compactMap { if case .reference(let id) = $0 { id } else { nil } }))
        default: .null
        }
    }

    private func labelNames(_ ids: [ObjectID]) throws -> [String] {
        try ids.map { try object(Label.self, id: $0)?.name ?? "a deleted label" }.sorted()
    }
}
