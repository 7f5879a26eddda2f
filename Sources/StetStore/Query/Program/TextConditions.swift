/// Tests whether an object has the words of a search.
final class MatchingCondition: QueryCondition {
    let place: QueryPlace
    let entity: EntityNumber
    let match: TextMatch

    init(_ place: QueryPlace, _ entity: EntityNumber, _ match: TextMatch) {
        self.place = place
        self.entity = entity
        self.match = match
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        guard let row = try place.row(&frame) else { return false }
        return try frame.state.textSearch(match, entity).matches(row, frame.state)
    }
}

/// The rank of an object in the result of a search: a number that is the lower the better the
/// object fits.
final class RankOperand: QueryOperand {
    let place: QueryPlace
    let entity: EntityNumber
    let match: TextMatch

    init(_ place: QueryPlace, _ entity: EntityNumber, _ match: TextMatch) {
        self.place = place
        self.entity = entity
        self.match = match
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        if let rank = frame.rank { return .double(rank) }
        guard let row = try place.row(&frame) else { return .null }
        return .double(-(try frame.state.textSearch(match, entity).score(row, frame.state)))
    }
}
