import StetStore

/// Why a predicate is not understood, and where.
struct PredicateMistake: Error, Hashable {
    /// What is wrong, in the middle of a sentence.
    var message: String
    /// The place in the UTF-8 bytes of the text.
    var offset: Int

    init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// The text with a caret under the place.
    func marked(_ text: String) -> String {
        let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self)
        let indent = String(repeating: " ", count: before.visible.count)
        return "  \(text.visible)\n  \(indent)^"
    }
}
