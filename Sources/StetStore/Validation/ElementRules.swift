/// The rules of the members of the elements of an array of embedded values.
struct ElementRules: Sendable {
    /// The element that a member with a broken rule belongs to.
    struct Place {
        private let array: String
        private let index: Int
        /// The slot of the array.
        let slot: Slot

        fileprivate init(_ array: Property, _ slot: Slot, index: Int) {
            self.array = array.name
            self.slot = slot
            self.index = index
        }

        /// Returns the name by which a violation shows a member, such as "lines[2].amount".
        func name(of member: Property) -> String { "\(array)[\(index)].\(member.name)" }
    }
    private let property: Property
    private let slot: Slot
    private let elements: EmbeddedElements

    /// Creates the rules of an array in a slot; nil when its elements have none.
    init?(_ property: Property, slot: Slot) {
        guard let elements = property.embedded, !elements.entity.rules.isEmpty else { return nil }
        self.property = property
        self.slot = slot
        self.elements = elements
    }

    /// Returns whether any rule is broken.
    func areViolated(by cell: Cell?) throws -> Bool {
        guard case .bytes(let bytes)? = cell else { return false }
        var areViolated = false
        try elements.forEachElement(bytes) { _, element in
            for rules in elements.entity.rules where !areViolated {
                areViolated = try rules.areViolated(by: try element.cell(rules.slot))
            }
        }
        return areViolated
    }

    /// Returns one violation for each broken rule, element by element.
    func violations(
        of cell: Cell?, _ messages: MessageTable,
        _ context: () -> (operation: ChangeKind?, entity: String, object: ObjectID?)
    ) throws -> [Violation] {
        guard case .bytes(let bytes)? = cell else { return [] }
        var violations: [Violation] = []
        try elements.forEachElement(bytes) { index, element in
            for rules in elements.entity.rules {
                violations += try rules.violations(
                    of: try element.cell(rules.slot), messages,
                    in: Place(property, slot, index: index), context)
            }
        }
        return violations
    }
}
