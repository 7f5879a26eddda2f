extension Verification {
    /// Checks that each sealed value belongs to the object in whose record it is, which needs no
    /// key.
    mutating func compareSeals() throws {
        for (number, entity) in file.schema.entities.numbered where !entity.sealedSlots.isEmpty {
            for (id, state) in states[number] {
                guard let body = try values(of: state, number, file.history) else { continue }
                let slots = try body.withUnsafeBytes {
                    try RecordBody($0, of: entity).unsealedSlots(of: id, allowsWaiting: true)
                }
                for slot in slots {
                    note(
                        "\(entity.name) \(id) has a \(entity.properties[slot].name) that is not "
                            + "sealed for it.")
                }
            }
        }
    }
}
