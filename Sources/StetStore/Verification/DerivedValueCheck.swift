import StetLMDB

/// Checks that derived attributes have the values of their expressions.
struct DerivedValueCheck: ~Copyable {
    private let reader: StoreReader
    private let revision: Revision
    private let state: QueryState

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction) throws {
        reader = StoreReader(transaction, file)
        revision = try reader.head().revision
        state = QueryState(
            reader, QueryState.View(WorkingState(file.schema, at: revision)))
    }

    /// Returns a sentence for each value that differs.
    func problems() throws -> [String] {
        try state.schema.derivedProperties.flatMap { try problems(of: $0) }
    }

    private func problems(of derived: DerivedProperty) throws -> [String] {
        let entity = state.schema.entities[derived.entity]
        let property = entity.properties[derived.slot]
        var problems: [String] = []
        try reader.forEachRecord(ofEntity: derived.entity, asOf: revision) { id, record in
            guard let row = try state.row(derived.entity, id) else { return true }
            let value = try state.value(derived.expression, of: row, derived.entity)
            let stored = try RecordBody(record.body, of: entity).value(derived.slot)
            // A value that was missing when the attribute became derived has a placeholder.
            let isMissing = value == .null && !property.isOptional
            if !isMissing, stored != value {
                problems.append(
                    "\(entity.name) \(id) has another \(property.name) than its expression.")
            }
            return problems.count < VerificationReport.problemLimit
        }
        return problems
    }
}
