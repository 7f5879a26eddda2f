/// The error of a durable subscription that could not deliver, or could not be managed: what
/// failed, and what to do.
public struct SubscriptionError: Error, Hashable, Sendable {
    /// The kind of an error.
    ///
    /// Later versions may add codes; compare with the codes that you handle.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// There is no subscription with this name: it was never made, or was removed.
        public static let notFound = Code(rawValue: "notFound")
        /// Another owner has taken over the subscription, or it was moved, paused or removed in
        /// between; nothing was written.
        ///
        /// An owner that is still alive continues from the stored position; only a late
        /// acknowledgement throws this error.
        public static let lost = Code(rawValue: "lost")
        /// All attempts of a delivery that the policy allows have failed.
        ///
        /// The subscription stays before that delivery until it is resumed.
        public static let stopped = Code(rawValue: "stopped")
        /// The name is empty, contains a zero character, or has more than 255 bytes.
        public static let invalidName = Code(rawValue: "invalidName")
        /// A delivery was acknowledged or reported as failed a second time.
        public static let alreadyDecided = Code(rawValue: "alreadyDecided")
    }

    /// The kind of the error.
    public let code: Code
    /// The name of the subscription.
    public let name: String
    /// The failures that have stopped the subscription; nil for other codes.
    public let failure: SubscriptionState.Failure?
    /// A sentence that says what failed.
    public let message: String
    /// A sentence that says what to do about it.
    public let advice: String

    private init(
        _ code: Code, _ name: String, _ failure: SubscriptionState.Failure? = nil, message: String,
        advice: String
    ) {
        self.code = code
        self.name = name
        self.failure = failure
        self.message = message
        self.advice = advice
    }
}

extension SubscriptionError {
    package static func notFound(name: String) -> SubscriptionError {
        SubscriptionError(
            .notFound, name, message: "There is no subscription \"\(name)\".",
            advice: "Make it with subscribe(_:to:policy:).")
    }

    package static func lost(name: String) -> SubscriptionError {
        SubscriptionError(
            .lost, name,
            message: "The subscription \"\(name)\" has moved on without this delivery: it was "
                + "taken over, paused, rewound or removed.",
            advice: "The delivery will be repeated when it is next due.")
    }

    package static func stopped(name: String, _ failure: SubscriptionState.Failure)
        -> SubscriptionError
    {
        SubscriptionError(
            .stopped, name, failure,
            message: "The subscription \"\(name)\" is stopped before commit \(failure.revision), "
                + "which could not be delivered in \(failure.count) attempts: \(failure.message).",
            advice: "Mend the cause and resume it, or rewind it past the commit.")
    }

    package static func invalidName(_ name: String) -> SubscriptionError {
        SubscriptionError(
            .invalidName, name, message: "\"\(name)\" cannot name a subscription.",
            advice: "A name has 1 to 255 bytes, none of them zero.")
    }

    package static func alreadyDecided(name: String, _ revision: Revision) -> SubscriptionError {
        SubscriptionError(
            .alreadyDecided, name,
            message: "The delivery of commit \(revision) to \"\(name)\" was acknowledged, or has "
                + "failed, already.",
            advice: "Decide each delivery once.")
    }
}

extension SubscriptionError: CustomStringConvertible {
    /// The message and the advice.
    public var description: String { "\(message) \(advice)" }
}
