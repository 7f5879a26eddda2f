/// A search for words in attributes of an entity's objects.
package struct TextMatch: Hashable, Sendable {
    /// An attribute that is searched.
    package struct Attribute: Hashable, Sendable {
        package let slot: Slot
        /// The factor by which an occurrence in this attribute counts.
        package let weight: Double

        package init(slot: Slot, weight: Double = 1) {
            self.slot = slot
            self.weight = weight
        }
    }

    package let query: TextQuery
    package let attributes: [Attribute]

    package init(_ query: TextQuery, in attributes: [Attribute]) {
        self.query = query
        self.attributes = attributes
    }
}
