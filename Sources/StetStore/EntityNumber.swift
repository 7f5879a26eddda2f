/// The number of an entity in a schema; that of the first one is 1.
///
/// A number is never used again: a removed entity keeps its own.
@usableFromInline
package struct EntityNumber: Hashable, Sendable {
    /// The number, 1 or more.
    @usableFromInline package let rawValue: Int

    /// The number of the entity at a place in the schema, from 0 on.
    @inlinable
    package init(index: Int) { rawValue = index + 1 }

    /// A number as it is stored; 0 is that of no entity.
    @inlinable
    package init(_ rawValue: some BinaryInteger) { self.rawValue = Int(rawValue) }

    /// The place of the entity in its schema, from 0 on.
    @inlinable
    package var index: Int { rawValue - 1 }
}

extension EntityNumber: Comparable {
    /// By number.
    @inlinable
    package static func < (one: EntityNumber, other: EntityNumber) -> Bool {
        one.rawValue < other.rawValue
    }
}

extension EntityNumber: ExpressibleByIntegerLiteral {
    /// The number that is written.
    @inlinable
    package init(integerLiteral value: Int) { rawValue = value }
}

extension EntityNumber: CustomStringConvertible {
    /// The number.
    @usableFromInline package var description: String { String(rawValue) }
}

extension Array {
    /// What an array in the order of entities has for one of them.
    package subscript(entity: EntityNumber) -> Element {
        @inlinable get { self[entity.index] }
        // In place: an element may be a large table.
        @inlinable _modify { yield &self[entity.index] }
    }

    /// The same where the array may be too short.
    package func element(at entity: EntityNumber) -> Element? { element(at: entity.index) }

    /// The numbers of the entities of an array in their order.
    package var numbers: [EntityNumber] { indices.map(EntityNumber.init(index:)) }

    /// The elements with the numbers of their entities, of an array in the order of entities.
    package var numbered: Zip2Sequence<[EntityNumber], [Element]> { zip(numbers, self) }
}
