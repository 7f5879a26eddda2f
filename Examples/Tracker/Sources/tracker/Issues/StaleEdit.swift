import Stet

/// An edit of an issue that others have changed since the revision that the edit is based on.
struct StaleEdit: Error {
    /// A field that either side has changed, with the three values of a merge.
    struct Conflict: Codable, Hashable {
        let field: Field
        let base: FieldValue
        let theirs: FieldValue
        let mine: FieldValue

        /// True if both sides have changed the field, to different values.
        var isContested: Bool { base != theirs && base != mine && mine != theirs }
    }

    let base: Revision
    let current: Revision
    var conflicts: [Conflict] = []
}

/// The treatment of changes that others have made since the base of an edit.
enum Precondition {
    /// Refuses any change of others, as `If-Match` demands.
    case unchanged
    /// Merges field by field, and refuses a field that both sides have changed.
    case mergeable
}

extension ManagedContext {
    /// Refuses the pending edit of an issue if it does not fit what has happened since its base.
    ///
    /// A change that is committed after this look makes the save fail, and `edit` calls this again.
    func check(_ issue: Issue, since base: Revision?, _ precondition: Precondition) throws {
        guard let base else { return }
        guard base <= revision else { throw StaleEdit(base: base, current: revision) }
        guard let conflict = try conflict(of: issue, since: base),
            precondition == .unchanged || conflict.isContested
        else { return }
        throw StaleEdit(
            base: base, current: revision,
            conflicts: try conflict.properties.compactMap { property in
                guard let field = Field(rawValue: property.property) else { return nil }
                return StaleEdit.Conflict(
                    field: field, base: try value(property.base, of: field),
                    theirs: try value(property.theirs, of: field),
                    mine: try value(property.mine, of: field))
            })
    }
}

extension Store {
    /// Returns the fields that an issue had at a revision; none if it did not exist.
    func fields(of id: ObjectID, at revision: Revision) throws -> FieldValues {
        try read(asOf: revision) { try $0.object(Issue.self, id: id)?.fields ?? [:] }
    }
}
