public import StetStore

/// What a validator sees of all changes of a save, and where it reports; see
/// `StoreConfiguration.changeSetValidators`.
public struct ChangeSetValidation {
    /// Everything that would be saved.
    public let changes: ChangeSet
    /// The store as it will be.
    public let store: PendingStore
    private var reports: [(report: Report, entity: String, object: ObjectID?)] = []

    init(changes: ChangeSet, store: PendingStore) {
        self.changes = changes
        self.store = store
    }

    /// Says that the changes do not go together.
    ///
    /// - Parameters:
    ///   - message: what is wrong, as a sentence for people.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    ///   - change: the one that is to blame; nil when it is all of them.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil,
        on change: ObjectChange? = nil
    ) {
        let report = Report(sentence: Sentence(message), code: code, reason: reason)
        reports.append((report, change?.entity ?? "", change?.id))
    }

    func violations(_ messages: MessageTable) -> [Violation] {
        reports.map { report, entity, object in
            let kind = changes.changes.first { $0.entity == entity && $0.id == object }?.kind
            return report.violation(
                Entity(name: entity, properties: []), kind, object, nil, nil, messages)
        }
    }
}
