/// The elements of an array of embedded values, each of which is stored as a record body of its
/// own.
///
/// In a `Value`, an element is a dictionary with the name of each member, also of those that are
/// nil, as the whole of an optional embedded value is.
package struct EmbeddedElements: Hashable, Sendable {
    /// The members, as properties of an entity without a name, indexes and relationships.
    package let entity: Entity
    /// The slot of the member by which an element is the same in two arrays; nil when elements have
    /// no identity.
    package let identity: Slot?

    package init(members: [Property], identity: Slot?) {
        entity = Entity(name: "", properties: members)
        self.identity = identity
    }

    /// The name of the member that identifies an element; nil when elements have no identity.
    var identityName: String? { identity.map { entity.properties[$0].name } }

    /// The reason why no schema can contain an array of these; nil when there is none.
    var problem: String? {
        if entity.properties.isEmpty { return "has elements without members" }
        for member in entity.properties {
            if member.type == .reference || member.elements.contains(.embedded)
                || member.stamp != nil || member.isCounter || member.isDerived || member.seal != nil
                || member.isLarge
            {
                return "has elements whose \(member.name) an element can't have"
            }
        }
        guard let identity else { return nil }
        guard let member = entity.properties.element(at: identity), !member.isOptional else {
            return "has elements that are identified by no value"
        }
        return nil
    }

    // MARK: Values

    /// Returns whether a value is an element: a dictionary of all members by name.
    func accepts(_ element: Value) -> Bool {
        guard case .dictionary(let members) = element,
            members.count == entity.properties.count
        else { return false }
        return entity.properties.allSatisfy { member in
            members[.string(member.name)].map(member.accepts) ?? false
        }
    }

    /// Returns the members of an element, in the order of their slots; nil for another value.
    package func members(of element: Value) -> [Value]? {
        guard accepts(element), case .dictionary(let members) = element else { return nil }
        return entity.properties.map { members[.string($0.name)] ?? .null }
    }

    /// Returns the element with these members, in the order of their slots.
    package func element(_ members: [Value]) -> Value {
        .dictionary(
            Dictionary(
                uniqueKeysWithValues: zip(entity.properties, members).map {
                    (.string($0.name), $1)
                }))
    }
}
