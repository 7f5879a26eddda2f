/// The slots of an optional embedded value: one that shows whether the object has it, followed by
/// those of its members.
///
/// No other property has the name of an embedded value, or a full stop in its name, so names show
/// which slots belong together. The presence is true or nil, never false; without it all members
/// are nil, and with it none that is required. A member is required by its rule, because its slot
/// can be empty.
package struct OptionalValue: Hashable, Sendable {
    /// The slot of a `Bool` that is true or nil.
    package let presence: Slot
    package let members: [Slot]
    /// The slots of the members that have a value whenever the embedded value is present.
    let required: [Slot]
    /// The slots whose values decide whether two values are equal: a save sets the others.
    let compared: [Slot]

    package var slots: [Slot] { [presence] + members }

    /// The slot after those of the members.
    var end: Slot { Slot(presence.index + 1 + members.count) }

    /// Returns the optional values among properties.
    static func all(in properties: [Property]) -> [OptionalValue] {
        properties.slotted.compactMap { slot, property in
            guard property.type == .bool, property.isOptional else { return nil }
            let prefix = property.name + "."
            let members = properties.slots.dropFirst(slot.index + 1).prefix {
                properties[$0].name.hasPrefix(prefix)
            }
            if members.isEmpty { return nil }
            return OptionalValue(
                presence: slot, members: Array(members),
                required: members.filter { properties[$0].rules.contains(.required) },
                compared: [slot] + members.filter { properties[$0].stamp != .update })
        }
    }

    /// Returns the slots of the members that a present value lacks, without those that a save sets.
    package func missing(in values: [Value], of entity: Entity) -> [Slot] {
        required.filter { values[$0] == .null && entity.properties[$0].stamp == nil }
    }

    /// Sets the members of a value that is absent to nil.
    package func clear(_ values: inout [Value]) {
        guard values[presence] == .null else { return }
        for slot in members { values[slot] = .null }
    }
}

extension Entity {
    /// Returns the optional value that a slot belongs to; nil for other slots.
    package func optionalValue(at slot: Slot) -> OptionalValue? {
        optionalValues.first { $0.presence <= slot && slot < $0.end }
    }

    /// Returns whether the slot is that of a member that a present optional value always has.
    func isRequiredMember(_ slot: Slot) -> Bool {
        optionalValue(at: slot)?.required.contains(slot) ?? false
    }

    /// Returns whether a slot shows whether an optional value is present.
    package func isPresence(_ slot: Slot) -> Bool { optionalValue(at: slot)?.presence == slot }

    // MARK: As one value

    /// Returns an optional value in the form in which conflicts name it: nil, or a dictionary of
    /// the members by name.
    package func whole(_ value: OptionalValue, of values: [Value]?) -> Value {
        guard let values, values[value.presence] != .null else { return .null }
        let members = value.members.map { slot in
            (Value.string(memberName(slot, of: value)), values[slot])
        }
        return .dictionary(Dictionary(uniqueKeysWithValues: members))
    }

    /// Returns the values of the slots of an optional value from the form of `whole`; nil when a
    /// member is missing, has another type, or is unknown.
    package func values(of value: OptionalValue, whole: Value) -> [Slot: Value]? {
        if whole == .null {
            return Dictionary(uniqueKeysWithValues: value.slots.map { ($0, .null) })
        }
        guard case .dictionary(var given) = whole else { return nil }
        var values: [Slot: Value] = [value.presence: .bool(true)]
        for slot in value.members {
            let member = given.removeValue(forKey: .string(memberName(slot, of: value))) ?? .null
            guard properties[slot].accepts(member),
                member != .null || !value.required.contains(slot)
            else { return nil }
            values[slot] = member
        }
        return given.isEmpty ? values : nil
    }

    /// Returns whether any value of an optional value is hidden.
    package func isHidden(_ value: OptionalValue) -> Bool {
        value.slots.contains { properties[$0].isHidden }
    }

    private func memberName(_ slot: Slot, of value: OptionalValue) -> String {
        String(properties[slot].name.dropFirst(properties[value.presence].name.count + 1))
    }
}
