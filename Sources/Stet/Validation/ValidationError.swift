public import StetStore

/// The error of a save whose change set is not valid.
///
/// Nothing was written. The pending changes were treated as the `onFailure` argument of the save
/// says.
///
/// ```swift
/// do {
///     try context.save("rate")
/// } catch let error as ValidationError {
///     message = error.description  // one line for each violation
/// }
/// ```
public struct ValidationError: Error, Sendable {
    /// All violations, in total order: by operation, entity, object, property and rule.
    public let violations: [Violation]
    /// The changes that would have been saved.
    public let rejected: ChangeSet

    package init(violations: [Violation], rejected: ChangeSet) {
        self.violations = violations
        self.rejected = rejected
    }

    /// The code of the only violation; for several, Core Data's code 1560.
    public var code: Violation.Code {
        violations.count == 1 ? violations[0].code : .several
    }

    /// The error without any values, for logs and for readers who must not see them.
    public var redacted: ValidationError {
        ValidationError(violations: violations.map(\.redacted), rejected: ChangeSet())
    }

    /// Returns one line per violation, in a language other than that of the store's configuration.
    public func description(in messages: MessageTable) -> String {
        violations.map { $0.message(in: messages) }.joined(separator: "\n")
    }
}

extension ValidationError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line per violation: its message, for people.
    public var description: String {
        violations.map(\.message).joined(separator: "\n")
    }

    /// One line per violation, for developers: its code, entity, object, property and message.
    ///
    /// It contains no values. `String(reflecting: error)` returns it.
    public var debugDescription: String {
        violations.map { violation in
            let place = [
                violation.entity, violation.object?.description, violation.property,
            ].compactMap { $0 }.joined(separator: " ")
            return "\(violation.code) \(place): \(violation.message)"
        }.joined(separator: "\n")
    }
}
