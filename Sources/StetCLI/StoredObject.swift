import StetStore

/// What the tool shows of the objects of an entity: their values, and the members that their links
/// give them.
struct ObjectShape {
    let number: EntityNumber
    let entity: Entity
    /// The relationships whose links belong to the objects.
    let links: [LinkedRelationship]

    init(_ schema: Schema, ofEntity number: EntityNumber) {
        self.number = number
        let entity = schema.entities[number]
        self.entity = entity
        links = entity.relationships.compactMap { relationship in
            guard case .targets = relationship.members,
                let end = schema.membersEnd(of: relationship), let link = end.link
            else { return nil }
            return LinkedRelationship(relationship: relationship, link: link, end: end)
        }
    }

    /// The names of the values, then those of the relationships.
    var names: [String] { entity.properties.map(\.name) + links.map(\.relationship.name) }
}

/// A relationship of an entity with links: a cell of each object, as its properties are.
struct LinkedRelationship {
    let relationship: Relationship
    /// The number of the type of links.
    let link: Int
    let end: MemberEnd
}

/// An object as the store has it at a revision.
struct StoredObject {
    let shape: ObjectShape
    let id: ObjectID
    /// That of the last change of its values.
    let revision: Revision
    /// In the order of the slots.
    let values: [Value]
    /// The members of each relationship with links, in the order of the relationship.
    let members: [[ObjectID]]

    /// The object with a body, which the store has at `moment`.
    init(
        _ shape: ObjectShape, _ id: ObjectID, _ revision: Revision, _ body: UnsafeRawBufferPointer,
        _ reader: borrowing StoreReader, at moment: Revision
    ) throws {
        self.shape = shape
        self.id = id
        self.revision = revision
        values = try RecordBody(body, of: shape.entity).values()
        var members: [[ObjectID]] = []
        for link in shape.links {
            members.append(
                try reader.linkedMembers(of: id, at: link.end, asOf: moment).map(\.id))
        }
        self.members = members
    }

    /// A line for each value and each relationship, for people.
    var lines: [String] {
        let cells =
            values.map(\.text) + members.map { $0.map(\.description).joined(separator: ", ") }
        return zip(shape.names, cells).map { "  \($0.visible): \($1)" }
    }

    /// Values and members by name, for people.
    var cells: JSON { cells(values.map(\.json)) }

    private func cells(_ values: [JSON]) -> JSON {
        let cells = values + members.map(\.json)
        return .object(
            Dictionary(zip(shape.names, cells), uniquingKeysWith: { first, _ in first }))
    }

    /// Entity, id, revision and cells, for people.
    var json: JSON {
        .object([
            "entity": .string(shape.entity.name), "id": .string(id.description),
            "revision": .number(revision.number), "values": cells,
        ])
    }

    // MARK: Exchange

    /// Entity, id and cells, as `export` writes them and `import` reads them.
    var exactJSON: JSON {
        .object([
            "entity": .string(shape.entity.name), "id": .string(id.description),
            "values": cells(values.map(\.exactJSON)),
        ])
    }

    /// Id and cells.
    var row: CSVRow {
        CSVRow(
            fields: [CSVRow.Field(id.description)] + values.map { CSVRow.Field($0) }
                + members.map { CSVRow.Field($0.json.text) })
    }

    /// The names of what a row has.
    static func header(of shape: ObjectShape) -> CSVRow {
        CSVRow(fields: (["id"] + shape.names).map { CSVRow.Field($0) })
    }
}

extension [ObjectID] {
    /// Their texts.
    var json: JSON { .array(map { .string($0.description) }) }
}

extension StoreFile {
    /// Calls `body` with each object of an entity at a revision, in ascending order of id.
    ///
    /// Reads in batches, so that output that nobody takes does not hold back pages.
    func forEachObject(
        ofEntity number: EntityNumber, asOf revision: Revision,
        _ body: (StoredObject) throws -> Void
    ) throws {
        let shape = ObjectShape(schema, ofEntity: number)
        let batchCount = 256
        var last = ObjectID.none
        while true {
            var objects: [StoredObject] = []
            try read { reader in
                try reader.forEachRecord(ofEntity: number, asOf: revision, from: last) {
                    id, record in
                    if id == last { return true }
                    if objects.count == batchCount { return false }
                    objects.append(
                        try StoredObject(
                            shape, id, record.revision, record.body, reader, at: revision))
                    last = id
                    return true
                }
            }
            for object in objects { try body(object) }
            if objects.count < batchCount { return }
        }
    }
}
