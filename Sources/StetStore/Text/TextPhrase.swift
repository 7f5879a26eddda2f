/// Words that occur side by side, in this order, or near each other.
package struct TextPhrase: Hashable, Sendable {
    /// The words as they were typed, with what is between them.
    private let text: String
    /// The number of words.
    package let wordCount: Int
    /// True when the last word is the beginning of a word.
    package let isPrefix: Bool
    /// The greatest number of other words between words that are near each other, in any order; nil
    /// for words side by side.
    package let distance: Int?

    init(_ text: Substring, isPrefix: Bool, distance: Int?) {
        self.text = String(text)
        self.isPrefix = isPrefix
        var wordCount = 0
        self.text.forEachWord { _, _ in wordCount += 1 }
        self.wordCount = wordCount
        self.distance = wordCount > 1 ? distance : nil
    }

    /// The number of words from the first to the last one, at most.
    package var span: Int { wordCount + (distance ?? 0) }

    /// Returns whether the word at an offset of the phrase is a beginning.
    package func isPrefix(at offset: Int) -> Bool { isPrefix && offset == wordCount - 1 }

    /// Returns the words as they are in an index of texts in a language.
    func forms(in language: TextLanguage?) -> Forms {
        var words: [[[UInt8]]] = []
        var last: [UInt8] = []
        text.forEachWord { word, written in
            last = Array(word)
            guard let language else { return words.append([last]) }
            let stems = TextStems(language, folded: word, written: written)
            words.append([stems.plain, stems.marked].compactMap { $0.map { Array($0.utf8) } })
        }
        return Forms(words: words, beginning: isPrefix ? last : nil)
    }

    /// The words of a phrase as they are in an index of texts in one language.
    struct Forms {
        /// For each word its stems, or the word itself where words are not stemmed.
        let words: [[[UInt8]]]
        /// The beginning of the last word; nil when it is a whole word.
        let beginning: [UInt8]?

        /// Returns whether a form of a word in a text is that of the word at an offset.
        func match(_ form: ArraySlice<UInt8>, at offset: Int) -> Bool {
            if let beginning, offset == words.count - 1, form.starts(with: beginning) {
                return true
            }
            return words[offset].contains { form == $0[...] }
        }
    }
}

/// A phrase that is searched for in the attributes of an index.
struct IndexedPhrase {
    let phrase: TextPhrase
    /// The forms of the words in each attribute, the same for attributes in one language.
    let forms: [TextPhrase.Forms]

    init(_ phrase: TextPhrase, in languages: [TextLanguage?]) {
        self.phrase = phrase
        var known: [TextLanguage?: TextPhrase.Forms] = [:]
        forms = languages.map { language in
            if let forms = known[language] { return forms }
            let forms = phrase.forms(in: language)
            known[language] = forms
            return forms
        }
    }

    /// The list of a word, or the lists of all words with a beginning, and the attributes in which
    /// an occurrence counts.
    struct Lookup {
        let word: [UInt8]
        let isPrefix: Bool
        var attributes: Set<Int>
    }

    /// Returns what must be read to find the word at an offset in some attributes.
    func lookups(at offset: Int, in attributes: [Int]) -> [Lookup] {
        var lookups: [Lookup] = []
        func add(_ word: [UInt8], isPrefix: Bool, _ attribute: Int) {
            let place = lookups.firstIndex { $0.word == word && $0.isPrefix == isPrefix }
            if let place {
                lookups[place].attributes.insert(attribute)
            } else {
                lookups.append(Lookup(word: word, isPrefix: isPrefix, attributes: [attribute]))
            }
        }
        for attribute in attributes {
            let forms = forms[attribute]
            let beginning = phrase.isPrefix(at: offset) ? forms.beginning : nil
            if let beginning { add(beginning, isPrefix: true, attribute) }
            for word in forms.words[offset] where !(beginning.map(word.starts(with:)) ?? false) {
                add(word, isPrefix: false, attribute)
            }
        }
        return lookups
    }
}

extension String {
    /// Calls `body` with each word, folded and as it is written.
    fileprivate func forEachWord(
        _ body: (_ folded: UnsafeRawBufferPointer, _ written: UnsafeRawBufferPointer) -> Void
    ) {
        var text = self
        text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            TextTokenizer.forEachWord(in: bytes) { word, place in
                body(word, UnsafeRawBufferPointer(rebasing: bytes[place]))
            }
        }
    }
}
