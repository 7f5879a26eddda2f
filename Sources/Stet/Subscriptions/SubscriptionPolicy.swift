/// The rules of a durable subscription for deliveries that fail, and for the history it keeps.
public struct SubscriptionPolicy: Hashable, Sendable {
    /// The end of a delivery whose attempts have all failed.
    public enum Exhaustion: Hashable, Sendable {
        /// The subscription stops before the delivery, and waits to be resumed.
        case stop
        /// The delivery is parked, with later ones that concern an object of it, and the others
        /// go on.
        case park
    }

    /// How often a delivery is attempted; at least once, and 5 times where nothing is said.
    public var attempts = 5
    /// The pause after the first failed attempt, 100 ms by default; each further one is twice as
    /// long.
    public var initialDelay = Duration.milliseconds(100)
    /// The longest pause, a minute by default.
    public var maximumDelay = Duration.seconds(60)
    /// The end of a delivery whose last attempt has failed, `.stop` by default.
    public var whenExhausted = Exhaustion.stop
    /// Whether the journal keeps what the subscription has not dealt with.
    ///
    /// Defaults to true. Such commits stay whatever the retention of the store is, and whoever
    /// trims it. With false a subscription that has fallen behind the journal's beginning throws
    /// `StoreError` (`.historyTrimmed`) until it is rewound.
    public var holdsHistory = true

    /// A policy with the default values.
    public init() {}

    /// Returns the pause after some failed attempts.
    ///
    /// The last half of it is random, so that consumers that failed together do not come back
    /// together.
    ///
    /// - Parameters:
    ///   - count: at least 1.
    ///   - random: from 0 to 1.
    /// - Returns: the pause.
    func delay(afterFailures count: Int, random: Double) -> Duration {
        // Beyond 2^30 times the first pause every pause is the longest.
        let doubled = initialDelay * (1 << min(max(count, 1) - 1, 30))
        return min(doubled, maximumDelay) * (0.5 + random / 2)
    }
}
