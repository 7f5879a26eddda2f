import FoundationEssentials

// Numbers as text, exactly: reading the text gives the same bits.

extension Double {
    /// The shortest digits that identify the number; the bits of an unusual NaN.
    var exactText: String {
        text(isUsual: bitPattern == Double.nan.bitPattern, bits: bitPattern)
    }

    /// Parses an `exactText`, or any decimal number.
    init?(exactText text: String) {
        self.init(numberText: text) { Double(bitPattern: $0) }
    }
}

extension Float {
    /// The text as for a `Double`.
    var exactText: String {
        text(isUsual: bitPattern == Float.nan.bitPattern, bits: UInt64(bitPattern))
    }

    /// Parses an `exactText`, or any decimal number.
    init?(exactText text: String) {
        self.init(numberText: text) { UInt32(exactly: $0).map(Float.init(bitPattern:)) }
    }
}

extension Decimal {
    /// Parses a whole decimal number; other text is refused even if it begins with one.
    init?(exactText text: String) {
        if text == "NaN" {
            self = .nan
        } else if text.isDecimalNumber, let number = Decimal(string: text) {
            self = number
        } else {
            return nil
        }
    }
}

extension BinaryFloatingPoint {
    fileprivate func text(isUsual: Bool, bits: UInt64) -> String {
        if isNaN { return isUsual ? "NaN" : "NaN(0x\(String(bits, radix: 16)))" }
        return isInfinite ? (self < 0 ? "-Infinity" : "Infinity") : "\(self)"
    }
}

extension BinaryFloatingPoint where Self: LosslessStringConvertible {
    fileprivate init?(numberText text: String, _ number: (UInt64) -> Self?) {
        switch text {
        case "NaN": self = .nan
        case "Infinity": self = .infinity
        case "-Infinity": self = -.infinity
        case _ where text.hasPrefix("NaN(0x") && text.hasSuffix(")"):
            guard let bits = UInt64(text.dropFirst(6).dropLast(), radix: 16),
                let value = number(bits), value.isNaN
            else { return nil }
            self = value
        default:
            guard text.isDecimalNumber, let value = Self(text), value.isFinite else { return nil }
            self = value
        }
    }
}

extension String {
    /// True for digits with an optional sign, point and exponent.
    var isDecimalNumber: Bool {
        var rest = utf8[...]
        func takeDigits() -> Int {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest.dropFirst(digits.count)
            return digits.count
        }
        func take(_ signs: String) -> Bool {
            guard let byte = rest.first, signs.utf8.contains(byte) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = take("+-")
        guard takeDigits() > 0, !take(".") || takeDigits() > 0 else { return false }
        if take("eE") {
            _ = take("+-")
            // More digits exceed the range of every type, and the limits of the parsers.
            guard (1...4).contains(takeDigits()) else { return false }
        }
        return rest.isEmpty
    }
}
