public import StetStore

extension ChangeSet {
    /// The changes of a save as a validator sees them, and the reports that it makes; see
    /// `Store.Configuration.changeSetValidators`.
    public struct Validation {
        /// All changes that the save would commit.
        public let changes: ChangeSet
        /// The store as it will be after the save.
        public let store: PendingStore
        private var reports: [(report: Report, entity: String, object: ObjectID?)] = []

        init(changes: ChangeSet, store: PendingStore) {
            self.changes = changes
            self.store = store
        }

        /// Reports that the changes are not valid together.
        ///
        /// - Parameters:
        ///   - message: a sentence for people that says what is wrong.
        ///   - code: a code of your own.
        ///   - reason: the reason why it is wrong.
        ///   - change: the change that causes the problem; nil when it is all of them.
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
}
