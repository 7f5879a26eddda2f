// The JSON of change sets, which the page "JSON for clients" describes.

extension CodingUserInfoKey {
    // Cannot fail: the text is not empty.
    /// Set to true in the `userInfo` of an encoder that shall encode the values of hidden
    /// properties, too, such as one whose output stays in the same service.
    public static let encodesHiddenValues =
        CodingUserInfoKey(rawValue: "Stet.hidden").unsafelyUnwrapped
}

extension Encoder {
    /// Whether the values of hidden properties are encoded, too.
    package var showsHiddenValues: Bool { userInfo[.encodesHiddenValues] as? Bool == true }
}

/// A key of an object whose keys are names of properties.
struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension ObjectChange: Codable {
    private enum CodingKeys: String, CodingKey {
        case entity, id, kind, properties, relationships, via
    }

    /// Decodes a change; its properties and relationships are in the order of their names.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            entity: try container.decode(String.self, forKey: .entity),
            id: try container.decode(ObjectID.self, forKey: .id),
            kind: try container.decode(ChangeKind.self, forKey: .kind), properties: [])
        let values = try container.nestedContainer(keyedBy: NameKey.self, forKey: .properties)
        properties = try values.allKeys.sorted { $0.stringValue < $1.stringValue }.map { key in
            let decoder = try values.superDecoder(forKey: key)
            return try PropertyChange(key.stringValue, decoder, needsOld: kind == .update)
        }
        if container.contains(.relationships) {
            let members = try container.nestedContainer(
                keyedBy: NameKey.self, forKey: .relationships)
            relationships = try members.allKeys.sorted { $0.stringValue < $1.stringValue }
                .map { key in
                    try RelationshipChange(key.stringValue, try members.superDecoder(forKey: key))
                }
        }
        via = try container.decodeIfPresent(String.self, forKey: .via)
    }

    /// Encodes a change, with an object of its properties by name:
    /// `{"title": {"old": "a", "new": "b"}}`.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(entity, forKey: .entity)
        try container.encode(id, forKey: .id)
        try container.encode(kind, forKey: .kind)
        var values = container.nestedContainer(keyedBy: NameKey.self, forKey: .properties)
        for property in properties {
            let coder = values.superEncoder(forKey: NameKey(property.name))
            try property.encodeValues(to: coder, omitsNull: kind != .update)
        }
        if !relationships.isEmpty {
            var members = container.nestedContainer(keyedBy: NameKey.self, forKey: .relationships)
            for relationship in relationships {
                let coder = members.superEncoder(forKey: NameKey(relationship.name))
                try relationship.encodeMembers(to: coder)
            }
        }
        try container.encodeIfPresent(via, forKey: .via)
    }
}

extension PropertyChange: Codable {
    private enum CodingKeys: String, CodingKey { case name, old, new, redacted, hidden }

    /// Decodes a change of a property with a name.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            try container.decode(String.self, forKey: .name), decoder, needsOld: false)
    }

    /// With `needsOld`, a missing old value is an error, because it would be compared as null.
    fileprivate init(_ name: String, _ decoder: any Decoder, needsOld: Bool) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let isHidden = try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false
        if needsOld, !isHidden, !container.contains(.old) {
            throw DecodingError.keyNotFound(
                CodingKeys.old,
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "The update of \(name) needs its old value, or null."))
        }
        self.init(
            name: name, old: try container.decodeIfPresent(Value.self, forKey: .old) ?? .null,
            new: try container.decodeIfPresent(Value.self, forKey: .new) ?? .null)
        self.isHidden = isHidden
        let sides = try container.decodeIfPresent([String].self, forKey: .redacted) ?? []
        redacted.old = sides.contains("old")
        redacted.new = sides.contains("new")
    }

    /// Encodes the change with its name.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try encodeValues(to: encoder, omitsNull: false)
    }

    fileprivate func encodeValues(to encoder: any Encoder, omitsNull: Bool) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if isHidden { try container.encode(true, forKey: .hidden) }
        if !isHidden || encoder.showsHiddenValues {
            if !omitsNull || old != .null { try container.encode(old, forKey: .old) }
            if !omitsNull || new != .null { try container.encode(new, forKey: .new) }
        }
        let sides = [redacted.old ? "old" : nil, redacted.new ? "new" : nil].compactMap { $0 }
        if !sides.isEmpty { try container.encode(sides, forKey: .redacted) }
    }
}

extension RelationshipChange: Codable {
    private enum CodingKeys: String, CodingKey { case name, added, removed, moved, members }

    /// Decodes a change of a relationship with a name.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(try container.decode(String.self, forKey: .name), decoder)
    }

    fileprivate init(_ name: String, _ decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let members = try container.decodeIfPresent(
            [RelationshipChange.Member].self, forKey: .members)
        {
            self.init(name: name, members: members)
            return
        }
        let added = try container.decodeIfPresent([ObjectID].self, forKey: .added) ?? []
        let removed = try container.decodeIfPresent([ObjectID].self, forKey: .removed) ?? []
        let members =
            added.map { Member(id: $0, old: .absent, new: .present(nil)) }
            + removed.map { Member(id: $0, old: .present(nil), new: .absent) }
        self.init(name: name, members: members.sorted { $0.id < $1.id })
    }

    /// Encodes the change with its name.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try encodeMembers(to: encoder)
    }

    /// Encodes the ids that are added, removed and moved, and in an ordered relationship the
    /// positions, too.
    fileprivate func encodeMembers(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !added.isEmpty { try container.encode(added, forKey: .added) }
        if !removed.isEmpty { try container.encode(removed, forKey: .removed) }
        if !moved.isEmpty { try container.encode(moved, forKey: .moved) }
        if members.contains(where: { $0.old.position != nil || $0.new.position != nil }) {
            try container.encode(members, forKey: .members)
        }
    }
}

extension ChangeKind: Codable {
    private static let names: [(String, ChangeKind)] = [
        ("insert", .insert), ("update", .update), ("delete", .delete),
    ]

    /// Decodes "insert", "update" or "delete".
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let kind = Self.names.first(where: { $0.0 == name })?.1 else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "The kind of a change is one of three words.")
        }
        self = kind
    }

    /// Encodes the kind as a word.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(self)")
    }
}
