import FoundationEssentials

/// Compiles queries to programs that run on the bytes of records.
struct QueryCompiler {
    let schema: Schema
    /// The entity of the queried objects.
    let root: EntityNumber
    /// The entities of members, from the outermost condition of members inwards.
    private var members: [(scope: Int, entity: EntityNumber)] = []

    init(_ schema: Schema, root: EntityNumber) {
        self.schema = schema
        self.root = root
    }

    // MARK: Places

    private func place(_ object: QueryObject) -> (place: QueryPlace, entity: EntityNumber) {
        switch object {
        case .root: return (.root, root)
        case .member(let scope):
            guard let depth = members.firstIndex(where: { $0.scope == scope }) else {
                trap("a condition of members is used outside of its closure")
            }
            return (.member(depth: depth), members[depth].entity)
        case .target(let owner, let slot, let name):
            guard let entity = schema.number(ofEntity: name) else {
                trap("a query names \(name), which is no model of the store")
            }
            return (.target(place(owner).place, slot: slot, entity: entity), entity)
        }
    }

    private func type(_ entity: EntityNumber, _ slot: Slot) -> ValueType {
        schema.entities[entity].properties[slot].type
    }

    // MARK: Operands

    func operand(_ node: QueryNode) -> QueryOperand {
        switch node {
        case .constant(let value): return ConstantOperand(value)
        case .property(let object, let slot):
            let (place, entity) = place(object)
            return PropertyOperand(place, slot: slot, type: type(entity, slot))
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
            return MemberCountOperand(conditions(members, condition))
        case .rank(let object, let match):
            let (place, entity) = place(object)
            return RankOperand(place, entity, match)
        case .comparison, .isIn, .text, .all, .any, .not, .members, .sealed, .matching:
            return ConditionOperand(condition(node))
        }
    }

    /// Returns the number type of a node; nil when it contains no property, whose type it would
    /// share.
    private func numberType(_ node: QueryNode) -> ValueType? {
        switch node {
        case .property(let object, let slot): type(place(object).entity, slot)
        case .arithmetic(_, let one, let other), .coalesced(let one, let other):
            numberType(one) ?? numberType(other)
        default: nil
        }
    }

    private func conditions(_ members: QueryMembers, _ condition: QueryNode) -> MemberConditions {
        let (place, entity) = place(members.owner)
        let relationship = schema.entities[entity].relationships[members.relationship]
        guard let target = schema.number(ofEntity: relationship.target),
            let end = schema.membersEnd(of: relationship)
        else { trap("a query names a relationship that the store does not have") }
        var inner = self
        inner.members.append((members.scope, target))
        let isRemembered = condition.readsMembers && condition.readsOnlyMember(members.scope)
        return MemberConditions(
            owner: place, end: end, condition: inner.condition(condition),
            isEverything: condition == .everything,
            rememberedScope: isRemembered ? members.scope : nil)
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
            return MembershipCondition(operand(node), values.map { $0.folded(folding) })
        case .text(let search, let text, let part): return textSearch(search, text, part)
        case .members(.count, _, _): return TruthCondition(operand(node))
        case .members(let test, let members, let node):
            return MemberCondition(conditions(members, node), isAny: test == .any)
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
