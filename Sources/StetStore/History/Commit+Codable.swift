// The JSON of commits, which the page "JSON for clients" describes.

extension Commit: Encodable {
    private enum CodingKeys: String, CodingKey {
        case revision, id, time, cause, subject, author, scope, label, group, subscription
        case metadata, hash, isRedacted, changes
    }

    /// Encodes the commit with its changes; what it does not have is left out.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(id, forKey: .id)
        try container.encode(time, forKey: .time)
        try container.encode(cause.name, forKey: .cause)
        try container.encodeIfPresent(cause.subject, forKey: .subject)
        try container.encodeIfPresent(author, forKey: .author)
        try container.encodeIfPresent(scope, forKey: .scope)
        try container.encodeIfPresent(label, forKey: .label)
        try container.encodeIfPresent(group, forKey: .group)
        try container.encodeIfPresent(subscription, forKey: .subscription)
        if !metadata.isEmpty { try container.encode(metadata, forKey: .metadata) }
        try container.encode(hash, forKey: .hash)
        if isRedacted { try container.encode(true, forKey: .isRedacted) }
        try container.encode(changeSet.changes, forKey: .changes)
    }
}

extension UndoGroup: Codable {
    /// Decodes the id of a group.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        self.init(try ObjectID(from: decoder))
    }

    /// Encodes the id of the group.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }
}

extension CommitID: Codable {
    private enum CodingKeys: String, CodingKey { case store, base, token }

    /// Decodes an id.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .token)
        guard let token = UInt64(text, radix: 16) else {
            throw DecodingError.dataCorruptedError(
                forKey: .token, in: container, debugDescription: "The token is hexadecimal.")
        }
        self.init(
            store: try container.decode(ObjectID.self, forKey: .store),
            base: try container.decode(Revision.self, forKey: .base), token: token)
    }

    /// Encodes an id; the token is text, because JavaScript has no integers of 64 bits.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(base, forKey: .base)
        try container.encode(String(token, radix: 16), forKey: .token)
    }
}
