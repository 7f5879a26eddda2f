/// A durable subscription could not deliver, or could not be managed.
public enum SubscriptionError: Error, Hashable, Sendable {
    /// There is no subscription with this name: it was never made, or was removed.
    case notFound(name: String)
    /// Another owner has taken the subscription over, or it was moved, paused or removed meanwhile:
    /// nothing was written.
    ///
    /// An owner that is still alive goes on from where the subscription stands; only an
    /// acknowledgement that comes too late throws this.
    case lost(name: String)
    /// A delivery has failed as often as the policy allows. The subscription stands before it until
    /// it is resumed.
    case stopped(name: String, SubscriptionFailure)
    /// The name is empty, has a zero character, or has more than 255 bytes.
    case invalidName(String)
    /// A delivery was acknowledged or failed a second time.
    case alreadyDecided(name: String, Revision)
}

extension SubscriptionError: CustomStringConvertible {
    /// What is wrong, and what to do.
    public var description: String {
        switch self {
        case .notFound(let name):
            "There is no subscription \"\(name)\". Make it with subscribe(_:to:policy:)."
        case .lost(let name):
            "The subscription \"\(name)\" has moved on without this delivery: it was taken over, "
                + "paused, rewound or removed. The delivery comes again where it is still due."
        case .stopped(let name, let failure):
            "The subscription \"\(name)\" is stopped before commit \(failure.revision), which "
                + "could not be delivered in \(failure.count) attempts: \(failure.message). "
                + "Mend the cause and resume it, or rewind it past the commit."
        case .invalidName(let name):
            "\"\(name)\" cannot name a subscription: a name has 1 to 255 bytes, none of them zero."
        case .alreadyDecided(let name, let revision):
            "The delivery of commit \(revision) to \"\(name)\" was acknowledged, or has failed, "
                + "already. Decide each delivery once."
        }
    }
}
