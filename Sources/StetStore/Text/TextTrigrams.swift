// Uses the standard library's canonical decomposition.
@_spi(_Unicode) import Swift

/// The trigrams of the texts of one object: three scalars in succession in a folded text.
///
/// A text is folded scalar by scalar: each is decomposed, converted to upper and lower case, and
/// loses its marks. So the folded form of a part of a text is a part of its folded form, for every
/// equality that queries know: canonical equivalence, without case, without diacritics, or without
/// both. A text that contains another one has all of its trigrams; whether a text that has them
/// contains it must be tested.
package struct TextTrigrams: TextTerms {
    /// The number of the rules and of the form of lists, which grows when they change.
    private static let rules: UInt16 = 2

    /// The version of the rules and of the Unicode tables in this process.
    package static let version = rules << 8 | TextTokenizer.unicodeVersion

    /// The trigrams, ascending and each once: three scalars of 21 bits in each.
    package private(set) var trigrams: [UInt64] = []

    package init() {}

    /// Creates the trigrams of a text.
    package init(of text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    package var count: Int { trigrams.count }

    /// Adds the trigrams of a text in UTF-8.
    package mutating func append(_ text: UnsafeRawBufferPointer) {
        let scalars = Self.folded(text)
        guard scalars.count >= 3 else { return }
        trigrams.reserveCapacity(trigrams.count + scalars.count - 2)
        for start in 0..<scalars.count - 2 {
            trigrams.append(
                UInt64(scalars[start]) << 42 | UInt64(scalars[start + 1]) << 21
                    | UInt64(scalars[start + 2]))
        }
        trigrams.sort()
        var last: UInt64?
        trigrams.removeAll { trigram in
            defer { last = trigram }
            return trigram == last
        }
    }

    /// Returns a trigram in UTF-8, as a list of an index has it.
    package static func term(_ trigram: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        for shift in [42, 21, 0] {
            if let scalar = Unicode.Scalar(UInt32(trigram >> UInt64(shift) & 0x1f_ffff)) {
                bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        return bytes
    }

    /// Adds the postings, which have no bytes.
    package func append(
        to postings: inout TextPostings, _ number: Int, _ lists: inout TextLists
    ) {
        postings.order.removeAll(keepingCapacity: true)
        for trigram in trigrams {
            let list = Self.term(trigram).withUnsafeBytes { lists.number(number, $0) }
            postings.order.append(UInt64(list))
        }
        postings.order.sort()
        for list in postings.order { postings.append(Int(list)) { _ in } }
    }

    // MARK: Folding

    /// Returns the scalars of a folded text in UTF-8.
    package static func folded(_ text: UnsafeRawBufferPointer) -> [UInt32] {
        var scalars: [UInt32] = []
        scalars.reserveCapacity(text.count)
        if text.allSatisfy({ $0 < 0x80 }) {
            for byte in text { append(ASCII: byte, to: &scalars) }
            return scalars
        }
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                append(ASCII: UInt8(scalar.value), to: &scalars)
            } else {
                append(scalar, to: &scalars)
            }
        }
        return scalars
    }

    private static func append(ASCII byte: UInt8, to scalars: inout [UInt32]) {
        // U+0000 ends a trigram in the key of a list.
        if byte == 0 { return }
        scalars.append(UInt32((0x41...0x5a).contains(byte) ? byte | 0x20 : byte))
    }

    private static func append(_ scalar: Unicode.Scalar, to scalars: inout [UInt32]) {
        var text = String(String.UnicodeScalarView(String(scalar)._nfd))
        // Twice, because a capital sharp s becomes a small one, and that two letters.
        for _ in 0..<2 { text = text.uppercased().lowercased() }
        for scalar in text.unicodeScalars where scalar.isIndexed { scalars.append(scalar.value) }
    }
}

extension Unicode.Scalar {
    /// False for marks, and for the iota, which is a mark below a letter in some texts and a letter
    /// in the same texts without case.
    fileprivate var isIndexed: Bool {
        properties.canonicalCombiningClass.rawValue == 0 && value != 0x3b9 && value != 0
    }
}
