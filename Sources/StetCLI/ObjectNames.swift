import StetStore

/// The names of objects to which shown values refer: for a model with a unique text, that text.
struct ObjectNames {
    /// No names.
    static let none = ObjectNames()

    private var names: [ObjectID: String] = [:]

    private init() {}

    /// Reads the names at a revision, of 1,000 objects at most.
    ///
    /// - Complexity: O(objects).
    init(
        of ids: some Sequence<ObjectID>, _ schema: Schema, _ reader: borrowing StoreReader,
        at revision: Revision
    ) throws {
        for id in Set(ids).prefix(1_000) {
            guard let number = try reader.entity(of: id),
                let slot = schema.entities[number].nameSlot
            else { continue }
            let value = try reader.withRecord(ofEntity: number, id, asOf: revision) { record in
                try RecordBody(record.body, of: schema.entities[number]).values()[slot]
            }
            if case .string(let name)? = value { names[id] = name }
        }
    }

    /// Returns the id, followed by the name if it is known.
    func text(_ id: ObjectID) -> String {
        names[id].map { "\(id) (\($0.visible))" } ?? id.description
    }
}

extension Entity {
    /// The first attribute that identifies an object as text: unique by itself, and required.
    fileprivate var nameSlot: Slot? {
        indexes.lazy.map(\.parts[0].slot).first { slot in
            let property = properties[slot]
            return property.type == .string && !property.isOptional && !property.isHidden
                && indexes.contains { $0.isUnique(in: [slot]) }
        }
    }
}
