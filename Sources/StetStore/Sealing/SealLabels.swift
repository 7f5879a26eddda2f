/// The labels that the values of a model's sealed attributes may have: those of the present and of
/// the previous names of each.
@usableFromInline
package final class SealLabels: Sendable {
    private let labels: [[UInt32]]

    /// Creates the labels from the names of each property; nil when no property is sealed, and so
    /// has names here.
    package init?(_ names: [[String]]) {
        if names.allSatisfy(\.isEmpty) { return nil }
        labels = names.map { $0.map(SealedBytes.Place.label(ofProperty:)) }
    }

    /// Returns whether the property in a slot may have values with a label.
    package func contains(_ label: UInt32, slot: Slot) -> Bool { labels[slot].contains(label) }
}

extension RecordReader {
    /// Lets `isPlaced` compare sealed values with an object and the labels of its attributes, which
    /// the caller keeps alive.
    @inlinable
    package mutating func expect(_ labels: Unmanaged<SealLabels>, of object: ObjectID) {
        self.labels = labels
        self.object = object
    }

    /// Returns whether a sealed value belongs to the object and property in whose record it is.
    package func isPlaced(_ value: SealedBytes, slot: Slot) -> Bool {
        guard let labels, let place = value.place else { return true }
        return place.object == object
            && labels._withUnsafeGuaranteedRef { $0.contains(place.label, slot: slot) }
    }
}
