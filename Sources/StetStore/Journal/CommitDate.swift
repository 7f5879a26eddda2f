import StetLMDB

// The dates of commits. Clocks can be wrong: those of several processes differ, clocks are set, and
// some show a year that is far away. So a commit's time is not used as its date unchecked, and
// dates may decrease after a fast clock is corrected.

/// The date of a commit.
struct CommitDate {
    /// The time in seconds since 2001.
    let time: Double
    /// A sentence for the log about what is, or was, wrong with a clock; nil when nothing is.
    var finding: String?

    /// The difference, in seconds, up to which a clock that is behind gives commits the date of the
    /// previous one.
    static let tolerance = 86_400.0
    /// The times that a clock can show: the years 1 to 9999, in seconds since 2001.
    static let range = -63_113_904_000.0...252_455_616_000.0
    /// The earliest plausible time: no store is older than 2026.
    static let earliest = 788_918_400.0
}

extension Journal {
    /// Returns the date of a commit after the last one.
    ///
    /// An impossible time is replaced with the date of the last commit, and so is a time before
    /// that, with one exception: commits after a gap of more than a day in the dates that are ahead
    /// of the clock have been dated by a wrong clock. The commit keeps its own time, or gets the
    /// last date before the gap when that is later.
    func date(
        _ time: Double, after head: Head, in transaction: borrowing ReadTransaction
    ) throws -> CommitDate {
        guard CommitDate.range.contains(time) else {
            return CommitDate(
                time: head.time.isFinite ? head.time : 0, finding: "The clock shows no date.")
        }
        if time >= head.time { return CommitDate(time: time) }
        if head.time - time <= CommitDate.tolerance { return CommitDate(time: head.time) }
        let date: Double
        let isClockRight: Bool
        if let before = try lastRevision(
            datedUntil: time + CommitDate.tolerance, head, in: transaction)
        {
            date = max(time, before.time)
            let next = try envelope(before.revision.next, in: transaction).time
            isClockRight = min(next, head.time) - date > CommitDate.tolerance
        } else {
            date = time
            isClockRight = time >= CommitDate.earliest
        }
        return isClockRight
            ? CommitDate(time: date, finding: "The clock of earlier commits was ahead.")
            : CommitDate(time: head.time, finding: "The clock is behind the last commit.")
    }

    /// Returns the last commit that is dated no later than a time, with its date; nil for none.
    ///
    /// It may be the last trimmed one.
    ///
    /// - Complexity: O(log commits) reads; O(commits since) for times before the last commit that
    ///   is dated before its predecessor.
    func lastRevision(
        datedUntil time: Double, _ head: Head, in transaction: borrowing ReadTransaction
    ) throws -> (revision: Revision, time: Double)? {
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
        if known > first { return (known, try envelope(known, in: transaction).time) }
        return floor.flatMap { $0.time <= time ? ($0.revision, $0.time) : nil }
    }
}
