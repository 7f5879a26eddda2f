/// The members of a relationship, and the condition that each is tested with.
struct MemberConditions: TestedList {
    let owner: QueryPlace
    /// The end that lists the members.
    let end: MemberEnd
    let condition: QueryCondition
    /// The value that is asked for; nil for none.
    let value: QueryOperand?
    /// True when every member satisfies the condition.
    let isEverything: Bool
    /// The scope under which results are remembered; nil where a test costs little or depends on
    /// more than the member.
    let rememberedScope: Int?
    /// The scope under which values are remembered; nil where they cost little or depend on more
    /// than the member.
    let rememberedValueScope: Int?

    func knownCount(_ frame: inout QueryFrame) throws -> Int? {
        guard isEverything, frame.state.isOfLastCommit else { return nil }
        guard let owner = try owner.row(&frame) else { return 0 }
        return try frame.state.memberCount(of: owner.id, at: end)
    }

    func forEach(_ frame: inout QueryFrame, _ body: (Bool, Value) throws -> Bool) throws {
        guard let owner = try owner.row(&frame) else { return }
        let state = frame.state
        let tested = rememberedScope.map(state.testedMembers)
        let valued = rememberedValueScope.map(state.testedMembers)
        for place in try state.members(of: owner.id, at: end) {
            let known = tested?.results[place.id]
            if let known, !known || value == nil {
                guard try body(known, .null) else { return }
                continue
            }
            if known == true, let value = valued?.values[place.id] {
                guard try body(true, value) else { return }
                continue
            }
            guard let member = try state.target(end.member, place.id) else { continue }
            frame.members.append(member)
            defer { frame.members.removeLast() }
            let isMet = try known ?? (isEverything || condition.test(&frame))
            tested?.results[place.id] = isMet
            var found = Value.null
            if isMet, let value {
                found = try valued?.values[place.id] ?? value.value(&frame)
                valued?.values[place.id] = found
            }
            guard try body(isMet, found) else { return }
        }
    }
}

/// The results of a condition of members, and their values, where these read nothing but the
/// member, and members from there on.
///
/// Without them, conditions inside of others would be tested again for each way to a member.
final class TestedMembers {
    var results: [ObjectID: Bool] = [:]
    var values: [ObjectID: Value] = [:]
}
