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

    /// Returns the members of an element, in the order of their slots; nil for a value that is none.
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

    // MARK: Bytes

    /// Returns the array that is stored as these bytes.
    ///
    /// - Throws: `DecodingFailure` when they are none, or an element lacks a member.
    package func list(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> Value {
        var elements: [Value] = []
        for body in try ElementBodies(bytes) {
            let members = try RecordBody(body, of: entity).values()
            for (member, value) in zip(entity.properties, members)
            where value == .null && !member.isOptional {
                throw DecodingFailure("an element without its member \(member.name)")
            }
            elements.append(element(members))
        }
        return .list(elements)
    }

    /// Returns the bytes of an array.
    ///
    /// - Throws: `EncodingFailure` for an element that is none, or has a value without a stored
    ///   form.
    func bytes(of elements: [Value]) throws(EncodingFailure) -> [UInt8] {
        var bodies: [[UInt8]] = []
        for element in elements {
            guard let members = members(of: element) else {
                throw EncodingFailure("has an element without the members of its type")
            }
            bodies.append(try EncodedBody(members, of: entity).bytes)
        }
        return ElementBodies.joined(bodies)
    }

    /// Calls `body` with each element, decoded as an object is.
    func forEachElement(
        _ bytes: UnsafeRawBufferPointer, _ body: (_ index: Int, RecordBody) throws -> Void
    ) throws {
        for (index, element) in try ElementBodies(bytes).enumerated() {
            try body(index, try RecordBody(element, of: entity))
        }
    }
}

extension Property {
    /// Returns the value that is stored as a cell; `.null` for none.
    package func value(_ cell: Cell?) throws(DecodingFailure) -> Value {
        if let embedded, case .bytes(let bytes)? = cell { return try embedded.list(bytes) }
        return try Value(cell, type: type)
    }
}
