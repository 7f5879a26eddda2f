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
    /// The scope under which values are remembered; nil where they depend on more than the member.
    let rememberedValueScope: Int?

    func knownCount(_ frame: inout QueryFrame) throws -> Int? {
        guard isEverything else { return nil }
        guard let owner = try owner.row(&frame) else { return 0 }
        return try frame.state.memberCount(of: owner.id, at: end)
    }

    func forEach(_ frame: inout QueryFrame, _ body: (Bool, Value) throws -> Bool) throws {
        guard let owner = try owner.row(&frame) else { return }
        let state = frame.state
        let tested = rememberedScope.map(state.testedMembers)
        let valued = rememberedValueScope.map(state.testedMembers)
        if isEverything, let value, let valued {
            return try forEachValue(value, valued, of: owner.id, &frame, body)
        }
        try state.forEachMember(of: owner.id, at: end) { id in
            let known = tested?.results[id]
            if let known, !known || value == nil { return try body(known, .null) }
            if known == true || isEverything, let value = valued?.values[id] {
                return try body(true, value)
            }
            guard let member = try state.target(end.member, id) else { return true }
            frame.members.append(member)
            defer { frame.members.removeLast() }
            let isMet = try known ?? (isEverything || condition.test(&frame))
            tested?.results.set(isMet, of: id)
            var found = Value.null
            if isMet, let value {
                if let known = valued?.values[id] { return try body(true, known) }
                found = try value.value(&frame)
                valued?.remember(found, of: id)
            }
            return try body(isMet, found)
        }
    }

    /// Calls `body` with the value of each member, which is remembered.
    private func forEachValue(
        _ value: QueryOperand, _ valued: TestedMembers, of owner: ObjectID,
        _ frame: inout QueryFrame, _ body: (Bool, Value) throws -> Bool
    ) throws {
        let state = frame.state
        try state.forEachMember(of: owner, at: end) { id in
            if let known = valued.values[id] { return try body(true, known) }
            // Not kept with the targets: it is read once.
            guard let member = try state.row(end.member, id) else { return true }
            frame.members.append(member)
            defer { frame.members.removeLast() }
            let found = try value.value(&frame)
            valued.remember(found, of: id)
            return try body(true, found)
        }
    }
}

/// The results of a condition of members, and their values, where these read nothing but the
/// member, and members from there on.
///
/// Without them, conditions inside of others would be tested again for each way to a member.
final class TestedMembers {
    // Not checked at each access: nothing runs while one of them is read or changed.
    @exclusivity(unchecked) var results = IDTable<Bool>()
    @exclusivity(unchecked) private(set) var values = IDTable<Value>()

    /// The bytes that are left for values: an entry takes up to 96 in the table.
    @exclusivity(unchecked) private var room = 100 << 20

    /// Remembers a value for the next ways to the member, unless too much is remembered already.
    func remember(_ value: Value, of id: ObjectID) {
        var byteCount = 96
        if case .string(let text) = value { byteCount += text.utf8.count }
        if case .data(let data) = value { byteCount += data.count }
        if byteCount > room { return }
        room -= byteCount
        values.set(value, of: id)
    }
}
