/// The number of an entity in a schema, from 1.
///
/// Migrations keep it, and never reuse the number of an entity that was removed.
@usableFromInline
package struct EntityNumber: Hashable, Sendable {
    /// The number, 1 or more.
    @usableFromInline package let rawValue: Int

    /// Creates the number of the entity at an index of the schema.
    @inlinable
    package init(index: Int) { rawValue = index + 1 }

    /// Creates a number from its stored form; 0 stands for no entity.
    @inlinable
    package init(_ rawValue: some BinaryInteger) { self.rawValue = Int(rawValue) }

    /// The index of the entity in its schema, from 0.
    @inlinable
    package var index: Int { rawValue - 1 }
}

extension EntityNumber: Comparable {
    /// Compares two entities by their numbers.
    @inlinable
    package static func < (one: EntityNumber, other: EntityNumber) -> Bool {
        one.rawValue < other.rawValue
    }
}

extension EntityNumber: ExpressibleByIntegerLiteral {
    /// Creates the number that a literal names.
    @inlinable
    package init(integerLiteral value: Int) { rawValue = value }
}

extension EntityNumber: CustomStringConvertible {
    /// The number as text.
    @usableFromInline package var description: String { String(rawValue) }
}

extension Array {
    /// Accesses the element for an entity, in an array with one element per entity.
    package subscript(entity: EntityNumber) -> Element {
        @inlinable get { self[entity.index] }
        // Yields the element instead of copying it: it may be a large table.
        @inlinable _modify { yield &self[entity.index] }
    }

    /// Returns the element for an entity, or nil when the array is too short.
    package func element(at entity: EntityNumber) -> Element? { element(at: entity.index) }

    /// The entity numbers of the elements, in order.
    package var numbers: [EntityNumber] { indices.map(EntityNumber.init(index:)) }

    /// The elements paired with their entity numbers.
    package var numbered: Zip2Sequence<[EntityNumber], [Element]> { zip(numbers, self) }
}
