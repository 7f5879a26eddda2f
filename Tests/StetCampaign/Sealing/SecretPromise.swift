import StetStore

/// A line about sealed values: a step that a writer is about to take, or that has returned.
enum SecretPromise: Hashable {
    /// A text of an article is about to be saved, or has been.
    case writing(article: String, Diary.State)
    case written(article: String, number: Int)
    /// A notebook has a version of its key.
    case rotated(ObjectID, version: UInt32)
    /// A writer is about to seal the values of a notebook anew, or has done so, by that version of
    /// its key at least.
    case sealing(writer: Int, ObjectID)
    case sealed(writer: Int, ObjectID, version: UInt32)
    /// The keys of a notebook are about to be destroyed, or have been.
    case destroying(ObjectID)
    case destroyed(ObjectID)

    /// Reads the words of a line after `ack`.
    init?(_ words: ArraySlice<String>) {
        let rest = words.dropFirst()
        guard let kind = words.first, let first = rest.first, let last = rest.last else {
            return nil
        }
        let second = rest.dropFirst().first.flatMap { ObjectID($0) }
        switch (kind, rest.count) {
        case ("writing", 3):
            guard let second, let number = Int(last) else { return nil }
            self = .writing(article: first, Diary.State(notebook: second, number: number))
        case ("written", 2):
            guard let number = Int(last) else { return nil }
            self = .written(article: first, number: number)
        case ("rotated", 2):
            guard let notebook = ObjectID(first), let version = UInt32(last) else { return nil }
            self = .rotated(notebook, version: version)
        case ("sealing", 2):
            guard let writer = Int(first), let second else { return nil }
            self = .sealing(writer: writer, second)
        case ("sealed", 3):
            guard let writer = Int(first), let second, let version = UInt32(last) else {
                return nil
            }
            self = .sealed(writer: writer, second, version: version)
        case ("destroying", 1), ("destroyed", 1):
            guard let notebook = ObjectID(first) else { return nil }
            self = kind == "destroying" ? .destroying(notebook) : .destroyed(notebook)
        default: return nil
        }
    }

    /// The line that represents the promise.
    var line: String {
        switch self {
        case .writing(let article, let state):
            "ack writing \(article) \(state.notebook) \(state.number)"
        case .written(let article, let number): "ack written \(article) \(number)"
        case .rotated(let notebook, let version): "ack rotated \(notebook) \(version)"
        case .sealing(let writer, let notebook): "ack sealing \(writer) \(notebook)"
        case .sealed(let writer, let notebook, let version):
            "ack sealed \(writer) \(notebook) \(version)"
        case .destroying(let notebook): "ack destroying \(notebook)"
        case .destroyed(let notebook): "ack destroyed \(notebook)"
        }
    }
}
