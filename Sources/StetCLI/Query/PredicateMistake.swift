import StetStore

/// The reason why a predicate cannot be parsed, and its position.
struct PredicateMistake: Error, Hashable {
    /// The problem, as part of a sentence.
    var message: String
    /// The offset in the UTF-8 bytes of the text.
    var offset: Int

    init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// Returns the text with a caret under the position.
    func marked(_ text: String) -> String {
        let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self)
        let indent = String(repeating: " ", count: before.visible.count)
        return "  \(text.visible)\n  \(indent)^"
    }
}
