import StetStore

/// An object as `export` and `query` write it, and as `import` reads it.
struct ExportedObject {
    let entity: Entity
    let id: ObjectID
    /// In the order of the slots.
    let values: [Value]

    init(_ entity: Entity, _ id: ObjectID, _ body: UnsafeRawBufferPointer) throws {
        self.entity = entity
        self.id = id
        let body = try RecordBody(body, of: entity)
        values = try entity.properties.indices.map { try body.value($0) }
    }

    /// Entity, id, values.
    var json: JSON {
        let members = zip(entity.properties, values).map { ($0.name, $1.exactJSON) }
        return .object([
            "entity": .string(entity.name), "id": .string(id.description),
            "values": .object(Dictionary(members, uniquingKeysWith: { first, _ in first })),
        ])
    }

    /// Id, values.
    var row: CSVRow {
        CSVRow(fields: [CSVRow.Field(id.description)] + values.map { CSVRow.Field($0) })
    }

    /// The names of what a row has.
    static func header(of entity: Entity) -> CSVRow {
        CSVRow(fields: (["id"] + entity.properties.map(\.name)).map { CSVRow.Field($0) })
    }
}
