// Uses the standard library's word boundaries and properties of characters.
@_spi(_Unicode) import Swift

/// Splits texts into words at Unicode's word boundaries (UAX #29), and folds each word.
///
/// A word is a part between two boundaries that contains a letter or a digit. Case and diacritics
/// are ignored, as by a `TextFolding` with both options; the result is in normal form C, and cut
/// off after `wordByteLimit` bytes. White space of ASCII always separates words.
///
/// It is deterministic: equal bytes have equal words, with the Unicode tables of one version.
package enum TextTokenizer {
    /// The greatest number of bytes of a folded word; longer words are equal if they begin alike.
    package static let wordByteLimit = 255
    /// The number of the rules and of the form of lists, which grows when they change.
    private static let rules: UInt16 = 2

    /// The version of the rules and of the Unicode tables in this process.
    ///
    /// An index of words is valid only with the version that it was built with.
    package static let version = rules << 8 | unicodeVersion

    /// The version of the Unicode tables in this process: the major version × 4 + the minor one.
    package static let unicodeVersion: UInt16 = {
        var newest: UInt16 = 0
        // Every version of Unicode has assigned characters to these planes.
        for number in UInt32(0)..<0x2_0000 {
            guard let age = Unicode.Scalar(number)?.properties.age else { continue }
            newest = max(newest, UInt16(age.major) << 2 | UInt16(min(age.minor, 3)))
        }
        return newest
    }()

    /// Calls `body` with each word of a text in UTF-8, folded, and with the offsets of its bytes in
    /// the text.
    package static func forEachWord(
        in text: UnsafeRawBufferPointer,
        _ body: (_ word: UnsafeRawBufferPointer, _ place: Range<Int>) -> Void
    ) {
        withUnsafeTemporaryAllocation(byteCount: wordByteLimit, alignment: 1) { folded in
            var start = 0
            while start < text.count {
                if text[start].isWhiteSpace {
                    start += 1
                    continue
                }
                var end = start
                var bits: UInt8 = 0
                while end < text.count, !text[end].isWhiteSpace {
                    bits |= text[end]
                    end += 1
                }
                if bits < 0x80 {
                    forEachWord(ofASCII: text, start..<end, folded, body)
                } else {
                    forEachWord(ofUnicode: text, start..<end, body)
                }
                start = end
            }
        }
    }

    /// Applies the rules of UAX #29 to ASCII, in which no character extends another.
    private static func forEachWord(
        ofASCII text: UnsafeRawBufferPointer, _ part: Range<Int>,
        _ folded: UnsafeMutableRawBufferPointer,
        _ body: (_ word: UnsafeRawBufferPointer, _ place: Range<Int>) -> Void
    ) {
        var start = part.lowerBound
        while start < part.upperBound {
            guard text[start].isInWord else {
                start += 1
                continue
            }
            var end = start
            var hasContent = false
            while end < part.upperBound {
                if text[end].isInWord {
                    hasContent = hasContent || text[end] != UInt8(ascii: "_")
                } else if end + 1 < part.upperBound,
                    text[end].joins(text[end - 1].kind, text[end + 1].kind)
                {
                    // Rules WB6, WB7, WB11 and WB12.
                } else {
                    break
                }
                end += 1
            }
            if hasContent {
                let count = min(end - start, folded.count)
                for offset in 0..<count { folded[offset] = text[start + offset].lowercased }
                body(UnsafeRawBufferPointer(rebasing: folded[..<count]), start..<end)
            }
            start = end
        }
    }

    private static func forEachWord(
        ofUnicode text: UnsafeRawBufferPointer, _ part: Range<Int>,
        _ body: (_ word: UnsafeRawBufferPointer, _ place: Range<Int>) -> Void
    ) {
        let string = String(decoding: text[part], as: UTF8.self)
        var start = string.startIndex
        var offset = part.lowerBound
        while start < string.endIndex {
            let end = string._wordIndex(after: start)
            let word = string[start..<end]
            let place = offset..<min(offset + word.utf8.count, part.upperBound)
            start = end
            offset = place.upperBound
            guard word.unicodeScalars.contains(where: \.isOfWord) else { continue }
            var folded = String(word).folded([.caseInsensitive, .diacriticInsensitive])
                .inNormalFormC
            folded.withUTF8 { bytes in
                let word = UnsafeRawBufferPointer(bytes).prefixOfScalars(wordByteLimit)
                if !word.isEmpty { body(word, place) }
            }
        }
    }
}

/// A kind of ASCII character among word boundaries.
private enum CharacterKind {
    case letter, digit, other
}

extension UInt8 {
    fileprivate var kind: CharacterKind {
        switch self {
        case 0x30...0x39: .digit
        case 0x41...0x5a, 0x61...0x7a: .letter
        default: .other
        }
    }

    /// True for letters, digits and the underscore of ASCII, each of which is a bit in one of two
    /// constants.
    fileprivate var isInWord: Bool {
        let bits: UInt64 = self < 64 ? 0x03ff_0000_0000_0000 : 0x07ff_fffe_87ff_fffe
        return bits >> UInt64(self & 63) & 1 == 1
    }

    fileprivate var lowercased: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }

    fileprivate var isWhiteSpace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }

    /// Returns whether the character belongs to a word between two letters or two digits.
    fileprivate func joins(_ before: CharacterKind, _ after: CharacterKind) -> Bool {
        switch self {
        case UInt8(ascii: "."), UInt8(ascii: "'"):
            before == after && (before == .letter || before == .digit)
        case UInt8(ascii: ":"): before == .letter && after == .letter
        case UInt8(ascii: ","), UInt8(ascii: ";"): before == .digit && after == .digit
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// True for letters and digits of all scripts.
    fileprivate var isOfWord: Bool {
        if properties.isAlphabetic { return true }
        switch properties.generalCategory {
        case .decimalNumber, .letterNumber, .otherNumber: return true
        default: return false
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the first bytes of UTF-8, without a part of a scalar at the end.
    fileprivate func prefixOfScalars(_ limit: Int) -> UnsafeRawBufferPointer {
        if count <= limit { return self }
        var end = limit
        while end > 0, self[end] & 0xc0 == 0x80 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[..<end])
    }
}
