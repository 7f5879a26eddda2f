/// The previous names and default values that declared models provide for stores of earlier models.
///
/// They are separate from the schema, because they are used only to migrate a store, and are not
/// stored.
package struct SchemaOrigins: Sendable {
    /// The previous name of each entity, by its name.
    package var entityNames: [String: String] = [:]
    /// The previous names of each property, by entity and name; the first one that a store has
    /// counts.
    package var propertyNames: [String: [String: [String]]] = [:]
    /// The previous name of each type of links, by its name.
    package var linkNames: [String: String] = [:]
    /// The closures that return the values of objects that have none, by entity and property.
    package var defaults: [String: [String: @Sendable () -> Value]] = [:]

    /// The names of the entities that may be removed with all of their objects; nil means all.
    package var removableEntities: Set<String>?

    /// Whether a value may be a placeholder (0, "", false, empty) where code will set it.
    package var allowsPlaceholders = false

    package init() {}
}
