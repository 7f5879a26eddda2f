import StetStore

// What a changed value goes through once, before it is validated, in the order of declaration.

extension AttributeOption {
    /// White space and new lines at both ends are removed before a changed value is validated.
    public static let trimmed = text(.trimmed) { _trim(&$0) }

    /// Letters become small ones before a changed value is validated.
    public static let lowercased = text(.lowercased) { _lowercase(&$0) }

    /// Text is brought into Unicode normal form C before a changed value is validated.
    public static let nfc = text(.nfc) { _composeCharacters(&$0) }

    /// A changed value is what a function makes of it, before it is validated.
    ///
    /// It runs once for each value that is saved, on the isolation of the context. Name a function
    /// that can be named anywhere in the file; the macro reads the text.
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

/// Removes white space and new lines at both ends.
///
/// Used by the code that `@Model` writes.
public func _trim(_ text: inout String) {
    // As a rule both ends are visible ASCII, which needs no look at characters.
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

/// Removes white space and new lines at both ends.
///
/// Used by the code that `@Model` writes.
public func _trim(_ text: inout String?) {
    if var present = text {
        _trim(&present)
        text = present
    }
}

/// Makes all letters small ones.
///
/// Used by the code that `@Model` writes.
public func _lowercase(_ text: inout String) {
    if text.utf8.allSatisfy({ $0 < 0x80 && !(0x41...0x5a).contains($0) }) { return }
    text = text.lowercased()
}

/// Makes all letters small ones.
///
/// Used by the code that `@Model` writes.
public func _lowercase(_ text: inout String?) {
    if var present = text {
        _lowercase(&present)
        text = present
    }
}

/// Brings text into Unicode normal form C.
///
/// Used by the code that `@Model` writes.
public func _composeCharacters(_ text: inout String) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return }
    text = text.inNormalFormC
}

/// Brings text into Unicode normal form C.
///
/// Used by the code that `@Model` writes.
public func _composeCharacters(_ text: inout String?) {
    if var present = text {
        _composeCharacters(&present)
        text = present
    }
}

/// Makes of a value what a function makes of it.
///
/// Used by the code that `@Model` writes.
public func _normalize<T>(_ value: inout T, by function: (T) -> T) {
    value = function(value)
}

/// Makes of a value what a function makes of it; nil stays nil.
///
/// Used by the code that `@Model` writes.
public func _normalize<T>(_ value: inout T?, by function: (T) -> T) {
    value = value.map(function)
}
