/// A text to search for in others, character by character, with the comparison of `String`.
///
/// Most texts do not contain it, which their bytes show sooner than characters. A search that
/// ignores case compares the bytes of letters of ASCII without their case.
struct TextPattern {
    private let search: QueryNode.TextSearch
    private let folding: TextFolding
    private let text: String
    private let bytes: [UInt8]
    /// The bits that do not count in each byte; those of case have to be set in `bytes`.
    private let ignored: [UInt8]
    private let isASCII: Bool

    /// Creates a pattern; with a folding it is searched for in folded texts.
    init(_ search: QueryNode.TextSearch, _ text: String, _ folding: TextFolding = []) {
        self.search = search
        self.folding = folding
        self.text = text.folded(folding).inNormalFormC
        bytes = Array(self.text.utf8)
        isASCII = bytes.withUnsafeBytes(\.isASCII)
        ignored = bytes.map { byte in
            folding.contains(.caseInsensitive) && (0x61...0x7A).contains(byte) ? 0x20 : 0
        }
    }

    /// Returns whether a text contains the pattern.
    func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { matches(UnsafeRawBufferPointer($0), isNormalized: false) }
    }

    /// Returns whether a text contains the pattern.
    ///
    /// In normal form C, equal characters have equal bytes; if a match may not begin and end at
    /// character boundaries, the characters are compared.
    func matches(_ text: UnsafeRawBufferPointer, isNormalized: Bool) -> Bool {
        if bytes.isEmpty { return true }
        let bytesDecide = folding.isEmpty && isNormalized
        if isASCII || bytesDecide {
            guard let start = find(in: text) else {
                if bytesDecide || text.isASCIIOnlyWhereFolded(folding) { return false }
                return matches(characters: text)
            }
            if text.isBoundary(start), text.isBoundary(start + bytes.count) { return true }
        } else if text.isASCII {
            return false
        }
        return matches(characters: text)
    }

    /// Returns the first offset of the bytes; nil when there is none.
    private func find(in text: UnsafeRawBufferPointer) -> Int? {
        guard text.count >= bytes.count, let base = text.baseAddress else { return nil }
        switch search {
        case .prefix: return isMatch(base) ? 0 : nil
        case .suffix:
            let start = text.count - bytes.count
            return isMatch(base + start) ? start : nil
        case .anywhere: return findAnywhere(in: text, base)
        }
    }

    @inline(__always)
    private func isMatch(_ start: UnsafeRawPointer) -> Bool {
        for place in bytes.indices
        where (start + place).load(as: UInt8.self) | ignored[place] != bytes[place] {
            return false
        }
        return true
    }

    /// Searches for the first and the last byte at their distance, at sixteen offsets at once, and
    /// then for those between.
    private func findAnywhere(in text: UnsafeRawBufferPointer, _ base: UnsafeRawPointer) -> Int? {
        let last = bytes.count - 1
        let end = text.count - last
        typealias Block = SIMD16<UInt8>
        guard end >= Block.scalarCount else { return (0..<end).first { isMatch(base + $0) } }
        let (firsts, lasts) = (Block(repeating: bytes[0]), Block(repeating: bytes[last]))
        let ignoredOfFirsts = Block(repeating: ignored[0])
        let ignoredOfLasts = Block(repeating: ignored[last])
        var start = 0
        while start < end {
            // The last offsets are tested together, some of them again.
            start = Swift.min(start, end - Block.scalarCount)
            let block = (base + start).loadUnaligned(as: Block.self) | ignoredOfFirsts
            let behind = (base + start + last).loadUnaligned(as: Block.self) | ignoredOfLasts
            // Zero where both bytes match the pattern.
            let difference = (block ^ firsts) | (behind ^ lasts)
            if difference.hasZero {
                for place in 0..<Block.scalarCount
                where difference[place] == 0 && isMatch(base + start + place) {
                    return start + place
                }
            }
            start += Block.scalarCount
        }
        return nil
    }

    private func matches(characters text: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: text, as: UTF8.self).folded(folding).inNormalFormC
        switch search {
        case .prefix: return text.starts(with: self.text)
        case .suffix: return text.reversed().starts(with: self.text.reversed())
        case .anywhere:
            guard let first = self.text.first else { return true }
            var rest = text[...]
            while let start = rest.firstIndex(of: first) {
                rest = rest[start...]
                if rest.starts(with: self.text) { return true }
                rest.removeFirst()
            }
            return false
        }
    }
}

extension SIMD16<UInt8> {
    /// Whether one of the bytes is 0.
    fileprivate var hasZero: Bool {
        let words = unsafeBitCast(self .== SIMD16(repeating: 0), to: SIMD2<UInt64>.self)
        return words[0] | words[1] != 0
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether folding the text gives no ASCII but that of its ASCII; may be false where
    /// it gives none.
    ///
    /// Without regard to case, few scalars give ASCII, such as the Kelvin sign and ß. They are
    /// not among those that begin with the bytes below, which most other texts consist of: of
    /// Latin 1 but ß, Greek to Arabic, punctuation, the scripts of East Asia, and emoji.
    fileprivate func isASCIIOnlyWhereFolded(_ folding: TextFolding) -> Bool {
        var place = beyondASCII(from: 0)
        if place < count, folding != .caseInsensitive { return false }
        while place < count {
            let second = place + 1 < count ? self[place + 1] : 0
            switch (self[place], second) {
            case (0xC3, 0x9F): return false
            case (0xC2...0xC3, _), (0xCE...0xDF, _): place += 2
            case (0xE2, 0x80), (0xE3...0xED, _): place += 3
            case (0xF0, _): place += 4
            default: return false
            }
            if place < count, self[place] < 0x80 { place = beyondASCII(from: place) }
        }
        return true
    }

    /// Returns whether a character of a text certainly begins here: between ASCII bytes, but not
    /// within CR LF.
    fileprivate func isBoundary(_ offset: Int) -> Bool {
        if offset == 0 || offset == count { return true }
        let (before, after) = (self[offset - 1], self[offset])
        return before < 0x80 && after < 0x80 && !(before == 13 && after == 10)
    }
}

extension String {
    /// Returns the common form of all texts that a folding does not distinguish.
    package func folded(_ folding: TextFolding) -> String {
        guard !folding.isEmpty, case .string(let text) = Value.string(self).folded(folding) else {
            return self
        }
        return text
    }
}
