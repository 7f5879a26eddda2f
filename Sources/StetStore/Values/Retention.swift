/// The rule for the commits that a store keeps in its journal.
///
/// The state is always kept; the history before the oldest kept commit is removed, and with it the
/// undo of those commits. The store trims automatically, between commits, on the thread that
/// commits: about every 30 seconds while it is saved to or observed, a few commits at a time, and
/// only while no save waits. So no save waits for a trim, and the journal may contain more than the
/// rule requires for a while.
///
/// An age is the sum of the times between the dates of consecutive commits. A pause that is longer
/// than a quarter of the age, and than a week, does not count: a clock that has jumped ahead would
/// empty the journal. Commits that are outdated only if such a pause counts are kept, which is
/// logged once, until `requestTrim` removes them, or the age has passed since the pause.
///
/// Each process trims by its own rule, so the shortest one decides. Within a process the rule of
/// the first to open the store applies; opening it with another rule logs a warning.
///
/// ```swift
/// var configuration = Store.Configuration()
/// configuration.retention = .age(.seconds(90 * 86_400))
/// ```
public enum Retention: Hashable, Sendable {
    /// Keeps all commits.
    case forever
    /// Keeps the commits that are not older than a duration.
    case age(Duration)
    /// Keeps a number of commits, the last ones.
    case count(Int)

    /// The longest time between two dates that counts for an age, in seconds.
    var longestPause: Double {
        let week = 7 * 86_400.0
        return if case .age(let age) = self { max(age.seconds / 4, week) } else { week }
    }

    /// The number of the case, and its value in 8 bytes.
    var encoded: (kind: UInt8, word: UInt64) {
        switch self {
        case .forever: (0, 0)
        case .age(let age): (1, age.seconds.bitPattern)
        case .count(let count): (2, UInt64(max(count, 0)))
        }
    }

    init(number kind: UInt8, word: UInt64) throws(DecodingFailure) {
        switch kind {
        case 0 where word == 0: self = .forever
        case 1 where (0..<1e12).contains(Double(bitPattern: word)):
            self = .age(.seconds(Double(bitPattern: word)))
        case 2 where word <= UInt64(Int.max): self = .count(Int(word))
        default: throw DecodingFailure("a retention that is none")
        }
    }
}
