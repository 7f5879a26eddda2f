/// The index of a property among the properties of its entity, starting at 0.
///
/// It is valid for one revision of the schema: a migration may move a property to another slot.
@frozen
public struct Slot: Hashable, Sendable {
    /// The index, 0 or more.
    public let index: Int

    /// Creates the slot with an index.
    @inlinable
    public init(_ index: some BinaryInteger) { self.index = Int(index) }
}

extension Slot: Comparable {
    /// Compares two slots by their indices.
    @inlinable
    public static func < (one: Slot, other: Slot) -> Bool { one.index < other.index }
}

extension Slot: ExpressibleByIntegerLiteral {
    /// Creates the slot that a literal names.
    @inlinable
    public init(integerLiteral value: Int) { index = value }
}

extension Slot: CustomStringConvertible {
    /// The index as text.
    public var description: String { String(index) }
}

extension Array {
    /// Accesses the element for a slot, in an array with one element per property.
    package subscript(slot: Slot) -> Element {
        @inlinable get { self[slot.index] }
        // Yields the element instead of copying it: it may be a large table.
        @inlinable _modify { yield &self[slot.index] }
    }

    /// Returns the element for a slot, or nil when the array is too short.
    package func element(at slot: Slot) -> Element? { element(at: slot.index) }

    /// The slots of the elements, in order.
    package var slots: [Slot] { indices.map { Slot($0) } }

    /// The elements paired with their slots.
    package var slotted: Zip2Sequence<[Slot], [Element]> { zip(slots, self) }
}

/// A set of slots, of which those that are 64 apart share a bit: with one of them it contains all.
package struct SlotSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package init(_ slots: some Sequence<Slot>) {
        self.init(rawValue: slots.reduce(0) { $0 | 1 << UInt64($1.index % 64) })
    }

    /// Every slot.
    package static let all = SlotSet(rawValue: .max)
}
