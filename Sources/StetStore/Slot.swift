/// The place of a property among those of its entity; 0 for the first.
///
/// It never changes: a property that is removed keeps its slot.
@frozen
public struct Slot: Hashable, Sendable {
    /// The place, 0 or more.
    public let index: Int

    /// The slot at a place.
    @inlinable
    public init(_ index: some BinaryInteger) { self.index = Int(index) }
}

extension Slot: Comparable {
    /// By place.
    @inlinable
    public static func < (one: Slot, other: Slot) -> Bool { one.index < other.index }
}

extension Slot: ExpressibleByIntegerLiteral {
    /// The place that is written.
    @inlinable
    public init(integerLiteral value: Int) { index = value }
}

extension Slot: CustomStringConvertible {
    /// The place.
    public var description: String { String(index) }
}

extension Array {
    /// What an array in the order of slots has for one of them.
    package subscript(slot: Slot) -> Element {
        @inlinable get { self[slot.index] }
        // In place: an element may be a large table.
        @inlinable _modify { yield &self[slot.index] }
    }

    /// The same where the array may be too short.
    package func element(at slot: Slot) -> Element? { element(at: slot.index) }

    /// The slots of an array in their order.
    package var slots: [Slot] { indices.map { Slot($0) } }

    /// The elements with their slots, of an array in the order of slots.
    package var slotted: Zip2Sequence<[Slot], [Element]> { zip(slots, self) }
}
