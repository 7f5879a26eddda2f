/// A part of a text that shows why a search has found it.
public struct TextSnippet: Hashable, Sendable {
    /// The part of the text, with "…" where it was cut off.
    public let text: String
    /// The ranges of the words in `text` that the search requires, in order.
    public let ranges: [Range<String.Index>]
}

extension TextQuery {
    /// Returns the ranges of a text with the words that the search requires, in order; words of a
    /// phrase have a range each.
    ///
    /// ```swift
    /// for range in query.ranges(in: article.title) { styled[range].font = .bold }
    /// ```
    ///
    /// - Parameters:
    ///   - text: the text of an attribute.
    ///   - language: the language of the attribute; nil when its words are not stemmed.
    /// - Returns: the ranges.
    /// - Complexity: O(length of the text).
    public func ranges(
        in text: String, language: TextLanguage? = nil
    ) -> [Range<String.Index>] {
        var text = text
        text.makeContiguousUTF8()
        return hits(TextWords(text, language), language).map { text.range($0) }
    }

    /// Returns a part of a text with as many of the required words as possible.
    ///
    /// The first words of the text if none of them occurs in it.
    ///
    /// - Parameters:
    ///   - text: the text of an attribute.
    ///   - wordCount: the number of words in the part, at most.
    ///   - language: the language of the attribute; nil when its words are not stemmed.
    /// - Returns: the part, and the ranges of the words in it.
    /// - Complexity: O(length of the text).
    /// - Precondition: `wordCount` is positive.
    public func snippet(
        of text: String, wordCount: Int = 20, language: TextLanguage? = nil
    ) -> TextSnippet {
        trap(unless: wordCount > 0, "a snippet needs at least one word")
        var text = text
        text.makeContiguousUTF8()
        let words = TextWords(text, language)
        let places = words.places
        let hits = hits(words, language)
        let first = Self.start(of: hits, places, wordCount)
        let isWhole = places.count <= wordCount
        let end = min(first + wordCount, places.count)
        let start = isWhole || first == 0 ? 0 : places[first].lowerBound
        let stop = isWhole || end == places.count ? text.utf8.count : places[end - 1].upperBound
        var part = start > 0 ? "…" : ""
        let shift = part.utf8.count - start
        part += text[text.range(start..<stop)]
        if stop < text.utf8.count { part += "…" }
        let ranges = hits.filter { $0.lowerBound >= start && $0.upperBound <= stop }.map { hit in
            part.range(hit.lowerBound + shift..<hit.upperBound + shift)
        }
        return TextSnippet(text: part, ranges: ranges)
    }

    /// Returns the bytes of the required words, in order.
    private func hits(_ words: TextWords, _ language: TextLanguage?) -> [Range<Int>] {
        let places = Set(
            required.flatMap { words.places(of: IndexedPhrase($0, in: [language])) })
        return places.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Returns the first word of the part with the most hits: the earliest of these, with the hits
    /// in its middle.
    private static func start(
        of hits: [Range<Int>], _ places: [Range<Int>], _ wordCount: Int
    ) -> Int {
        let isHit = Set(hits)
        let indexes = places.indices.filter { isHit.contains(places[$0]) }
        var best = (count: 0, first: 0, last: 0)
        var last = 0
        for (order, first) in indexes.enumerated() {
            last = max(last, order)
            while last + 1 < indexes.count, indexes[last + 1] - first < wordCount { last += 1 }
            if last - order + 1 > best.count { best = (last - order + 1, first, indexes[last]) }
        }
        let spare = wordCount - (best.last - best.first + 1)
        return max(min(best.first - spare / 2, places.count - wordCount), 0)
    }
}

extension TextWords {
    fileprivate init(_ text: String, _ language: TextLanguage?) {
        self.init()
        var text = text
        text.withUTF8 {
            append(UnsafeRawBufferPointer($0), attribute: 0, language: language)
        }
    }
}

extension String {
    /// Returns the range with the offsets of its bytes.
    fileprivate func range(_ bytes: Range<Int>) -> Range<String.Index> {
        utf8.index(
            startIndex, offsetBy: bytes.lowerBound)..<utf8.index(
                startIndex, offsetBy: bytes.upperBound)
    }
}
