import StetLMDB

/// Checks that derived attributes have the values of their expressions.
struct DerivedValueCheck: ~Copyable {
    /// The number of objects whose rows are kept at the same time.
    private static let batchCount = 1_000

    private let reader: StoreReader
    private let revision: Revision
    private let schema: Schema

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction) throws {
        reader = StoreReader(transaction, file)
        revision = try reader.head().revision
        schema = file.schema
    }

    /// Returns a sentence for each value that differs; none after a migration, until the values are
    /// computed.
    func problems() throws -> [String] {
        if try StoreTables.isUnderived(in: reader.transaction) { return [] }
        return try schema.derivedProperties.flatMap { try problems(of: $0) }
    }

    private func problems(of derived: DerivedProperty) throws -> [String] {
        let entity = schema.entities[derived.entity]
        let property = entity.properties[derived.slot]
        var problems: [String] = []
        var state = makeState()
        var count = 0
        try reader.forEachRecord(ofEntity: derived.entity, asOf: revision) { id, record in
            count += 1
            if count.isMultiple(of: Self.batchCount) { state = makeState() }
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

    private func makeState() -> QueryState {
        QueryState(reader, QueryState.View(WorkingState(schema, at: revision)))
    }
}
