/// What declared models say of the stores of their predecessors: names of old, and values for what
/// was not there.
///
/// Beside the schema, because it is asked only where a store is migrated, and is not stored with
/// it.
package struct SchemaOrigins: Sendable {
    /// By entity, what its earlier version was called.
    package var entityNames: [String: String] = [:]
    /// By entity and property, what the property was called.
    package var propertyNames: [String: [String: String]] = [:]
    /// By type of links, what it was called.
    package var linkNames: [String: String] = [:]
    /// By entity and property, what gives the value of objects that have none.
    package var defaults: [String: [String: @Sendable () -> Value]] = [:]

    /// Lets a value be "nothing" (0, "", false, empty) where code will give it one.
    package var allowsPlaceholders = false

    package init() {}
}
