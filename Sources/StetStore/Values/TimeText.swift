/// Returns a time in ISO 8601, in UTC; outside the years 1 to 9999, the seconds since 2001.
///
/// Foundation changes to the Julian calendar before 1582, which ISO 8601 does not.
package func timeText(_ seconds: Double, withMilliseconds: Bool = false) -> String {
    guard seconds >= -63_113_904_000, seconds < 252_423_993_600 else {
        return "\(seconds) s since 2001"
    }
    let milliseconds = Int((seconds * 1_000).rounded(.down))
    let (day, rest) = milliseconds.flooredDivision(by: 86_400_000)
    let date = civilDate(day)
    func text(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let fraction = withMilliseconds ? "." + text(rest % 1_000, 3) : ""
    return "\(text(date.year, 4))-\(text(date.month, 2))-\(text(date.day, 2))T"
        + "\(text(rest / 3_600_000, 2)):\(text(rest / 60_000 % 60, 2)):"
        + "\(text(rest / 1_000 % 60, 2))\(fraction)Z"
}

/// Returns the date of a day, counted from 2001-01-01, in the Gregorian calendar, however early.
private func civilDate(_ day: Int) -> (year: Int, month: Int, day: Int) {
    // Years start in March, so that the leap day comes last. A cycle of 400 years starts on
    // 2000-03-01.
    let (cycle, dayOfCycle) = (day + 306).flooredDivision(by: 146_097)
    let yearOfCycle =
        (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
    let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = 2_000 + cycle * 400 + yearOfCycle + (month >= 10 ? 1 : 0)
    return (year, month >= 10 ? month - 9 : month + 3, dayOfYear - (153 * month + 2) / 5 + 1)
}

extension Int {
    fileprivate func flooredDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
