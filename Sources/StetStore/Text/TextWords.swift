/// The words of the searchable attributes of one object.
package struct TextWords: TextTerms {
    /// A word; its attribute is the place among those of the index.
    private struct Word {
        let start: Int
        let end: Int
        /// The end of its other form, which follows the first one; `end` if it has only one.
        let otherEnd: Int
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

    /// Adds the words of an attribute, which follows those before it, or their stems.
    package mutating func append(
        _ text: UnsafeRawBufferPointer, attribute: Int, language: TextLanguage? = nil
    ) {
        bytes.reserveCapacity(bytes.count + text.count)
        words.reserveCapacity(words.count + text.count / 6)
        let first = words.count
        guard let language else {
            return TextTokenizer.forEachWord(in: text) { word, place in
                let start = bytes.count
                bytes.append(contentsOf: word)
                append(start, bytes.count, attribute, words.count - first, place)
            }
        }
        TextTokenizer.forEachWord(in: text) { word, place in
            let start = bytes.count
            let written = UnsafeRawBufferPointer(rebasing: text[place])
            let stems = TextStems(language, folded: word, written: written)
            bytes.append(contentsOf: stems.plain.utf8)
            let end = bytes.count
            if let marked = stems.marked { bytes.append(contentsOf: marked.utf8) }
            append(start, end, attribute, words.count - first, place)
        }
    }

    /// Adds a word whose forms are the last bytes.
    private mutating func append(
        _ start: Int, _ end: Int, _ attribute: Int, _ position: Int, _ place: Range<Int>
    ) {
        words.append(
            Word(
                start: start, end: end, otherEnd: bytes.count, attribute: attribute,
                position: position, place: place))
    }

    /// Adds the number of occurrences of a phrase in each attribute to `counts`.
    func count(_ phrase: IndexedPhrase, _ counts: inout [Int]) {
        if phrase.phrase.distance == nil {
            for start in words.indices where hasSideBySide(phrase, at: start) {
                counts[words[start].attribute] += 1
            }
        } else {
            for start in TextNearness.starts(occurrences(of: phrase), span: phrase.phrase.span) {
                counts[start >> TextNearness.positionBits] += 1
            }
        }
    }

    /// Returns the bytes of the text at which the words of a phrase occur, in order, each once; for
    /// the words of one attribute.
    func places(of phrase: IndexedPhrase) -> [Range<Int>] {
        if phrase.phrase.distance == nil {
            var found: Set<Int> = []
            for start in words.indices where hasSideBySide(phrase, at: start) {
                found.formUnion(start..<start + phrase.phrase.wordCount)
            }
            return found.sorted().map { words[$0].place }
        }
        let lists = occurrences(of: phrase)
        let starts = TextNearness.starts(lists, span: phrase.phrase.span)
        let found = TextNearness.places(lists, from: starts, span: phrase.phrase.span)
        // Of one attribute, so that the position of a word is its index.
        return found.map { words[$0].place }
    }

    /// The bytes of the text of each word, for the words of one attribute.
    package var places: [Range<Int>] { words.map(\.place) }

    /// Returns whether the words of a phrase occur side by side from a word on.
    private func hasSideBySide(_ phrase: IndexedPhrase, at start: Int) -> Bool {
        let end = start + phrase.phrase.wordCount
        guard end > start, end <= words.count else { return false }
        let forms = phrase.forms[words[start].attribute]
        return forms.words.indices.allSatisfy { offset in
            let word = words[start + offset]
            return word.attribute == words[start].attribute && has(word, forms, offset)
        }
    }

    /// Returns the places of each word of a phrase.
    private func occurrences(of phrase: IndexedPhrase) -> [ArraySlice<Int>] {
        (0..<phrase.phrase.wordCount).map { offset in
            let found = words.filter { has($0, phrase.forms[$0.attribute], offset) }
            return found.map { TextNearness.place($0.attribute, $0.position) }[...]
        }
    }

    /// Returns whether a word is the one at an offset of a phrase.
    private func has(_ word: Word, _ forms: TextPhrase.Forms, _ offset: Int) -> Bool {
        forms.match(bytes[word.start..<word.end], at: offset)
            || (word.otherEnd > word.end
                && forms.match(bytes[word.end..<word.otherEnd], at: offset))
    }

    /// Adds the postings of the different forms of words.
    package func append(
        to postings: inout TextPostings, _ number: Int, _ lists: inout TextLists
    ) {
        // The list and the index of the word of each form, in one number.
        var forms: [UInt64] = []
        swap(&forms, &postings.order)
        forms.removeAll(keepingCapacity: true)
        bytes.withUnsafeBytes { bytes in
            words.withUnsafeBufferPointer { words in
                for index in words.indices {
                    let (start, end, otherEnd) = (
                        words[index].start, words[index].end, words[index].otherEnd
                    )
                    let list = lists.number(
                        number, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                    forms.append(UInt64(list) << 32 | UInt64(index))
                    if otherEnd == end { continue }
                    let other = lists.number(
                        number, UnsafeRawBufferPointer(rebasing: bytes[end..<otherEnd]))
                    forms.append(UInt64(other) << 32 | UInt64(index))
                }
            }
        }
        forms.sortFew()
        append(forms, to: &postings)
        swap(&forms, &postings.order)
    }

    /// Adds the postings of sorted forms.
    private func append(_ forms: [UInt64], to postings: inout TextPostings) {
        let count = words.count
        words.withUnsafeBufferPointer { words in
            forms.withUnsafeBufferPointer { forms in
                var start = 0
                while start < forms.count {
                    let list = forms[start] >> 32
                    var end = start + 1
                    while end < forms.count, forms[end] >> 32 == list { end += 1 }
                    let places = forms[start..<end].lazy.map { form in
                        let word = words[Int(form & UInt64(UInt32.max))]
                        return (attribute: word.attribute, position: word.position)
                    }
                    postings.append(Int(list)) {
                        TextPosting.append(wordCount: count, places, to: &$0)
                    }
                    start = end
                }
            }
        }
    }
}

extension [UInt64] {
    /// Sorts numbers of which there are usually less than 30, as words in a title.
    fileprivate mutating func sortFew() {
        if count > 30 { return sort() }
        withUnsafeMutableBufferPointer { numbers in
            for end in numbers.indices.dropFirst() {
                let number = numbers[end]
                var place = end
                while place > 0, numbers[place - 1] > number {
                    numbers[place] = numbers[place - 1]
                    place -= 1
                }
                numbers[place] = number
            }
        }
    }
}
