/// The words of the searchable attributes of one object.
package struct TextWords: TextTerms {
    /// A word; its attribute is the place among those of the index.
    private struct Word {
        let start: Int
        let end: Int
        let attribute: Int
        let position: Int
        /// The bytes of the word in the text of the attribute.
        let place: Range<Int>
    }

    private var bytes: [UInt8] = []
    private var words: [Word] = []

    package init() {}

    /// The number of words in all attributes.
    package var count: Int { words.count }

    /// Adds the words of an attribute, which follows those before it.
    package mutating func append(_ text: UnsafeRawBufferPointer, attribute: Int) {
        var position = 0
        TextTokenizer.forEachWord(in: text) { word, place in
            let start = bytes.count
            bytes.append(contentsOf: word)
            words.append(
                Word(
                    start: start, end: bytes.count, attribute: attribute, position: position,
                    place: place))
            position += 1
        }
    }

    /// Adds the number of occurrences of a phrase in each attribute to `counts`.
    package func count(_ phrase: TextPhrase, _ counts: inout [Int]) {
        if phrase.distance == nil {
            for start in words.indices where hasSideBySide(phrase, at: start) {
                counts[words[start].attribute] += 1
            }
        } else {
            for start in TextNearness.starts(occurrences(of: phrase), span: phrase.span) {
                counts[start >> TextNearness.positionBits] += 1
            }
        }
    }

    /// Returns the bytes of the text at which the words of a phrase occur, in order, each once; for
    /// the words of one attribute.
    package func places(of phrase: TextPhrase) -> [Range<Int>] {
        if phrase.distance == nil {
            var found: Set<Int> = []
            for start in words.indices where hasSideBySide(phrase, at: start) {
                found.formUnion(start..<start + phrase.words.count)
            }
            return found.sorted().map { words[$0].place }
        }
        let lists = occurrences(of: phrase)
        let starts = TextNearness.starts(lists, span: phrase.span)
        let found = TextNearness.places(lists, from: starts, span: phrase.span)
        // Of one attribute, so that the position of a word is its index.
        return found.map { words[$0].place }
    }

    /// The bytes of the text of each word, for the words of one attribute.
    package var places: [Range<Int>] { words.map(\.place) }

    /// Returns whether the words of a phrase occur side by side from a word on.
    private func hasSideBySide(_ phrase: TextPhrase, at start: Int) -> Bool {
        let end = start + phrase.words.count
        guard end > start, end <= words.count else { return false }
        return phrase.words.indices.allSatisfy { has(phrase, $0, at: start + $0, start) }
    }

    /// Returns the places of each word of a phrase.
    private func occurrences(of phrase: TextPhrase) -> [ArraySlice<Int>] {
        phrase.words.indices.map { offset in
            let found = words.indices.filter { has(phrase, offset, at: $0, $0) }
            return found.map { TextNearness.place(words[$0].attribute, words[$0].position) }[...]
        }
    }

    /// Returns whether a word is the one at an offset of a phrase, in the attribute of `start`.
    private func has(
        _ phrase: TextPhrase, _ offset: Int, at index: Int, _ start: Int
    ) -> Bool {
        let word = words[index]
        guard word.attribute == words[start].attribute else { return false }
        let (found, wanted) = (bytes[word.start..<word.end], phrase.words[offset])
        return phrase.isPrefix(at: offset) ? found.starts(with: wanted) : found == wanted[...]
    }

    /// Calls `body` with each different word, in the order of their bytes, and with the bytes of
    /// its posting.
    ///
    /// The bytes are the number of words of the object, and the positions of the word in each
    /// attribute as differences; 0 leads to the next attribute.
    package func forEachPosting(
        _ body: (_ word: ArraySlice<UInt8>, _ posting: [UInt8]) -> Void
    ) {
        let order = ByteOrder.sorted(bytes, words.map { $0.start..<$0.end })
        var posting: [UInt8] = []
        var place = 0
        while place < order.count {
            let first = words[order[place]]
            let term = bytes[first.start..<first.end]
            posting.removeAll(keepingCapacity: true)
            posting.append(varint: UInt64(words.count))
            var (attribute, last) = (0, -1)
            while place < order.count {
                let word = words[order[place]]
                guard bytes[word.start..<word.end] == term else { break }
                while attribute < word.attribute {
                    posting.append(0)
                    (attribute, last) = (attribute + 1, -1)
                }
                posting.append(varint: UInt64(word.position - last))
                last = word.position
                place += 1
            }
            body(term, posting)
        }
    }
}

/// The occurrences of a word in one object, as an index contains them.
package struct TextPosting {
    /// The posting as it is stored.
    package let bytes: UnsafeRawBufferPointer
    /// The number of words of the object.
    package let wordCount: Int
    private let positions: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        self.bytes = bytes
        var reader = ByteReader(bytes)
        wordCount = Int(clamping: try reader.readVarint())
        positions = UnsafeRawBufferPointer(rebasing: bytes[reader.offset...])
    }

    /// Calls `body` with the attribute and the position of each occurrence, in order.
    package func forEachPosition(
        attributeCount: Int, _ body: (_ attribute: Int, _ position: Int) -> Void
    ) throws(DecodingFailure) {
        var reader = ByteReader(positions)
        var (attribute, last) = (0, -1)
        while reader.remaining > 0 {
            let step = try reader.readVarint()
            if step == 0 {
                (attribute, last) = (attribute + 1, -1)
                guard attribute < attributeCount else {
                    throw DecodingFailure("a word in an attribute that is not searched")
                }
                continue
            }
            guard step < UInt64(UInt32.max), last < Int(UInt32.max) else {
                throw DecodingFailure("a position of a word that is out of range")
            }
            last += Int(step)
            body(attribute, last)
        }
    }
}

extension [UInt8] {
    /// Appends a number as groups of seven bits, the lowest first; all but the last have bit 7 set.
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

extension ByteReader {
    mutating func readVarint() throws(DecodingFailure) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            let byte = try read(UInt8.self)
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw DecodingFailure("a number of more than ten bytes")
    }
}
