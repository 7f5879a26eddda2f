import Glibc

/// A text to search for in others, character by character, with the comparison of `String`.
struct TextPattern {
    private let search: QueryNode.TextSearch
    private let folding: TextFolding
    private let text: String
    private let bytes: [UInt8]

    /// Creates a pattern; with a folding it is searched for in folded texts.
    init(_ search: QueryNode.TextSearch, _ text: String, _ folding: TextFolding = []) {
        self.search = search
        self.folding = folding
        self.text = text.folded(folding).inNormalFormC
        bytes = Array(self.text.utf8)
    }

    /// Returns whether a text contains the pattern.
    ///
    /// Most texts do not, which their bytes show sooner than characters.
    func matches(_ text: String) -> Bool {
        var text = text.folded(folding).inNormalFormC
        return text.withUTF8 { matchesNormalized(UnsafeRawBufferPointer($0)) }
            ?? matches(characters: text)
    }

    /// Returns whether a text contains the pattern.
    ///
    /// In normal form C, equal characters have equal bytes; if a match may not begin and end at
    /// character boundaries, the characters are compared.
    func matches(_ text: UnsafeRawBufferPointer, isNormalized: Bool) -> Bool {
        if !folding.isEmpty { return matchesFolded(text) }
        guard isNormalized else { return matches(String(decoding: text, as: UTF8.self)) }
        return matchesNormalized(text)
            ?? matches(characters: String(decoding: text, as: UTF8.self))
    }

    /// Returns whether a text in normal form C matches; nil when its characters must be compared.
    private func matchesNormalized(_ text: UnsafeRawBufferPointer) -> Bool? {
        if bytes.isEmpty { return true }
        guard let start = find(in: text) else { return false }
        return text.isBoundary(start) && text.isBoundary(start + bytes.count) ? true : nil
    }

    /// Returns whether a folded text matches; folding ASCII only converts to lowercase.
    private func matchesFolded(_ text: UnsafeRawBufferPointer) -> Bool {
        let isCaseFolded = folding.contains(.caseInsensitive)
        let answer: Bool?? = withUnsafeTemporaryAllocation(
            byteCount: text.count, alignment: 1
        ) { folded in
            if !text.foldASCII(into: folded, isCaseFolded: isCaseFolded) { return nil }
            return .some(matchesNormalized(UnsafeRawBufferPointer(folded)))
        }
        if case .some(.some(let answer)) = answer { return answer }
        return matches(String(decoding: text, as: UTF8.self))
    }

    /// Returns the first offset of the bytes; nil when there is none.
    private func find(in text: UnsafeRawBufferPointer) -> Int? {
        guard text.count >= bytes.count, let base = text.baseAddress else { return nil }
        return bytes.withUnsafeBytes { bytes -> Int? in
            switch search {
            case .prefix:
                return memcmp(base, bytes.baseAddress!, bytes.count) == 0 ? 0 : nil
            case .suffix:
                let start = text.count - bytes.count
                return memcmp(base + start, bytes.baseAddress!, bytes.count) == 0 ? start : nil
            case .anywhere: return findAnywhere(in: text, base, bytes)
            }
        }
    }

    /// Searches for the first and the last byte at their distance, at sixteen offsets at once, and
    /// then for those between.
    private func findAnywhere(
        in text: UnsafeRawBufferPointer, _ base: UnsafeRawPointer, _ bytes: UnsafeRawBufferPointer
    ) -> Int? {
        let last = bytes.count - 1
        let end = text.count - last
        func isMatch(_ start: Int) -> Bool {
            memcmp(base + start, bytes.baseAddress!, bytes.count) == 0
        }
        typealias Block = SIMD16<UInt8>
        let firsts = Block(repeating: bytes[0])
        let lasts = Block(repeating: bytes[last])
        guard end >= Block.scalarCount else {
            return (0..<end).first { text[$0] == bytes[0] && isMatch($0) }
        }
        var start = 0
        while start < end {
            // The last offsets are tested together, some of them again.
            start = Swift.min(start, end - Block.scalarCount)
            let block = (base + start).loadUnaligned(as: Block.self)
            let behind = (base + start + last).loadUnaligned(as: Block.self)
            // Zero where both bytes match the pattern.
            let difference = (block ^ firsts) | (behind ^ lasts)
            if difference.hasZero {
                for place in 0..<Block.scalarCount
                where difference[place] == 0 && isMatch(start + place) { return start + place }
            }
            start += Block.scalarCount
        }
        return nil
    }

    private func matches(characters text: String) -> Bool {
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

    /// Whether all of the bytes are ASCII.
    fileprivate var isASCII: Bool {
        let words = unsafeBitCast(self, to: SIMD2<UInt64>.self)
        return (words[0] | words[1]) & 0x8080_8080_8080_8080 == 0
    }
}

extension UnsafeRawBufferPointer {
    /// Copies ASCII text, in lowercase if `isCaseFolded`; returns false for other text.
    fileprivate func foldASCII(
        into folded: UnsafeMutableRawBufferPointer, isCaseFolded: Bool
    ) -> Bool {
        guard let source = baseAddress, let target = folded.baseAddress else { return true }
        typealias Block = SIMD16<UInt8>
        let span = isCaseFolded ? UInt8(26) : 0
        guard count >= Block.scalarCount else {
            for (place, byte) in enumerated() {
                if byte >= 0x80 { return false }
                folded[place] = byte &- 0x41 < span ? byte | 0x20 : byte
            }
            return true
        }
        var start = 0
        while start < count {
            // The last bytes are copied together, some of them again.
            start = Swift.min(start, count - Block.scalarCount)
            let block = (source + start).loadUnaligned(as: Block.self)
            if !block.isASCII { return false }
            let isCapital = (block &- 0x41) .< Block(repeating: span)
            (target + start).storeBytes(
                of: block.replacing(with: block | 0x20, where: isCapital), as: Block.self)
            start += Block.scalarCount
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
