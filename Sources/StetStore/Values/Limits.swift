/// The limits of Stet; exceeding one throws a typed error, and nothing is written.
public enum Limits {
    /// The greatest number of bytes of one attribute's value.
    public static let attributeByteCount = 64 << 20
    /// The greatest number of objects that one commit changes.
    public static let changesPerCommit = 10_000_000
    /// The greatest number of bytes of one commit in the journal.
    public static let commitByteCount = 1 << 30
    /// The greatest number of UTF-8 bytes of a commit's label.
    public static let labelByteCount = 1_024
    /// The greatest number of UTF-8 bytes of an author, and of a scope.
    public static let authorByteCount = 255
    /// The greatest number of UTF-8 bytes of a commit's metadata, keys and values together.
    public static let metadataByteCount = 4_096
    /// The greatest number of entities in a schema.
    public static let entityCount = 250
    /// The greatest number of properties of an entity.
    public static let propertyCount = 1_024
    /// The greatest number of indexes of an entity.
    public static let indexCount = 64
    /// The greatest number of properties of an index.
    public static let indexPropertyCount = 16
    /// The greatest number of UTF-8 bytes of the name of an entity or property.
    public static let nameByteCount = 255
    /// The greatest number of UTF-8 bytes of a pattern, and of a text in a rule.
    public static let ruleByteCount = 1_024
}
