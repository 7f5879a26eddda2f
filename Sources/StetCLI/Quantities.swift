// Quantities as text for people; JSON has the plain numbers.

/// Returns a number of bytes in binary units, with three digits: "171 MiB", "1.50 KiB", "12 bytes".
func byteCountText(_ byteCount: Int) -> String {
    if byteCount < 1_024 { return byteCount == 1 ? "1 byte" : "\(byteCount) bytes" }
    var amount = Double(byteCount) / 1_024
    var units = ["KiB", "MiB", "GiB", "TiB", "PiB"][...]
    // What would be rounded to 1024 is 1 of the next unit.
    while amount >= 1_023.5, units.count > 1 {
        amount /= 1_024
        units.removeFirst()
    }
    return "\(threeDigits(amount)) \(units[units.startIndex])"
}

/// Returns a duration in the unit that suits it: "41 ms", "1.20 s", "3 min 5 s".
func durationText(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let milliseconds = Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    if milliseconds < 1_000 { return "\(milliseconds) ms" }
    if seconds < 60 { return "\(threeDigits(Double(milliseconds) / 1_000)) s" }
    return "\(seconds / 60) min \(seconds % 60) s"
}

/// Returns a number from 1 to 1023 with three digits, or with all those before the point.
private func threeDigits(_ number: Double) -> String {
    let places = number < 9.995 ? 2 : number < 99.95 ? 1 : 0
    let scale = [1, 10, 100][places]
    let digits = Int((number * Double(scale)).rounded())
    if places == 0 { return "\(digits)" }
    let fraction = String(digits % scale)
    let zeros = String(repeating: "0", count: places - fraction.count)
    return "\(digits / scale).\(zeros)\(fraction)"
}
