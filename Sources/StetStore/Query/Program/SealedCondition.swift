/// Tests whether a sealed attribute has a value.
final class SealedCondition: QueryCondition {
    let place: QueryPlace
    let slot: Slot
    /// The slot of the reference to the object by whose key values are sealed; nil for the object
    /// itself.
    let owner: Slot?
    let match: SealedMatch

    init(_ place: QueryPlace, slot: Slot, owner: Slot?, _ match: SealedMatch) {
        self.place = place
        self.slot = slot
        self.owner = owner
        self.match = match
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        guard let row = try place.row(&frame), case .bytes(let bytes)? = try row.cell(slot, .data)
        else { return false }
        return try match.matches(
            SealedBytes(bytes: Array(bytes)), of: row.id,
            saver: try owner.map { try row.reference($0) } ?? row.id)
    }
}

extension QueryNode {
    /// Refuses a query that compares sealed values of an owner whose key was destroyed or cannot be
    /// read, whichever objects there are.
    ///
    /// - Throws: `SealingError`.
    func checkKeys() throws(SealingError) {
        switch self {
        case .sealed(_, _, let match): _ = try match.indexValues()
        case .constant, .property, .id, .matching, .rank: break
        case .comparison(_, let one, let other), .text(_, let one, let other),
            .arithmetic(_, let one, let other), .coalesced(let one, let other):
            try one.checkKeys()
            try other.checkKeys()
        case .isIn(let node, _), .folded(let node, _), .not(let node), .members(_, _, let node),
            .elements(_, _, let node):
            try node.checkKeys()
        case .all(let nodes), .any(let nodes): for node in nodes { try node.checkKeys() }
        }
    }
}
