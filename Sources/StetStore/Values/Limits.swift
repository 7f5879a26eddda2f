/// The sizes beyond which Stet refuses, with a typed error and nothing written.
public enum Limits {
    /// The bytes of one attribute's value.
    public static let attributeByteCount = 64 << 20
    /// The objects that one commit changes.
    public static let changesPerCommit = 10_000_000
    /// The bytes of one commit in the journal.
    public static let commitByteCount = 1 << 30
    /// The UTF-8 bytes of a commit's label.
    public static let labelByteCount = 1_024
    /// The UTF-8 bytes of an author and of a scope.
    public static let authorByteCount = 255
    /// The UTF-8 bytes of a commit's metadata, keys and values together.
    public static let metadataByteCount = 4_096
    /// The entities of a schema.
    public static let entityCount = 250
    /// The properties of an entity.
    public static let propertyCount = 1_024
    /// The indexes of an entity.
    public static let indexCount = 64
    /// The properties of one index.
    public static let indexPropertyCount = 16
    /// The UTF-8 bytes of the name of an entity or property.
    public static let nameByteCount = 255
    /// The UTF-8 bytes of a pattern, and of a text that a rule names.
    public static let ruleByteCount = 1_024
}
