import Foundation
import Markup
import Stet

// The fields of an issue as the text of a form, and back.

extension Field {
    static let captions = allCases.map { (name: $0.rawValue, caption: $0.caption) }
    static let inputs = allCases.map(\.rawValue)
}

extension FieldValue {
    /// The value as the text of an input.
    var text: String {
        switch self {
        case .null: ""
        case .number(let number): "\(number)"
        case .text(let text): text
        case .list(let list): list.joined(separator: ", ")
        }
    }

    /// The value as people read it.
    func shown(_ field: Field, _ people: [User.Snapshot]) -> String {
        switch (field, self) {
        case (_, .null), (_, .text("")), (_, .list([])): "none"
        case (.assignee, .text(let id)):
            people.first { $0.id.description == id }?.name ?? "somebody"
        case (.estimate, .number(let hours)): "\(hours) h"
        default: text
        }
    }

    /// The beginning of a long text.
    func excerpt(_ field: Field, _ people: [User.Snapshot]) -> String {
        let text = shown(field, people)
        return text.count > 120 ? "\(text.prefix(120))…" : text
    }
}

extension FieldValues {
    var texts: [String: String] {
        reduce(into: [:]) { $0[$1.key.rawValue] = $1.value.text }
    }
}

extension Form {
    /// The fields that the form sets, as far as they differ from others.
    ///
    /// What is no number stays text, which the edit refuses.
    func fields(differingFrom base: FieldValues = [:]) -> FieldValues {
        var fields: FieldValues = [:]
        for field in Field.allCases {
            guard let text = texts[field.rawValue], text != base[field]?.text else { continue }
            switch field {
            case .title, .state, .priority: fields[field] = .text(text)
            // Browsers send line breaks as carriage return and line feed.
            case .body: fields[field] = .text(text.replacing("\r\n", with: "\n"))
            case .assignee: fields[field] = text.isEmpty ? .null : .text(text)
            case .estimate:
                let number = text.trimmingCharacters(in: .whitespaces)
                fields[field] =
                    number.isEmpty ? .null : Int(number).map(FieldValue.number) ?? .text(text)
            case .labels:
                let names = text.split(separator: ",").map {
                    $0.trimmingCharacters(in: .whitespaces).lowercased()
                }
                fields[field] = .list(Set(names.filter { !$0.isEmpty }).sorted())
            }
        }
        return fields.filter { $0.value != base[$0.key] }
    }

    /// Puts a conflict beside the fields that it concerns.
    ///
    /// The person's own text stays in a field that others have changed, too; a field that only
    /// others have changed shows their value.
    mutating func add(_ stale: StaleEdit, people: [User.Snapshot]) {
        texts["revision"] = "\(stale.current)"
        for conflict in stale.conflicts {
            let name = conflict.field.rawValue
            if conflict.isContested {
                let theirs = conflict.theirs.shown(conflict.field, people)
                errors[name, default: []].append(
                    Refusal(
                        message: """
                            Others have changed this to “<bdi>\(theirs)</bdi>”. \
                            Save again to replace it.
                            """,
                        remedy: """
                            <button type="button" data-input="\(name)" \
                            data-text="\(conflict.theirs.text)">Use theirs</button>
                            """))
            } else if conflict.mine == conflict.base {
                texts[name] = conflict.theirs.text
            }
        }
    }

    /// The inputs for all fields.
    func inputs(people: [User.Snapshot], hint: (Field) -> HTML? = { _ in nil }) -> HTML {
        let states = IssueState.allCases.map { (value: $0.rawValue, caption: $0.rawValue) }
        let priorities = Priority.allCases.map { (value: $0.name, caption: $0.name) }
        let people = people.map { (value: $0.id.description, caption: $0.name) }
        return """
            \(text("title", Field.title.caption, hint: hint(.title)))
            \(area("body", Field.body.caption, rows: 6, hint: hint(.body)))
            <div class="row">
            \(choice("state", Field.state.caption, states, hint: hint(.state)))
            \(choice("priority", Field.priority.caption, priorities, hint: hint(.priority)))
            \(choice("assignee", Field.assignee.caption, [("", "nobody")] + people, hint: hint(.assignee)))
            \(text("estimate", "Estimate in hours", hint: hint(.estimate)))
            </div>
            \(text("labels", "Labels, separated by commas", hint: hint(.labels)))
            """
    }
}
