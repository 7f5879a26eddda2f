import StetStore

/// The error of a query that has no result although the store could be read.
public struct QueryError: Error, Hashable, Sendable {
    /// The code of a query error; later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code.
        public let rawValue: String
        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A sum does not fit its type.
        public static let overflow = Code(rawValue: "overflow")
        /// The deadline of a query, a read or a stream has passed.
        public static let deadlineExceeded = Code(rawValue: "deadlineExceeded")
        /// More objects satisfy the condition than may be changed at once.
        public static let tooMany = Code(rawValue: "tooMany")
        /// The cursor of a page belongs to another query.
        public static let invalidCursor = Code(rawValue: "invalidCursor")
        /// A page is in the order of a hidden property, whose value a cursor would contain.
        public static let hiddenOrder = Code(rawValue: "hiddenOrder")
    }

    /// The code of the error.
    public let code: Code
    /// A sentence for people that says what happened.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ReadLimit {
    /// Ends reads at a deadline, and when their task is cancelled.
    static func until(_ deadline: ContinuousClock.Instant?) -> ReadLimit {
        ReadLimit {
            try Task.checkCancellation()
            if let deadline, ContinuousClock.now > deadline {
                throw QueryError(.deadlineExceeded, "The time for the read is over.")
            }
        }
    }
}

extension QueryError {
    static func overflow<Number>(_ type: Number.Type) -> QueryError {
        QueryError(.overflow, "The sum does not fit \(type).")
    }

    static var invalidCursor: QueryError {
        QueryError(
            .invalidCursor, "The cursor belongs to another query: begin with the first page.")
    }

    /// The error of a page of `name` in the order of a hidden property.
    static func hiddenOrder(_ name: String, _ property: String) -> QueryError {
        QueryError(
            .hiddenOrder,
            "\(name) can't be paged in the order of \(property), which is hidden: the "
                + "cursor would contain its value. Sort by another property.")
    }
}

extension QueryError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
