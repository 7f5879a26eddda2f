public import StetStore

/// A save was refused because its change set is not valid.
///
/// Nothing was written, and the context was put back.
public struct ValidationError: Error, Sendable {
    /// Everything that is wrong, in total order: by entity, object and property.
    public let violations: [Violation]
    /// What would have been saved.
    public let rejected: ChangeSet

    package init(violations: [Violation], rejected: ChangeSet) {
        self.violations = violations
        self.rejected = rejected
    }

    /// The code of the one violation; of several, Core Data's code 1560.
    public var code: Violation.Code {
        violations.count == 1 ? violations[0].code : Violation.Code(domain: "Stet", number: 1560)
    }
}

extension ValidationError: CustomStringConvertible {
    /// One line per violation.
    public var description: String {
        violations.map(\.message).joined(separator: "\n")
    }
}

/// A save was refused because the store has moved: somebody else saved what this save was based on.
///
/// Nothing was written, and the context was put back.
public struct ConflictError: Error, Sendable {
    /// Why the save was given up.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        /// The name of the reason.
        public let rawValue: String

        /// A reason with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An object of the change set was changed, or something that it refers to was deleted.
        public static let changed = Reason(rawValue: "changed")
        /// The save was prepared 8 times and the store had moved each time.
        public static let contention = Reason(rawValue: "contention")
    }

    /// Why the save was given up.
    public let reason: Reason
    /// The objects that were changed by others.
    public let conflicts: [Conflict]
    /// What would have been saved.
    public let rejected: ChangeSet

    package init(reason: Reason, conflicts: [Conflict], rejected: ChangeSet) {
        self.reason = reason
        self.conflicts = conflicts
        self.rejected = rejected
    }
}

extension ConflictError: CustomStringConvertible {
    /// One line per conflict.
    public var description: String {
        let lines = conflicts.map(\.description)
        return
            ([reason == .contention ? "The store kept moving while this was saved." : ""] + lines)
            .filter { !$0.isEmpty }.joined(separator: "\n")
    }
}

/// An object that was saved elsewhere since this context read it.
public struct Conflict: Sendable, Hashable {
    /// The entity of the object.
    public let entity: String
    /// The object.
    public let object: ObjectID
    /// The revision of the object that the change set was based on.
    public let base: Revision
    /// The revision of its last change now; nil when it has been deleted.
    public let current: Revision?

    package init(entity: String, object: ObjectID, base: Revision, current: Revision?) {
        self.entity = entity
        self.object = object
        self.base = base
        self.current = current
    }
}

extension Conflict: CustomStringConvertible {
    /// What happened to the object, and what to do.
    public var description: String {
        let what = current.map { "changed by commit \($0)" } ?? "deleted"
        return "\(entity) \(object) was \(what) since it was read at commit \(base); "
            + "refresh the context and edit again"
    }
}
