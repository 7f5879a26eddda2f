import StetLMDB

/// Checks that optional embedded values are present with what they require, or absent as a whole.
struct OptionalValueCheck: ~Copyable {
    private let reader: StoreReader
    private let schema: Schema

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction) {
        reader = StoreReader(transaction, file)
        schema = file.schema
    }

    /// Returns a sentence for each value of which only a part is there.
    func problems() throws -> [String] {
        try schema.entities.numbered.flatMap { number, entity in
            entity.optionalValues.isEmpty ? [] : try problems(ofEntity: number, entity)
        }
    }

    private func problems(ofEntity number: EntityNumber, _ entity: Entity) throws -> [String] {
        var problems: [String] = []
        let revision = try reader.head().revision
        try reader.forEachRecord(ofEntity: number, asOf: revision) { id, record in
            let cells = try RecordBody(record.body, of: entity).cells()
            for value in entity.optionalValues where !value.isWhole(in: cells) {
                let name = entity.properties[value.presence].name
                problems.append("\(entity.name) \(id) has only a part of \(name).")
            }
            return problems.count < VerificationReport.problemLimit
        }
        return problems
    }
}
