/// The elements of an array of embedded values, and the condition that each is tested with.
struct ElementConditions: TestedList {
    let array: PropertyOperand
    let memberCount: Int
    let condition: QueryCondition
    /// The value that is asked for; nil for none.
    let value: QueryOperand?

    func knownCount(_ frame: inout QueryFrame) -> Int? { nil }

    func forEach(_ frame: inout QueryFrame, _ body: (Bool, Value) throws -> Bool) throws {
        guard let owner = try array.place.row(&frame),
            case .bytes(let bytes)? = try owner.cell(array.slot, array.type)
        else { return }
        for element in try ElementBodies(bytes) {
            // An element belongs to its owner, and is tested as members are.
            frame.members.append(
                try QueryState.Row(
                    id: owner.id, revision: owner.revision, body: element,
                    propertyCount: memberCount))
            defer { frame.members.removeLast() }
            let isMet = try condition.test(&frame)
            guard try body(isMet, isMet ? value?.value(&frame) ?? .null : .null) else { return }
        }
    }
}
