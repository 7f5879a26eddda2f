/// A change of the journal itself, which all nodes of a shared journal carry out when they reach
/// the commit that has it.
package enum JournalRequest: Hashable, Sendable {
    /// Removes the commits up to a revision.
    case trim(through: Revision)
    /// Redacts values.
    case redaction([RedactionRequest])

    /// The purpose of the commit that has the request.
    package var purpose: CommitPurpose {
        switch self {
        case .trim: CommitPurpose(cause: .trim, isUndoable: false)
        case .redaction: CommitPurpose(cause: .redaction, isUndoable: false)
        }
    }
}

/// The values to redact in the journal, in whichever commits they are.
package struct RedactionRequest: Hashable, Sendable {
    package let entity: EntityNumber
    package let object: ObjectID
    /// The slots in the schema of the request, ascending.
    package let slots: [Slot]

    package init(entity: EntityNumber, object: ObjectID, slots: [Slot]) {
        self.entity = entity
        self.object = object
        self.slots = Array(Set(slots)).sorted()
    }
}
