import FoundationEssentials
import StetStore

// Dates as text, exactly: reading the text gives the same bits.

extension Date {
    private static let suffix = " s since 2001"

    /// The date in ISO 8601, in UTC, with all digits of the fraction; if that is not exact, as
    /// outside the years 1 to 9999, the seconds since 2001.
    var exactText: String {
        let seconds = timeIntervalSinceReferenceDate
        let plain = "\(seconds.exactText)\(Self.suffix)"
        guard seconds >= -63_113_904_000, seconds < 252_423_993_600 else { return plain }
        let whole = seconds.rounded(.down)
        let digits = "\(abs(seconds))".split(separator: ".")
        guard digits.count == 2, let fraction = Self.fraction(digits[1], isNegative: seconds < 0)
        else { return plain }
        let text =
            timeText(whole, withMilliseconds: false).dropLast()
            + (fraction.isEmpty ? "" : ".\(fraction)") + "Z"
        // Compares bits, because -0 equals 0.
        return Date(exactText: String(text))?.timeIntervalSinceReferenceDate.bitPattern
            == seconds.bitPattern ? String(text) : plain
    }

    /// Returns the digits after the point, counted upwards from the previous second.
    private static func fraction(_ digits: Substring, isNegative: Bool) -> String? {
        guard let number = UInt64(digits), digits.count < 19 else { return nil }
        if number == 0 { return "" }
        guard isNegative else { return String(digits) }
        let one = (0..<digits.count).reduce(into: UInt64(1)) { power, _ in power *= 10 }
        let complement = String(one - number)
        return String(repeating: "0", count: digits.count - complement.count) + complement
    }

    /// Parses an `exactText`, or any date in ISO 8601, with an optional time, in UTC unless it
    /// contains another offset.
    init?(exactText text: String) {
        if text.hasSuffix(Self.suffix) {
            guard let seconds = Double(exactText: String(text.dropLast(Self.suffix.count))) else {
                return nil
            }
            self.init(timeIntervalSinceReferenceDate: seconds)
            return
        }
        var reader = DateReader(text)
        guard let seconds = reader.seconds() else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
}

/// Reads a date in ISO 8601.
private struct DateReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func seconds() -> Double? {
        guard let year = number(4), year > 0, take("-"), let month = number(2),
            (1...12).contains(month), take("-"), let day = number(2),
            (1...Self.dayCount(year, month)).contains(day)
        else { return nil }
        var seconds = Self.days(year, month, day) * 86_400
        if rest.isEmpty { return Double(seconds) }
        guard take("T") || take(" "), let time = time() else { return nil }
        seconds += time
        let fraction = fraction()
        guard let fraction, let offset = offset(), rest.isEmpty else { return nil }
        return Self.sum(seconds - offset, fraction)
    }

    private mutating func time() -> Int? {
        guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60
        else { return nil }
        guard take(":") else { return hour * 3_600 + minute * 60 }
        guard let second = number(2), second < 60 else { return nil }
        return hour * 3_600 + minute * 60 + second
    }

    /// Returns the digits after the point; empty when there is none.
    private mutating func fraction() -> String? {
        guard take(".") else { return "" }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard (1...18).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return String(Substring(digits))
    }

    /// Returns the number of seconds by which the time is ahead of UTC.
    private mutating func offset() -> Int? {
        if rest.isEmpty || take("Z") { return 0 }
        let isBehind = take("-")
        guard isBehind || take("+"), let hours = number(2), hours < 24 else { return nil }
        _ = take(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return (isBehind ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Returns the sum of seconds and fraction, computed in decimal digits, because a sum of
    /// doubles would round twice.
    private static func sum(_ seconds: Int, _ fraction: String) -> Double? {
        guard !fraction.isEmpty, let digits = Int128(fraction) else { return Double(seconds) }
        let one = (0..<fraction.count).reduce(into: Int128(1)) { power, _ in power *= 10 }
        let total = Int128(seconds) * one + digits
        let (whole, part) = total.magnitude.quotientAndRemainder(dividingBy: one.magnitude)
        let padded = String(String(one.magnitude + part).dropFirst())
        return Double("\(total < 0 ? "-" : "")\(whole).\(padded)")
    }

    private static func dayCount(_ year: Int, _ month: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the days since 2001-01-01 in the Gregorian calendar; years begin in March, so that
    /// the leap day is the last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 730_791
    }
}
