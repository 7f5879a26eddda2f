import StetStore

/// A line in which a session tells the campaign what the store told it.
///
/// It is written before the next call is made, so that it stands whatever happens then.
enum Statement: Hashable {
    /// A commit with so many changes, prepared at a revision, is about to be made.
    case trying(token: UInt64, base: Revision, changeCount: Int)
    case acknowledged(token: UInt64, Revision)
    case notCommitted(token: UInt64, code: String)
    case unknown(token: UInt64, code: String)
    /// What a later question after an unknown outcome was answered.
    case resolved(token: UInt64, isCommitted: Bool)
    /// Something else threw a typed error.
    case failed(what: String, code: String)
    /// The disk or the map is full now; the campaign frees space and says so.
    case full
    /// A promise was broken before the eyes of the session.
    case wrong(String)
    /// The session has given up after a few attempts, because nothing works any more.
    case gaveUp(String)
    case done
}

extension Statement: CustomStringConvertible {
    var description: String {
        switch self {
        case .trying(let token, let base, let count): "try \(token) \(base) \(count)"
        case .acknowledged(let token, let revision): "ack \(token) \(revision)"
        case .notCommitted(let token, let code): "not-committed \(token) \(code)"
        case .unknown(let token, let code): "unknown \(token) \(code)"
        case .resolved(let token, true): "resolved \(token) committed"
        case .resolved(let token, false): "resolved \(token) not-committed"
        case .failed(let what, let code): "failed \(what) \(code)"
        case .full: "full"
        case .wrong(let text): "wrong \(text)"
        case .gaveUp(let place): "gave-up \(place)"
        case .done: "done"
        }
    }

    /// Reads a line; nil for what is none.
    init?(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        func token() -> UInt64? { words.count > 1 ? UInt64(words[1]) : nil }
        switch (words.first, words.count) {
        case ("try", 4):
            guard let token = token(), let base = UInt64(words[2]), let count = Int(words[3]) else {
                return nil
            }
            self = .trying(token: token, base: Revision(base), changeCount: count)
        case ("ack", 3):
            guard let token = token(), let revision = UInt64(words[2]) else { return nil }
            self = .acknowledged(token: token, Revision(revision))
        case ("not-committed", 3), ("unknown", 3), ("resolved", 3):
            guard let token = token() else { return nil }
            self =
                switch words[0] {
                case "unknown": .unknown(token: token, code: words[2])
                case "resolved": .resolved(token: token, isCommitted: words[2] == "committed")
                default: .notCommitted(token: token, code: words[2])
                }
        case ("failed", 3): self = .failed(what: words[1], code: words[2])
        case ("full", 1): self = .full
        case ("wrong", _): self = .wrong(String(line.dropFirst(6)))
        case ("gave-up", 2): self = .gaveUp(words[1])
        case ("done", 1): self = .done
        default: return nil
        }
    }
}
