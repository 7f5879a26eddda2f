extension PropertyChange {
    init(_ cell: PresentCell, of property: Property) throws {
        self.init(
            name: property.name, old: try property.value(cell.before),
            new: try property.value(cell.after))
        isHidden = property.isHidden
        redacted.old = cell.isBeforeRedacted
        redacted.new = cell.isAfterRedacted
    }

    mutating func markRedacted(_ kind: ChangeKind) {
        if kind == .insert { redacted.new = true } else { redacted.old = true }
    }

    /// The value before as text, or a word that says why it is not shown.
    package var oldText: String { coveredOldText ?? "\(old)" }
    /// The value after as text, or a word that says why it is not shown.
    package var newText: String { coveredNewText ?? "\(new)" }

    /// A word instead of the value before; nil if it can be shown.
    package var coveredOldText: String? { coveredText(redacted.old) }
    /// A word instead of the value after; nil if it can be shown.
    package var coveredNewText: String? { coveredText(redacted.new) }

    private func coveredText(_ isRedacted: Bool) -> String? {
        isRedacted ? "(redacted)" : isHidden ? Property.hiddenText : nil
    }
}

extension Property {
    /// The text that is shown instead of a hidden value.
    package static let hiddenText = "(hidden)"
}
