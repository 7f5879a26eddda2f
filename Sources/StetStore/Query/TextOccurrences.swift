import Glibc

/// The objects in which a phrase occurs, and where.
struct TextOccurrences {
    private let attributeCount: Int
    /// The short ids, ascending.
    private(set) var ids: [ObjectID] = []
    private(set) var wordCounts: [Int] = []
    /// For each object the end of its part of `places`.
    private var ends: [Int] = []
    /// The attribute and the position of the phrase, as one number, ascending for each object.
    private var places: [Int] = []
    /// For each object and attribute the number of occurrences.
    private var counts: [Int] = []

    init(attributeCount: Int) { self.attributeCount = attributeCount }

    private func range(_ object: Int) -> Range<Int> {
        (object == 0 ? 0 : ends[object - 1])..<ends[object]
    }

    /// Adds an object that follows all others, unless the word is in attributes only that are not
    /// searched; `offset` is the place of the word in the phrase, by which places are moved back.
    mutating func append(
        _ id: ObjectID, _ posting: TextPosting, isSearched: (Int) -> Bool, back offset: Int
    ) throws {
        let start = places.count
        try posting.forEachPosition(attributeCount: attributeCount) { attribute, position in
            guard isSearched(attribute), position >= offset else { return }
            places.append(TextNearness.place(attribute, position - offset))
        }
        if places.count == start { return }
        add(id, posting.wordCount)
    }

    private mutating func add(_ id: ObjectID, _ wordCount: Int) {
        ids.append(id)
        wordCounts.append(wordCount)
        ends.append(places.count)
    }

    /// Sorts the objects, which come from several lists, and unites those that occur repeatedly;
    /// a place at which a word has several forms counts once.
    mutating func unite() {
        if zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) { return }
        let old = self
        self = TextOccurrences(attributeCount: attributeCount)
        let order = old.ids.indices.sorted { (old.ids[$0], $0) < (old.ids[$1], $1) }
        var next = 0
        while next < order.count {
            let first = order[next]
            let start = places.count
            while next < order.count, old.ids[order[next]] == old.ids[first] {
                places += old.places[old.range(order[next])]
                next += 1
            }
            places[start...].sort()
            var last: Int?
            let different = places[start...].filter { place in
                defer { last = place }
                return place != last
            }
            places.replaceSubrange(start..., with: different)
            add(old.ids[first], old.wordCounts[first])
        }
    }

    /// Leaves only the places that the next word of the phrase has, too.
    mutating func intersect(_ other: TextOccurrences) {
        let old = self
        self = TextOccurrences(attributeCount: attributeCount)
        var next = 0
        for (object, id) in old.ids.enumerated() {
            while next < other.ids.count, other.ids[next] < id { next += 1 }
            guard next < other.ids.count, other.ids[next] == id else { continue }
            let start = places.count
            var rest = other.places[other.range(next)]
            for place in old.places[old.range(object)] {
                rest = rest.drop { $0 < place }
                if rest.first == place { places.append(place) }
            }
            if places.count > start { add(id, old.wordCounts[object]) }
        }
    }

    /// Creates the occurrences of words that are near each other: the places of those from which on
    /// all others are within a span.
    init(near lists: [TextOccurrences], span: Int, attributeCount: Int) {
        self.init(attributeCount: attributeCount)
        guard let shortest = lists.min(by: { $0.ids.count < $1.ids.count }) else { return }
        var walks = lists.map(Walk.init)
        for (object, id) in shortest.ids.enumerated() {
            guard walks.indices.allSatisfy({ walks[$0].advance(to: id) }) else { continue }
            let start = places.count
            places += TextNearness.starts(walks.map(\.places), span: span)
            if places.count > start { add(id, shortest.wordCounts[object]) }
        }
    }

    /// Counts the places in each attribute.
    mutating func count() {
        counts = [Int](repeating: 0, count: ids.count * attributeCount)
        for object in ids.indices {
            for place in places[range(object)] {
                counts[object * attributeCount + place >> TextNearness.positionBits] += 1
            }
        }
    }

    /// A walk through the objects, in order.
    struct Walk {
        private let list: TextOccurrences
        private var next = 0

        init(_ list: TextOccurrences) { self.list = list }

        /// Moves on to an object; returns whether the phrase occurs in it.
        mutating func advance(to id: ObjectID) -> Bool {
            while next < list.ids.count, list.ids[next] < id { next += 1 }
            return next < list.ids.count && list.ids[next] == id
        }

        /// The places in the object.
        var places: ArraySlice<Int> { list.places[list.range(next)] }

        /// The numbers of occurrences in the attributes of the object.
        var counts: ArraySlice<Int> {
            let start = next * list.attributeCount
            return list.counts[start..<start + list.attributeCount]
        }
    }
}

/// Okapi BM25.
struct TextRanking {
    /// The importance of each phrase: the rarer, the greater.
    private let importances: [Double]
    private let averageWordCount: Double
    private let weights: [Double]

    init(_ totals: TextTotals, frequencies: [Int], _ weights: [Double]) {
        self.weights = weights
        let count = Double(totals.objectCount)
        averageWordCount = count > 0 ? max(Double(totals.wordCount) / count, 1e-9) : 1
        importances = frequencies.map { frequency in
            // Also positive for phrases that more than half of the objects have.
            max(log((count - Double(frequency) + 0.5) / (Double(frequency) + 0.5)), 1e-6)
        }
    }

    /// Returns the score of an object by the occurrences of each phrase in its attributes.
    func score(_ counts: [ArraySlice<Int>], wordCount: Int) -> Double {
        let length = 1.2 * (0.25 + 0.75 * Double(wordCount) / averageWordCount)
        var score = 0.0
        for (importance, counts) in zip(importances, counts) {
            var frequency = 0.0
            for (weight, count) in zip(weights, counts) { frequency += weight * Double(count) }
            if frequency > 0 { score += importance * frequency * 2.2 / (frequency + length) }
        }
        return score
    }
}
