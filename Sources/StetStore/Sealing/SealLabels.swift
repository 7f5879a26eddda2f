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

    /// The labels of the property in a slot.
    package subscript(_ slot: Slot) -> [UInt32] { labels[slot] }

    /// Returns whether the property in a slot may have values with a label.
    package func contains(_ label: UInt32, slot: Slot) -> Bool { labels[slot].contains(label) }
}
