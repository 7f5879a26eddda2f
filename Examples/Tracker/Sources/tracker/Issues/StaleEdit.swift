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
    let conflicts: [Conflict]

    var isContested: Bool { conflicts.contains(where: \.isContested) }
}

/// The treatment of changes that others have made since the base of an edit.
enum Precondition {
    /// Refuses any change of others, as `If-Match` demands.
    case unchanged
    /// Merges field by field, and refuses a field that both sides have changed.
    case mergeable
}

extension Store {
    /// Returns the edit as a conflict if it does not fit what has happened since its base.
    ///
    /// The history of one issue is read, and nothing of the commits that do not concern it. A change
    /// that is committed after this look makes the save fail, and `edit` calls this again.
    func staleness(
        of edit: FieldValues, on issue: Issue, since base: Revision, _ precondition: Precondition
    ) throws -> StaleEdit? {
        guard let context = issue.context, base != context.revision else { return nil }
        guard base < context.revision else {
            return StaleEdit(base: base, current: context.revision, conflicts: [])
        }
        guard try !history(of: Issue.self, id: issue.id, from: .revision(base.next)).isEmpty
        else { return nil }
        let before = try fields(of: issue.id, at: base)
        let theirs = issue.fields
        let conflicts = Field.allCases.compactMap { field -> StaleEdit.Conflict? in
            let old = before[field] ?? .null
            let now = theirs[field] ?? .null
            let mine = edit[field] ?? old
            guard old != now || old != mine else { return nil }
            return StaleEdit.Conflict(field: field, base: old, theirs: now, mine: mine)
        }
        let stale = StaleEdit(base: base, current: context.revision, conflicts: conflicts)
        return precondition == .unchanged || stale.isContested ? stale : nil
    }

    /// Returns the fields that an issue had at a revision; none if it did not exist.
    func fields(of id: ObjectID, at revision: Revision) throws -> FieldValues {
        let view = try view(asOf: revision)
        guard let issue = try view.object(Issue.self, id: id) else { return [:] }
        let labels = try view.members(of: id, in: Issue.self) { $0.labels }
        return issue.fields(labels: labels.map(\.name))
    }
}

extension Revision {
    var next: Revision { Revision(number + 1) }
}
