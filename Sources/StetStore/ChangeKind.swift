/// What a change does to an object.
public enum ChangeKind: UInt8, Sendable, Hashable, Codable {
    /// The object is new.
    case insert = 1
    /// Some of its properties have other values.
    case update = 2
    /// The object is gone.
    case delete = 3
}

/// Why a commit was made.
public enum Cause: Sendable, Hashable {
    /// An ordinary save.
    case edit
    /// The store was brought to other models.
    case migration

    package var number: UInt8 {
        switch self {
        case .edit: 1
        case .migration: 2
        }
    }

    package init(number: UInt8) throws(DecodingFailure) {
        switch number {
        case 1: self = .edit
        case 2: self = .migration
        default: throw DecodingFailure("a commit of an unknown cause")
        }
    }
}

/// What a person or program says about a commit: who made it, under what name.
package struct CommitAttributes: Hashable, Sendable {
    package var author: String?
    package var scope: String?
    package var label: String?
    /// What the commit does to the schema, encoded.
    package var migration: [UInt8]?

    package init(author: String? = nil, scope: String? = nil, label: String? = nil) {
        self.author = author
        self.scope = scope
        self.label = label
    }

    /// - Throws: `StoreError` (`.limitExceeded`).
    package func checkLimits() throws {
        let fields = [
            ("author", author, Limits.authorByteCount), ("scope", scope, Limits.authorByteCount),
            ("label", label, Limits.labelByteCount),
        ]
        for (name, text, limit) in fields {
            guard let count = text?.utf8.count, count > limit else { continue }
            throw StoreError(
                .limitExceeded,
                message: "The \(name) of a commit has \(count) bytes; the limit is \(limit).",
                advice: "Shorten it.")
        }
    }
}
