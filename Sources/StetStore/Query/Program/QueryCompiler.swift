import FoundationEssentials

/// Compiles queries to programs that run on the bytes of records.
struct QueryCompiler {
    let schema: Schema
    /// The entity of the queried objects.
    let root: EntityNumber
    /// The members and elements that conditions test, from the outermost condition inwards.
    private var members: [(scope: Int, tested: Tested)] = []

    /// A member of a relationship, or an element of an array with the members of an entity.
    private enum Tested {
        case member(EntityNumber)
        case element(Entity)
    }

    init(_ schema: Schema, root: EntityNumber) {
        self.schema = schema
        self.root = root
    }

    // MARK: Places

    private func place(_ object: QueryObject) -> (place: QueryPlace, entity: EntityNumber) {
        switch object {
        case .root: return (.root, root)
        case .member(let scope):
            let depth = depth(of: scope)
            guard case .member(let entity) = members[depth].tested else {
                trap("an element of an array is used as an object")
            }
            return (.member(depth: depth), entity)
        case .element: trap("an element of an array is used as an object")
        case .target(let owner, let slot, let name):
            guard let entity = schema.number(ofEntity: name) else {
                trap("a query names \(name), which is no model of the store")
            }
            return (.target(place(owner).place, slot: slot, entity: entity), entity)
        }
    }

    private func depth(of scope: Int) -> Int {
        guard let depth = members.firstIndex(where: { $0.scope == scope }) else {
            trap("a condition of members is used outside of its closure")
        }
        return depth
    }

    /// Returns a property of an object or an element, and the place of that.
    private func property(
        _ object: QueryObject, _ slot: Slot
    ) -> (place: QueryPlace, property: Property) {
        guard case .element(let scope) = object else {
            let (place, entity) = place(object)
            return (place, schema.entities[entity].properties[slot])
        }
        let depth = depth(of: scope)
        guard case .element(let entity) = members[depth].tested else {
            trap("a member of a relationship is used as an element of an array")
        }
        return (.member(depth: depth), entity.properties[slot])
    }

    private func type(_ entity: EntityNumber, _ slot: Slot) -> ValueType {
        schema.entities[entity].properties[slot].type
    }

    // MARK: Operands

    func operand(_ node: QueryNode) -> QueryOperand {
        switch node {
        case .constant(let value): return ConstantOperand(value)
        case .property(let object, let slot):
            let (place, property) = property(object, slot)
            return PropertyOperand(place, slot: slot, property)
        case .id(let object): return IDOperand(place(object).place)
        case .folded:
            // Combines nested foldings: folding twice can differ from folding once with all
            // options.
            let (node, folding) = node.unfolded
            return FoldedOperand(operand(node), folding)
        case .coalesced(let first, let second):
            return CoalescedOperand(operand(first), operand(second))
        case .arithmetic(let operation, let left, let right):
            return ArithmeticOperand(
                operation, numberType(node), operand(left), operand(right))
        case .members(.count, let members, let condition):
            return ListCountOperand(conditions(members, condition))
        case .elements(.count, let array, let condition):
            return ListCountOperand(conditions(array, condition))
        case .members(.aggregate(let aggregate, let value), let members, let condition):
            return ListAggregateOperand(
                conditions(members, condition, value), aggregate, numberType(node))
        case .elements(.aggregate(let aggregate, let value), let array, let condition):
            return ListAggregateOperand(
                conditions(array, condition, value), aggregate, numberType(node))
        case .rank(let object, let match):
            let (place, entity) = place(object)
            return RankOperand(place, entity, match)
        case .comparison, .isIn, .text, .all, .any, .not, .members, .elements, .sealed, .matching:
            return ConditionOperand(condition(node))
        }
    }

    /// Returns the number type of a node; nil when it contains no property, whose type it would
    /// share.
    private func numberType(_ node: QueryNode) -> ValueType? {
        switch node {
        case .property(let object, let slot): property(object, slot).property.type
        case .arithmetic(_, let one, let other), .coalesced(let one, let other):
            numberType(one) ?? numberType(other)
        case .members(.aggregate(.average, _), _, _), .elements(.aggregate(.average, _), _, _):
            .double
        case .members(.aggregate(_, let value), let members, _):
            inside(members).compiler.numberType(value)
        case .elements(.aggregate(_, let value), let array, _):
            inside(array).compiler.numberType(value)
        default: nil
        }
    }

    // MARK: Members and elements

    /// Returns the compiler of nodes that read the members of a relationship.
    private func inside(
        _ members: QueryMembers
    ) -> (compiler: QueryCompiler, owner: QueryPlace, end: MemberEnd) {
        let (place, entity) = place(members.owner)
        let relationship = schema.entities[entity].relationships[members.relationship]
        guard let target = schema.number(ofEntity: relationship.target),
            let end = schema.membersEnd(of: relationship)
        else { trap("a query names a relationship that the store does not have") }
        var inner = self
        inner.members.append((members.scope, .member(target)))
        return (inner, place, end)
    }

    /// Returns the compiler of nodes that read the elements of an array.
    private func inside(
        _ array: QueryElements
    ) -> (compiler: QueryCompiler, array: PropertyOperand, elements: Entity) {
        let (place, property) = property(array.owner, array.slot)
        guard let elements = property.embedded?.entity else {
            trap("a query tests the elements of \(property.name), which is no array of them")
        }
        var inner = self
        inner.members.append((array.scope, .element(elements)))
        return (inner, PropertyOperand(place, slot: array.slot, property), elements)
    }

    private func conditions(
        _ members: QueryMembers, _ condition: QueryNode, _ value: QueryNode? = nil
    ) -> MemberConditions {
        let (compiler, owner, end) = inside(members)
        func scope(of node: QueryNode) -> Int? {
            node.readsOnlyMember(members.scope) ? members.scope : nil
        }
        return MemberConditions(
            owner: owner, end: end, condition: compiler.condition(condition),
            value: value.map(compiler.operand), isEverything: condition == .everything,
            rememberedScope: condition.readsMembers ? scope(of: condition) : nil,
            rememberedValueScope: value.flatMap(scope))
    }

    private func conditions(
        _ array: QueryElements, _ condition: QueryNode, _ value: QueryNode? = nil
    ) -> ElementConditions {
        let (compiler, array, elements) = inside(array)
        return ElementConditions(
            array: array, memberCount: elements.properties.count,
            condition: compiler.condition(condition), value: value.map(compiler.operand))
    }

    // MARK: Conditions

    func condition(_ node: QueryNode) -> QueryCondition {
        switch node {
        case .all(let nodes):
            return nodes.count == 1 ? condition(nodes[0]) : AllCondition(nodes.map(condition))
        case .any(let nodes):
            return nodes.count == 1 ? condition(nodes[0]) : AnyCondition(nodes.map(condition))
        case .not(let node): return NotCondition(condition(node))
        case .comparison(let comparison, let left, let right):
            return self.comparison(comparison, left, right)
        case .isIn(let node, let values):
            let folding = node.unfolded.folding
            let operand = operand(node)
            if let property = (operand as? PropertyOperand)?.property, !property.isOrdered {
                return AnyCondition(
                    values.map { ValueCondition(.equal, operand, ConstantOperand($0)) })
            }
            return MembershipCondition(operand, values.map { $0.folded(folding) })
        case .text(let search, let text, let part): return textSearch(search, text, part)
        case .members(let test, let members, let inner):
            return condition(test, conditions(members, inner), node)
        case .elements(let test, let array, let inner):
            return condition(test, conditions(array, inner), node)
        case .sealed(let object, let slot, let match):
            let (place, number) = place(object)
            let entity = schema.entities[number]
            guard let seal = entity.properties[slot].seal else {
                trap("a query compares a value as sealed that is not")
            }
            return SealedCondition(place, slot: slot, owner: entity.slot(ofOwner: seal), match)
        case .matching(let object, let match):
            let (place, entity) = place(object)
            return MatchingCondition(place, entity, match)
        case .constant, .property, .id, .folded, .arithmetic, .coalesced, .rank:
            return TruthCondition(operand(node))
        }
    }

    /// Returns the condition of a list whose members or elements are tested in a way.
    private func condition(
        _ test: QueryNode.MemberTest, _ list: some TestedList, _ node: QueryNode
    ) -> QueryCondition {
        switch test {
        case .any: ListCondition(list, isAny: true)
        case .all: ListCondition(list, isAny: false)
        case .count, .aggregate: TruthCondition(operand(node))
        }
    }

    private func textSearch(
        _ search: QueryNode.TextSearch, _ text: QueryNode, _ part: QueryNode
    ) -> QueryCondition {
        let (text, folding) = text.unfolded
        let (part, otherFolding) = part.unfolded
        let both = folding.union(otherFolding)
        if case .property(.root, let slot) = text, case .constant(.string(let part)) = part,
            type(root, slot) == .string
        {
            return TextSearchCondition(slot: slot, TextPattern(search, part, both))
        }
        if both.isEmpty { return ValueSearchCondition(search, operand(text), operand(part)) }
        return ValueSearchCondition(
            search, FoldedOperand(operand(text), both), FoldedOperand(operand(part), both))
    }

    private func comparison(
        _ comparison: QueryNode.Comparison, _ left: QueryNode, _ right: QueryNode
    ) -> QueryCondition {
        if case .constant = left, !right.isConstant {
            return self.comparison(comparison.flipped, right, left)
        }
        if case .property(.root, let slot) = left, case .constant(let value) = right,
            let condition = byteComparison(comparison, slot, value)
        {
            return condition
        }
        let (one, folding) = left.unfolded
        let (other, otherFolding) = right.unfolded
        let both = folding.union(otherFolding)
        if both.isEmpty { return ValueCondition(comparison, operand(left), operand(right)) }
        return ValueCondition(
            comparison, FoldedOperand(operand(one), both), FoldedOperand(operand(other), both))
    }

    /// Returns a comparison that reads bytes; nil where there is none.
    private func byteComparison(
        _ comparison: QueryNode.Comparison, _ slot: Slot, _ value: Value
    ) -> QueryCondition? {
        let type = type(root, slot)
        switch (value, type.widest) {
        case (.null, _) where comparison == .equal || comparison == .notEqual:
            return NullCondition(slot: slot, isNull: comparison == .equal)
        case (.int(let number), .int):
            return NumberCondition(slot: slot, comparison, number) { Int(truncatingIfNeeded: $0) }
        case (.uint(let number), .uint):
            return NumberCondition(slot: slot, comparison, number) { $0 }
        case (.double(let number), .double):
            return NumberCondition(slot: slot, comparison, number) { Double(bitPattern: $0) }
        case (.date(let date), .date):
            let number = date.timeIntervalSinceReferenceDate
            return NumberCondition(slot: slot, comparison, number) { Double(bitPattern: $0) }
        case (.string(let text), .string): return TextCondition(slot: slot, comparison, text)
        case (.reference(let id), .reference)
        where comparison == .equal || comparison == .notEqual:
            return IdentityCondition(slot: slot, id, isEqual: comparison == .equal)
        default: return nil
        }
    }
}

extension QueryNode {
    var isConstant: Bool {
        if case .constant = self { return true }
        return false
    }

    /// The folded node and the folding.
    var unfolded: (node: QueryNode, folding: TextFolding) {
        guard case .folded(let node, let folding) = self else { return (self, []) }
        let inner = node.unfolded
        return (inner.node, inner.folding.union(folding))
    }
}
