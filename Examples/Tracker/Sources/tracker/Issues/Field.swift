import Stet

/// The parts of an issue that people edit, by their names in the models, in JSON and in forms.
enum Field: String, Codable, CodingKeyRepresentable, CaseIterable, Comparable {
    case title, body, state, priority, estimate, assignee, labels

    static func < (one: Field, other: Field) -> Bool {
        allCases.firstIndex(of: one)! < allCases.firstIndex(of: other)!
    }

    /// The name in forms and in the history of an issue.
    var caption: String { self == .body ? "Description" : rawValue.capitalized }

    /// The kind of its values.
    fileprivate var kind: String {
        switch self {
        case .estimate: "a whole number of hours"
        case .labels: "a list of texts"
        default: "a text"
        }
    }
}

/// The value of a field as JSON has it.
enum FieldValue: Codable, Hashable {
    case null
    case number(Int)
    case text(String)
    case list([String])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            self = .list(try container.decode([String].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        }
    }
}

/// The fields of an issue, or those that an edit sets.
typealias FieldValues = [Field: FieldValue]

extension Issue {
    /// The fields in the revision that the issue's context shows, with what is pending.
    var fields: FieldValues {
        [
            .title: .text(title),
            .body: .text(body),
            .state: .text(state.rawValue),
            .priority: .text(priority.name),
            .estimate: estimate.map(FieldValue.number) ?? .null,
            .assignee: assignee.map { .text($0.id.description) } ?? .null,
            .labels: .list(labels.map(\.name).sorted()),
        ]
    }

    /// Sets fields.
    ///
    /// What cannot be set is reported, so that the save is refused with all of that beside the
    /// violations of rules.
    func set(_ fields: FieldValues, in context: ManagedContext) throws {
        for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch (field, value) {
            case (.title, .text(let text)): title = text
            case (.body, .text(let text)): body = text
            case (.state, .text(let name)):
                if let known = IssueState(rawValue: name) {
                    state = known
                } else {
                    context.report(self, \.state, "there is no state “\(name)”")
                }
            case (.priority, .text(let name)):
                if let known = Priority(name: name) {
                    priority = known
                } else {
                    context.report(self, \.priority, "there is no priority “\(name)”")
                }
            case (.estimate, .null): estimate = nil
            case (.estimate, .number(let hours)): estimate = hours
            case (.assignee, .null): assignee = nil
            case (.assignee, .text(let id)):
                assignee = try ObjectID(id).flatMap { try context.object(User.self, id: $0) }
                if assignee == nil { context.report(self, \.assignee, "there is no such person") }
            case (.labels, .list(let names)):
                labels = ToMany(try names.map { try Label.named($0, in: context) })
            default:
                context.report(
                    Violation(
                        entity: "Issue", object: id, property: field.rawValue,
                        message: "{property} must be \(field.kind)"))
            }
        }
    }
}

extension Label {
    /// Returns the label with a name, which is made if there is none.
    static func named(_ name: String, in context: ManagedContext) throws -> Label {
        let name = name.trimmingCharacters(in: .whitespaces).lowercased()
        return try context.upsert(
            Label.self, where: \.name, is: name, inserting: Label(name: name))
    }
}
