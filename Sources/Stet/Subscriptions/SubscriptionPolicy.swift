/// The rules of a durable subscription for failing deliveries, and for the history that it keeps.
public struct SubscriptionPolicy: Hashable, Sendable {
    /// The consequence when all attempts of a delivery have failed.
    public enum Exhaustion: Hashable, Sendable {
        /// The subscription stops before the delivery, and waits to be resumed.
        case stop
        /// The delivery is parked, together with later ones that concern an object of it; other
        /// deliveries continue.
        case park
    }

    /// The number of attempts of a delivery, at least 1; 5 by default.
    public var attempts = 5
    /// The pause after the first failed attempt, 100 ms by default; each further one is twice as
    /// long.
    public var initialDelay = Duration.milliseconds(100)
    /// The longest pause, a minute by default.
    public var maximumDelay = Duration.seconds(60)
    /// The consequence when the last attempt of a delivery has failed; `.stop` by default.
    public var whenExhausted = Exhaustion.stop
    /// Whether the journal keeps the commits that the subscription has not handled.
    ///
    /// Defaults to true. Such commits stay, regardless of the store's retention and of trims on
    /// request. If it is false, a subscription that has fallen behind the journal's beginning
    /// throws `StoreError` (`.historyTrimmed`) until it is rewound.
    public var holdsHistory = true

    /// Creates a policy with the default values.
    public init() {}

    /// Returns the pause after a number of failed attempts.
    ///
    /// The second half of it is random, so that consumers that failed together do not retry
    /// together.
    ///
    /// - Parameters:
    ///   - count: the number of failed attempts, at least 1.
    ///   - random: a random number from 0 to 1.
    /// - Returns: the pause.
    func delay(afterFailures count: Int, random: Double) -> Duration {
        // Limits the shift: from the 30th doubling on, the maximum delay applies anyway.
        let doubled = initialDelay * (1 << min(max(count, 1) - 1, 30))
        return min(doubled, maximumDelay) * (0.5 + random / 2)
    }
}
