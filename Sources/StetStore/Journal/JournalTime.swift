import StetLMDB

// The dates of commits. Clocks are wrong at times: those of several processes differ, they are set,
// and some show a year that is far away. So no date is taken as it comes, and dates may run
// backwards where a clock that was ahead is right again.

/// The date that a commit gets.
struct CommitDate {
    /// Seconds since 2001.
    let time: Double
    /// What is wrong with the clock that was asked, or was with an earlier one, for the log.
    var finding: String?

    /// Commits are dated like the one before them when the clock is no further behind, in seconds.
    static let tolerance = 86_400.0
    /// What a clock can show: from the year 1 to 9999, in seconds around 2001.
    static let range = -63_113_904_000.0...252_455_616_000.0
    /// No store is older than 2026.
    static let earliest = 788_918_400.0
}

extension Journal {
    /// The date of a commit after the last one.
    ///
    /// A time that no clock shows is replaced by the date of the last commit, and so is one that is
    /// before it, but for one case: when all commits that are dated after the clock are more than a
    /// day ahead of it, their clock was wrong, and the commit is dated by its own.
    func date(
        _ time: Double, after head: Head, in transaction: borrowing ReadTransaction
    ) throws -> CommitDate {
        guard CommitDate.range.contains(time) else {
            return CommitDate(
                time: head.time.isFinite ? head.time : 0, finding: "The clock shows no date.")
        }
        if time >= head.time { return CommitDate(time: time) }
        if head.time - time <= CommitDate.tolerance { return CommitDate(time: head.time) }
        let isClockRight: Bool
        if let before = try lastRevision(datedUntil: time, head, in: transaction) {
            let next = try envelope(before.next, in: transaction).time
            isClockRight = next - time > CommitDate.tolerance
        } else {
            isClockRight = time >= CommitDate.earliest
        }
        return isClockRight
            ? CommitDate(time: time, finding: "The clock of earlier commits was ahead.")
            : CommitDate(time: head.time, finding: "The clock is behind the last commit.")
    }

    /// The last commit that is dated no later than a time; nil for none.
    ///
    /// - Complexity: O(log commits) reads; for times before that of the last commit that is dated
    ///   before its predecessor, O(commits since).
    func lastRevision(
        datedUntil time: Double, _ head: Head, in transaction: borrowing ReadTransaction
    ) throws -> Revision? {
        let floor = try JournalFloor.read(in: transaction)
        let first = floor?.revision ?? .zero
        var known = max(first, head.lastBackdated)
        if known > first, try envelope(known, in: transaction).time > time {
            while known > first, try envelope(known, in: transaction).time > time {
                known = Revision(known.number - 1)
            }
        } else {
            var beyond = head.revision.next
            while known.next < beyond {
                let middle = Revision(known.number + (beyond.number - known.number) / 2)
                if try envelope(middle, in: transaction).time <= time {
                    known = middle
                } else {
                    beyond = middle
                }
            }
        }
        if known > first { return known }
        return floor.flatMap { $0.time <= time ? $0.revision : nil }
    }
}
