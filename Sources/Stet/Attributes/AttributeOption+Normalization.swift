import StetStore

// Normalisers run once on each changed value, before it is validated, in the order of declaration.

extension AttributeOption {
    /// Removes white space and line breaks at both ends of a changed value, before it is validated.
    public static let trimmed = text(.trimmed) { _trim(&$0) }

    /// Converts the letters of a changed value to lowercase, before it is validated.
    public static let lowercased = text(.lowercased) { _lowercase(&$0) }

    /// Converts a changed text to Unicode normal form C, before it is validated.
    public static let nfc = text(.nfc) { _composeCharacters(&$0) }

    /// Replaces a changed value with the result of a function, before it is validated.
    ///
    /// The function runs once for each value that is saved, on the isolation of the context. It
    /// must have a name that is visible in the whole file, because the macro copies the text.
    public static func normalized<T: AttributeValue>(
        by function: @escaping @Sendable (T) -> T
    ) -> AttributeOption {
        AttributeOption(
            normalizer: (.custom, { value in T(_value: value).map(function)?._value ?? value }))
    }

    private static func text(
        _ kind: Normalizer, _ change: @escaping @Sendable (inout String) -> Void
    ) -> AttributeOption {
        AttributeOption(
            normalizer: (
                kind,
                { value in
                    guard case .string(var text) = value else { return value }
                    change(&text)
                    return .string(text)
                }
            ))
    }
}

/// Removes white space and line breaks at both ends.
///
/// Used by the code that `@Model` writes.
public func _trim(_ text: inout String) {
    // Usually both ends are visible ASCII, and no `Character` has to be decoded.
    if let first = text.utf8.first, let last = text.utf8.last,
        (0x21...0x7e).contains(first), (0x21...0x7e).contains(last)
    {
        return
    }
    func isSpace(_ character: Character?) -> Bool { character?.isWhitespace ?? false }
    guard isSpace(text.first) || isSpace(text.last) else { return }
    let start = text.firstIndex { !$0.isWhitespace } ?? text.endIndex
    let end = text.lastIndex { !$0.isWhitespace }.map { text.index(after: $0) } ?? start
    text = String(text[start..<end])
}

/// Removes white space and line breaks at both ends; nil stays nil.
///
/// Used by the code that `@Model` writes.
public func _trim(_ text: inout String?) {
    if var present = text {
        _trim(&present)
        text = present
    }
}

/// Converts all letters to lowercase.
///
/// Used by the code that `@Model` writes.
public func _lowercase(_ text: inout String) {
    if text.utf8.allSatisfy({ $0 < 0x80 && !(0x41...0x5a).contains($0) }) { return }
    text = text.lowercased()
}

/// Converts all letters to lowercase; nil stays nil.
///
/// Used by the code that `@Model` writes.
public func _lowercase(_ text: inout String?) {
    if var present = text {
        _lowercase(&present)
        text = present
    }
}

/// Converts text to Unicode normal form C.
///
/// Used by the code that `@Model` writes.
public func _composeCharacters(_ text: inout String) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return }
    text = text.inNormalFormC
}

/// Converts text to Unicode normal form C; nil stays nil.
///
/// Used by the code that `@Model` writes.
public func _composeCharacters(_ text: inout String?) {
    if var present = text {
        _composeCharacters(&present)
        text = present
    }
}

/// Replaces a value with the result of a function.
///
/// Used by the code that `@Model` writes.
public func _normalize<T>(_ value: inout T, by function: (T) -> T) {
    value = function(value)
}

/// Replaces a value with the result of a function; nil stays nil.
///
/// Used by the code that `@Model` writes.
public func _normalize<T>(_ value: inout T?, by function: (T) -> T) {
    value = value.map(function)
}
