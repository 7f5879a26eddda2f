import StetStore

/// An object at a revision of the store.
struct StoredObject {
    let shape: ObjectShape
    let id: ObjectID
    /// The revision of the last change of its values.
    let revision: Revision
    /// The values, in the order of the slots.
    let values: [Value]
    /// The members of each relationship with links, in the order of the relationship.
    let members: [[ObjectID]]

    /// Creates the object with a body, as stored at `moment`.
    init(
        _ shape: ObjectShape, _ id: ObjectID, _ revision: Revision, _ body: UnsafeRawBufferPointer,
        _ reader: borrowing StoreReader, at moment: Revision
    ) throws {
        self.shape = shape
        self.id = id
        self.revision = revision
        values = zip(
            try RecordBody(body, of: shape.entity).values(), shape.entity.properties
        ).map { value, property in
            // Any case whose text has no quotes.
            HiddenValues.cover(property) ? .codable(Property.hiddenText) : value
        }
        var members: [[ObjectID]] = []
        for link in shape.links {
            members.append(
                try reader.linkedMembers(of: id, at: link.end, asOf: moment).map(\.id))
        }
        self.members = members
    }

    /// The objects that the object refers to.
    var targets: [ObjectID] { values.compactMap(\.target) + members.flatMap { $0 } }

    /// Returns a line for each value and each relationship, for people.
    func lines(_ names: ObjectNames) -> [String] {
        let cells =
            values.map { $0.text(names) }
            + members.map { $0.map(names.text).joined(separator: ", ") }
        return zip(shape.names, cells).map { "  \($0.visible): \($1)" }
    }

    /// The values and members by name, for people.
    var cells: JSON { cells(values.map(\.json)) }

    private func cells(_ values: [JSON]) -> JSON {
        let cells = values + members.map(\.json)
        return .object(
            Dictionary(zip(shape.names, cells), uniquingKeysWith: { first, _ in first }))
    }

    /// The entity, id, revision and cells, for people.
    var json: JSON {
        .object([
            "entity": .string(shape.entity.name), "id": .string(id.description),
            "revision": .number(revision.number), "values": cells,
        ])
    }

    // MARK: Exchange

    /// The entity, id and cells, in the form that `export` writes and `import` reads.
    var exactJSON: JSON {
        .object([
            "entity": .string(shape.entity.name), "id": .string(id.description),
            "values": cells(values.map(\.exactJSON)),
        ])
    }

    /// The row with id and cells.
    var row: CSVRow {
        CSVRow(
            fields: [CSVRow.Field(id.description)] + values.map { CSVRow.Field($0) }
                + members.map { CSVRow.Field($0.json.text) })
    }

    /// Returns the row with the names of the columns.
    static func header(of shape: ObjectShape) -> CSVRow {
        CSVRow(fields: (["id"] + shape.names).map { CSVRow.Field($0) })
    }
}

/// The cells that the tool shows for the objects of an entity: their values, and the members of
/// their links.
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

    /// The names of the values, followed by those of the relationships.
    var names: [String] { entity.properties.map(\.name) + links.map(\.relationship.name) }
}

/// A relationship of an entity with links, which is a cell of each object like a property.
struct LinkedRelationship {
    let relationship: Relationship
    /// The number of the type of links.
    let link: Int
    let end: MemberEnd
}

/// Whether the tool prints the values of hidden properties.
enum HiddenValues {
    @TaskLocal static var areShown = false

    /// Returns whether the values of a property are not printed.
    static func cover(_ property: Property) -> Bool { property.isHidden && !areShown }

    /// Returns whether the values of a change are not printed.
    static func cover(_ change: PropertyChange) -> Bool { change.isHidden && !areShown }
}

extension [ObjectID] {
    /// The ids as a list of texts.
    var json: JSON { .array(map { .string($0.description) }) }
}

extension StoreFile {
    /// Calls `body` with each object of an entity at a revision, in ascending order of id.
    ///
    /// It reads in batches, so that blocked output does not keep pages from being reused.
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
