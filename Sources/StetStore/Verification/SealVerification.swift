/// Checks that each sealed value belongs to the object in whose record it is, which needs no key.
struct SealVerification {
    private(set) var problems: [String] = []

    init(_ verification: borrowing Verification) throws {
        let file = verification.file
        for (number, entity) in file.schema.entities.numbered where !entity.sealedSlots.isEmpty {
            for (id, state) in verification.states[number] {
                guard let body = try verification.values(of: state, number, file.history) else {
                    continue
                }
                let slots = try body.withUnsafeBytes {
                    try RecordBody($0, of: entity).unsealedSlots(of: id, allowsWaiting: true)
                }
                problems += slots.map { slot in
                    "\(entity.name) \(id) has a \(entity.properties[slot].name) that is not sealed "
                        + "for it."
                }
            }
        }
    }
}
