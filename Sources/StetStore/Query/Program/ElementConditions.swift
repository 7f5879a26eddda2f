/// The elements of an array of embedded values, and the condition that each is tested with.
struct ElementConditions {
    let array: PropertyOperand
    let memberCount: Int
    let condition: QueryCondition

    /// Calls `body` with whether each element satisfies the condition, until it returns false; nil
    /// has no elements.
    func forEach(_ frame: inout QueryFrame, _ body: (Bool) -> Bool) throws {
        guard let owner = try array.place.row(&frame),
            case .bytes(let bytes)? = try owner.cell(array.slot, array.type)
        else { return }
        for element in try ElementBodies(bytes) {
            let reader = try RecordReader(body: element, propertyCount: memberCount)
            // An element belongs to its owner, and is tested as members are.
            frame.members.append(
                QueryState.Row(id: owner.id, revision: owner.revision, reader: reader))
            defer { frame.members.removeLast() }
            guard body(try condition.test(&frame)) else { return }
        }
    }
}

/// Tests whether any or all elements satisfy a condition.
final class ElementCondition: QueryCondition {
    private let elements: ElementConditions
    private let isAny: Bool

    init(_ elements: ElementConditions, isAny: Bool) {
        self.elements = elements
        self.isAny = isAny
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        var answer = !isAny
        try elements.forEach(&frame) { isMet in
            if isMet == isAny { answer = isAny }
            return answer != isAny
        }
        return answer
    }
}

/// Counts the elements that satisfy a condition.
final class ElementCountOperand: QueryOperand {
    private let elements: ElementConditions

    init(_ elements: ElementConditions) { self.elements = elements }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        var count = 0
        try elements.forEach(&frame) { isMet in
            if isMet { count += 1 }
            return true
        }
        return .int(count)
    }
}
