import Hummingbird
import Stet

extension IssueFilter {
    /// Reads a filter from the parameters of an address; an empty one counts as absent.
    init(_ parameters: [String: String]) throws {
        func value(_ name: String) -> String? {
            let value = parameters[name] ?? ""
            return value.isEmpty ? nil : value
        }
        func parsed<T>(_ name: String, _ parse: (String) -> T?) throws -> T? {
            guard let text = value(name) else { return nil }
            guard let value = parse(text) else {
                throw HTTPError(.badRequest, message: "There is no \(name) “\(text)”.")
            }
            return value
        }
        state = try parsed("state") { IssueState(rawValue: $0) }
        priority = try parsed("priority") { Priority(name: $0) }
        assignee = try parsed("assignee") { ObjectID($0) }
        label = value("label")
        text = value("q")
    }
}
