/// Why a query that could be read has no result.
public struct QueryError: Error, Hashable, Sendable {
    /// What the reason is; more may come.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name.
        public let rawValue: String
        /// A code of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A sum does not fit its type.
        public static let overflow = Code(rawValue: "overflow")
        /// The time for a stream is over.
        public static let deadlineExceeded = Code(rawValue: "deadlineExceeded")
        /// More objects meet the condition than may be changed at once.
        public static let tooMany = Code(rawValue: "tooMany")
        /// The cursor of a page belongs to another query.
        public static let invalidCursor = Code(rawValue: "invalidCursor")
    }

    /// What the reason is.
    public let code: Code
    /// What happened, for people.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension QueryError {
    static func overflow<Number>(_ type: Number.Type) -> QueryError {
        QueryError(.overflow, "The sum does not fit \(type).")
    }
}

extension QueryError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
