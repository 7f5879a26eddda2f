/// Which commits a store keeps in its journal.
///
/// The state is kept in any case; what goes is the history before the oldest kept commit, and with
/// it the undo of those commits. The store trims by itself, between commits, on the thread that
/// commits: about every 30 seconds while it is saved to or observed, a few commits at a time, and
/// only while nobody waits to save. So no save waits for it, and more than what is to be kept may
/// be there for a while.
///
/// An age is counted from the date of one commit to that of the next. A pause that is longer than
/// a quarter of the age, and than a week, does not count: a clock that has jumped ahead would empty
/// the journal. Commits that are older by their dates alone stay, which the log tells once, until
/// `requestTrim` removes them, or the age has passed since.
///
/// Each process trims by what it was told, so of several the shortest decides. Within a process it
/// is that of the one who opened the store first; who opens it with another one is warned in the
/// log.
public enum Retention: Hashable, Sendable {
    /// All of them.
    case forever
    /// Those that are no older than this.
    case age(Duration)
    /// The last ones, this many.
    case count(Int)

    /// The longest time between two dates that counts for an age, in seconds.
    var longestPause: Double {
        let week = 7 * 86_400.0
        return if case .age(let age) = self { max(age.seconds / 4, week) } else { week }
    }

    /// A number for the case, and its value in 8 bytes.
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
