extension PropertyChange {
    init(_ cell: PresentCell, of property: Property) throws {
        self.init(
            name: property.name, old: try Value(cell.before, type: property.type),
            new: try Value(cell.after, type: property.type))
        redacted.old = cell.isBeforeRedacted
        redacted.new = cell.isAfterRedacted
    }

    mutating func markRedacted(_ kind: ChangeKind) {
        if kind == .insert { redacted.new = true } else { redacted.old = true }
    }

    /// The value before as text, or a word that says that it is redacted.
    package var oldText: String { redacted.old ? Self.redactedText : "\(old)" }
    /// The value after as text, or a word that says that it is redacted.
    package var newText: String { redacted.new ? Self.redactedText : "\(new)" }

    private static let redactedText = "(redacted)"
}

extension PropertyChange {
    private enum CodingKeys: String, CodingKey { case name, old, new, redacted }

    /// Decodes a change, also one that an earlier version has encoded.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            old: try container.decode(Value.self, forKey: .old),
            new: try container.decode(Value.self, forKey: .new))
        redacted =
            try container.decodeIfPresent(PropertyChange.RedactedSides.self, forKey: .redacted)
            ?? redacted
    }

    /// Encodes the change, with the redacted sides only if there are any.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(old, forKey: .old)
        try container.encode(new, forKey: .new)
        if redacted != PropertyChange.RedactedSides() {
            try container.encode(redacted, forKey: .redacted)
        }
    }
}
