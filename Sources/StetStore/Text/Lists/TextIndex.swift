/// An index of parts of texts, as its lists need to know it.
package struct TextIndex: Hashable, Sendable {
    /// The terms for which an index has lists.
    package enum Terms: Sendable {
        /// Words, whose postings have positions.
        case words
        /// Trigrams, whose postings have no bytes.
        case trigrams
    }

    package let number: Int
    package let entity: EntityNumber
    package let terms: Terms

    package init(_ number: Int, of entity: EntityNumber, _ terms: Terms) {
        self.number = number
        self.entity = entity
        self.terms = terms
    }
}
