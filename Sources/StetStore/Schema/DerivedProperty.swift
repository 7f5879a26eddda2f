/// A derived attribute, and the properties that its expression reads.
package struct DerivedProperty: Hashable, Sendable {
    /// A reference on the way from an object to one that its expression reads.
    package struct Step: Hashable, Sendable {
        /// The end that lists the objects with the reference, by the object that they refer to.
        package let end: MemberEnd

        package var slot: Slot { end.slot }
        /// The entity that the reference leads to.
        package var entity: EntityNumber { end.owner }
    }

    /// A property that the expression reads.
    package struct Input: Hashable, Sendable {
        /// The references that lead to the object with the property; none for the object itself.
        package let steps: [Step]
        /// The entity of the object with the property.
        package let entity: EntityNumber
        package let slot: Slot
    }

    package let entity: EntityNumber
    package let slot: Slot
    package let expression: QueryNode
    package let inputs: [Input]

    /// Returns the derived attributes of a schema, each after those that its expression reads.
    ///
    /// - Throws: `DecodingFailure` with the reason why a schema cannot have one of them.
    static func all(of schema: Schema) throws(DecodingFailure) -> [DerivedProperty] {
        var found: [Place: DerivedProperty] = [:]
        for (number, entity) in schema.entities.numbered {
            for slot in entity.derivedSlots {
                let property = entity.properties[slot]
                guard let expression = property.derivation else { continue }
                var check = ExpressionCheck(schema, number)
                do throws(DecodingFailure) {
                    let type = try check.type(of: expression)
                    if let type, type.widest != property.type.widest {
                        throw DecodingFailure("its expression is a \(type)")
                    }
                } catch {
                    throw DecodingFailure(
                        "\(entity.name).\(property.name) can't be derived: \(error.description)")
                }
                found[Place(entity: number, slot: slot)] = DerivedProperty(
                    entity: number, slot: slot, expression: expression, inputs: check.inputs)
            }
        }
        return try ordered(found, schema)
    }

    private struct Place: Hashable {
        let entity: EntityNumber
        let slot: Slot
    }

    /// The greatest number of derived attributes of which each reads the next.
    private static let chainLimit = 64

    private static func ordered(
        _ found: [Place: DerivedProperty], _ schema: Schema
    ) throws(DecodingFailure) -> [DerivedProperty] {
        var ordered: [DerivedProperty] = []
        var isDone: [Place: Bool] = [:]
        func add(_ place: Place, depth: Int = 0) throws(DecodingFailure) {
            guard let property = found[place] else { return }
            switch isDone[place] {
            case true?: return
            case nil where depth < chainLimit: isDone[place] = false
            case nil: throw DecodingFailure("a derived attribute reads a long chain of others")
            case false?:
                let entity = schema.entities[place.entity]
                throw DecodingFailure(
                    "\(entity.name).\(entity.properties[place.slot].name) is derived from itself")
            }
            for input in property.inputs {
                try add(Place(entity: input.entity, slot: input.slot), depth: depth + 1)
            }
            isDone[place] = true
            ordered.append(property)
        }
        for (number, entity) in schema.entities.numbered {
            for slot in entity.derivedSlots { try add(Place(entity: number, slot: slot)) }
        }
        return ordered
    }
}

extension ValueType {
    /// True for the type of an attribute that can be derived.
    var canBeDerived: Bool { ![.reference, .list, .dictionary, .codable].contains(self) }
}

/// Finds the type of an expression that a schema contains, and the properties that it reads.
struct ExpressionCheck {
    let schema: Schema
    let root: EntityNumber
    private(set) var inputs: [DerivedProperty.Input] = []

    init(_ schema: Schema, _ root: EntityNumber) {
        self.schema = schema
        self.root = root
    }

    /// Returns the type of a node; nil for one that is always nil.
    mutating func type(
        of node: QueryNode, depth: Int = 0
    ) throws(DecodingFailure) -> ValueType? {
        guard depth < QueryNode.depthLimit else {
            throw DecodingFailure("the expression is nested too deeply")
        }
        switch node {
        case .constant(let value):
            guard StoredConstant.allows(value) else {
                throw DecodingFailure("a constant can't be stored in a schema")
            }
            return value.type
        case .property(let object, let slot): return try type(of: object, slot)
        case .id(let object):
            _ = try place(object)
            return .reference
        case .comparison(_, let one, let other), .text(_, let one, let other):
            for node in [one, other] { _ = try type(of: node, depth: depth + 1) }
            return .bool
        case .isIn(let node, let values):
            _ = try type(of: node, depth: depth + 1)
            guard values.count <= UInt8.max, values.allSatisfy(StoredConstant.allows) else {
                throw DecodingFailure("a list of constants can't be stored in a schema")
            }
            return .bool
        case .folded(let node, _): return try type(of: node, depth: depth + 1)
        case .all(let nodes), .any(let nodes):
            guard nodes.count <= UInt8.max else { throw DecodingFailure("it has many conditions") }
            for node in nodes { _ = try type(of: node, depth: depth + 1) }
            return .bool
        case .not(let node):
            _ = try type(of: node, depth: depth + 1)
            return .bool
        case .arithmetic(_, let one, let other), .coalesced(let one, let other):
            let first = try type(of: one, depth: depth + 1)
            let second = try type(of: other, depth: depth + 1)
            if let first, let second, first.widest != second.widest {
                throw DecodingFailure("its expression combines a \(first) and a \(second)")
            }
            return first ?? second
        case .members, .elements, .sealed, .matching, .rank:
            throw DecodingFailure("an expression over members or a search can't be stored")
        }
    }

    private mutating func type(
        of object: QueryObject, _ slot: Slot
    ) throws(DecodingFailure) -> ValueType {
        let (steps, entity) = try place(object)
        guard let property = schema.entities[entity].properties.element(at: slot),
            ![.list, .dictionary, .codable].contains(property.type)
        else { throw DecodingFailure("it reads a property that has no single value") }
        inputs.append(DerivedProperty.Input(steps: steps, entity: entity, slot: slot))
        return property.type
    }

    /// Returns the references that lead to an object, and its entity.
    private mutating func place(
        _ object: QueryObject
    ) throws(DecodingFailure) -> ([DerivedProperty.Step], EntityNumber) {
        guard let path = object.steps, path.count <= QueryObject.stepLimit else {
            throw DecodingFailure("it follows too many references, or members")
        }
        var steps: [DerivedProperty.Step] = []
        var entity = root
        for (slot, name) in path {
            guard let end = schema.end(ofEntity: entity, slot: slot), end.owner > 0,
                schema.number(ofEntity: name) == end.owner
            else { throw DecodingFailure("it follows a reference that is not there") }
            inputs.append(DerivedProperty.Input(steps: steps, entity: entity, slot: slot))
            steps.append(DerivedProperty.Step(end: end))
            entity = end.owner
        }
        return (steps, entity)
    }
}

extension Schema {
    /// Returns whether the entry of an object in an index may depend on other objects.
    package func readsOtherObjects(_ index: NumberedIndex) -> Bool {
        if entities[index.entity].derivedSlots.isEmpty { return false }
        return index.index.parts.contains { readsOtherObjects($0.slot, ofEntity: index.entity) }
    }

    private func readsOtherObjects(_ slot: Slot, ofEntity entity: EntityNumber) -> Bool {
        guard entities[entity].properties[slot].isDerived,
            let derived = derivedProperties.first(where: {
                $0.entity == entity && $0.slot == slot
            })
        else { return false }
        return derived.inputs.contains { input in
            !input.steps.isEmpty || readsOtherObjects(input.slot, ofEntity: entity)
        }
    }
}
