/// What a node tells the others after it has appended to a journal.
struct Notification: Hashable {
    let store: String
    /// The journal, as a value in this process, that has appended.
    let sender: UInt64

    init(store: String, sender: UInt64) {
        self.store = store
        self.sender = sender
    }

    /// Creates a notification from its text; nil for another text.
    init?(_ text: String) {
        guard let space = text.firstIndex(of: " "), let sender = UInt64(text[..<space], radix: 16)
        else { return nil }
        self.init(store: String(text[text.index(after: space)...]), sender: sender)
    }

    var text: String { "\(String(sender, radix: 16)) \(store)" }
}
