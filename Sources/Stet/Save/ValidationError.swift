public import StetStore

/// A save was refused because its change set is not valid.
///
/// Nothing was written, and the context was put back.
public struct ValidationError: Error, Sendable {
    /// Everything that is wrong, in total order: by operation, entity, object, property and rule.
    public let violations: [Violation]
    /// What would have been saved.
    public let rejected: ChangeSet

    package init(violations: [Violation], rejected: ChangeSet) {
        self.violations = violations
        self.rejected = rejected
    }

    /// The code of the one violation; of several, Core Data's code 1560.
    public var code: Violation.Code {
        violations.count == 1 ? violations[0].code : .several
    }

    /// The same without any value, for logs and for those who may not see them.
    public var redacted: ValidationError {
        ValidationError(violations: violations.map(\.redacted), rejected: ChangeSet())
    }

    /// One line per violation, in another language than that of the store's configuration.
    public func description(in messages: MessageTable) -> String {
        violations.map { $0.message(in: messages) }.joined(separator: "\n")
    }
}

extension ValidationError: CustomStringConvertible {
    /// One line per violation.
    public var description: String {
        violations.map(\.message).joined(separator: "\n")
    }
}
