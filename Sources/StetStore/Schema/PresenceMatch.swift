/// The former slots and the default values of the optional embedded values of an entity.
///
/// Members come from one place: from an optional value that shares its presence, or from properties
/// that every object has, among them those of an embedded value that was not optional.
struct PresenceMatch {
    private let old: Entity
    private let new: Entity
    /// The slots of the former entity, by slot of the new one.
    private(set) var slots: [Slot?]
    /// The default values that do not follow from the properties by themselves.
    private(set) var defaults: [Slot: Value] = [:]
    private(set) var steps: [String] = []
    private(set) var problems: [String] = []

    /// Matches the optional values of two entities, whose other properties are matched by `slots`;
    /// `isDeclared` returns whether a value is declared for objects that have none.
    init(_ old: Entity, _ new: Entity, _ slots: [Slot?], _ isDeclared: (Slot) -> Bool) {
        self.old = old
        self.new = new
        self.slots = slots
        for value in new.optionalValues { match(value, isDeclared(value.presence)) }
    }

    private mutating func match(_ value: OptionalValue, _ isDeclared: Bool) {
        let label = "\(new.name).\(new.properties[value.presence].name)"
        var places = Set(value.members.compactMap { slots[$0] }.map(presence))
        if let own = slots[value.presence] { places.insert(own) }
        if places.count > 1 {
            problems.append(
                "the members of \(label) are not all of one embedded value in the store")
        } else if let place = places.first {
            if let place {
                slots[value.presence] = place
            } else {
                steps.append("lets \(label) be nil")
                defaults[value.presence] = .bool(true)
            }
        } else if !isDeclared {
            steps.append("adds \(label), an embedded value, as nil")
            for slot in value.slots { defaults[slot] = .null }
        }
    }

    /// Returns the slot that shows whether a former property has a value; nil when every object has
    /// it.
    private func presence(of slot: Slot) -> Slot? { old.optionalValue(at: slot)?.presence }

    /// Returns the step for a former property that no new one comes from.
    func removal(of slot: Slot) -> String {
        let name = old.properties[slot].name
        let isKept =
            old.isPresence(slot)
            && slots.contains { $0.map { $0 != slot && presence(of: $0) == slot } ?? false }
        return isKept
            ? "no longer lets \(new.name).\(name) be nil"
            : "removes \(new.name).\(name) with its values"
    }
}
