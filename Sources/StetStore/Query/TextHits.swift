/// The result of a search, as the index has it: the objects of the last commit, and their scores.
///
/// The score of an object is that of Okapi BM25 with k1 = 1.2 and b = 0.75. Each phrase counts as
/// one word. An object that differs from the last commit is searched itself; how rare a phrase is,
/// and how long texts are, is always that of the last commit.
///
/// State: belongs to the state of a query; it has no lock.
final class TextHits {
    let match: TextMatch
    private let index: NumberedIndex
    /// The slots that determine what the index says of an object.
    private let slots: SlotSet
    private let entity: Entity
    /// The weights of the attributes of the index; 0 for those that are not searched.
    private let weights: [Double]
    /// The phrases that must occur, and those that must not.
    private let phrases: (required: [IndexedPhrase], excluded: [IndexedPhrase])
    private var known: Hits?
    private var knownShortIDs: [ObjectID]?
    private var knownIDs: [ObjectID]?
    /// False when too much has changed since the revision of the query for the index to be of use.
    private var usesIndex: Bool?
    /// The number of objects that were searched without the index.
    private var searchedCount = 0

    /// The objects that the index finds.
    private struct Hits {
        /// The short ids, in ascending order.
        var shortIDs: [ObjectID] = []
        var scores: [Double] = []
        let ranking: TextRanking
        let names: ShortIDs

        /// Returns the place of an object among the hits; nil when it was not found.
        func place(of id: ObjectID) throws -> Int? {
            let shortID = try names.short(id)
            let place = shortIDs.partitionPoint { $0 < shortID }
            return place < shortIDs.count && shortIDs[place] == shortID ? place : nil
        }

        /// Returns the ids of the objects with the highest scores, the highest one first, and the
        /// lower id before the higher one among equals.
        func best(_ count: Int) throws -> [ObjectID] {
            if count > shortIDs.count / 8 {
                return try shortIDs.indices.sorted(by: precedes).prefix(count).map(id)
            }
            var best: [Int] = []
            for place in shortIDs.indices {
                if best.count == count {
                    guard let last = best.last, try precedes(place, last) else { continue }
                    best.removeLast()
                }
                best.insert(place, at: try best.partitionPoint { try !precedes(place, $0) })
            }
            return try best.map(id)
        }

        private func precedes(_ one: Int, _ other: Int) throws -> Bool {
            if scores[one] != scores[other] { return scores[one] > scores[other] }
            // Short ids are in the order of the ids unless their first halves are equal.
            if shortIDs[one].high != shortIDs[other].high { return one < other }
            return try id(one) < id(other)
        }

        private func id(_ place: Int) throws -> ObjectID { try names.id(shortIDs[place]) }
    }

    init(_ match: TextMatch, _ index: NumberedIndex, _ schema: Schema) throws {
        self.match = match
        self.index = index
        entity = schema.entities[index.entity]
        slots = index.slots(in: schema)
        try index.index.checkVersion(in: entity)
        weights = index.index.parts.map { part in
            match.attributes.first { $0.slot == part.slot }?.weight ?? 0
        }
        let languages = index.index.parts.map(\.language)
        phrases = (
            match.query.required.map { IndexedPhrase($0, in: languages) },
            match.query.excluded.map { IndexedPhrase($0, in: languages) }
        )
    }

    // MARK: Objects

    /// Returns whether an object has the words.
    func matches(_ row: QueryState.Row, _ state: QueryState) throws -> Bool {
        if phrases.required.isEmpty { return false }
        // Using the index pays after a few objects.
        if known != nil || searchedCount >= 16, try isStored(row, state) {
            return try hits(state).place(of: row.id) != nil
        }
        searchedCount += 1
        let words = try words(of: row)
        return phrases.required.allSatisfy { !count($0, words).isEmpty }
            && phrases.excluded.allSatisfy { count($0, words).isEmpty }
    }

    /// Returns the score of an object, the higher the better.
    func score(_ row: QueryState.Row, _ state: QueryState) throws -> Double {
        let hits = try hits(state)
        if try isStored(row, state), let place = try hits.place(of: row.id) {
            return hits.scores[place]
        }
        let words = try words(of: row)
        let counts = phrases.required.map { count($0, words) }
        return hits.ranking.score(counts.map { $0[...] }, wordCount: words.count)
    }

    /// Returns whether the index describes an object as it is in the query.
    private func isStored(_ row: QueryState.Row, _ state: QueryState) throws -> Bool {
        let usesIndex = try self.usesIndex ?? !state.isFarBehind(ofEntity: index.entity)
        self.usesIndex = usesIndex
        guard usesIndex, row.revision > .zero else { return false }
        let overlay = try state.overlay(index.entity, differingIn: slots)
        return !overlay.ids.contains(row.id)
    }

    private func words(of row: QueryState.Row) throws -> TextWords {
        try index.index.words(of: RecordBody(row.body, of: entity))
    }

    /// Returns the numbers of occurrences in the attributes; empty when there are none in those
    /// that are searched.
    private func count(_ phrase: IndexedPhrase, _ words: TextWords) -> [Int] {
        var counts = [Int](repeating: 0, count: weights.count)
        words.count(phrase, &counts)
        return weights.indices.contains { weights[$0] > 0 && counts[$0] > 0 } ? counts : []
    }

    // MARK: The index

    /// Returns the objects of the last commit that have the words.
    private func hits(_ state: QueryState) throws -> Hits {
        if let known { return known }
        let tree = TextTree(table: try state.reader.file.projection.tableOfIndexes)
        let totals = try tree.totals(index.number, in: state.reader.transaction)
        let lists = try phrases.required.map { try occurrences(of: $0, tree, state) }
        let excluded = try phrases.excluded.map { try occurrences(of: $0, tree, state) }
        var hits = Hits(
            ranking: TextRanking(totals, frequencies: lists.map(\.ids.count), weights),
            names: try state.reader.shortIDs(of: index))
        if let shortest = lists.min(by: { $0.ids.count < $1.ids.count }) {
            var walks = lists.map(TextOccurrences.Walk.init)
            var others = excluded.map(TextOccurrences.Walk.init)
            for (place, id) in shortest.ids.enumerated() {
                let found = walks.indices.allSatisfy { walks[$0].advance(to: id) }
                if !found || others.indices.contains(where: { others[$0].advance(to: id) }) {
                    continue
                }
                hits.shortIDs.append(id)
                hits.scores.append(
                    hits.ranking.score(
                        walks.map(\.counts), wordCount: shortest.wordCounts[place]))
            }
        }
        known = hits
        return hits
    }

    /// Returns the objects of the last commit with the highest scores, the highest one first.
    func best(_ count: Int, _ state: QueryState) throws -> [ObjectID] {
        let hits = try hits(state)
        return try hits.best(min(count, hits.shortIDs.count))
    }

    /// Returns the objects of the last commit that have the words, without ranking them.
    func ids(_ state: QueryState) throws -> [ObjectID] {
        if let knownIDs { return knownIDs }
        let names = try state.reader.shortIDs(of: index)
        let ids = try shortIDs(state).map(names.id)
        knownIDs = ids
        return ids
    }

    /// Returns the number of objects of the last commit that have the words.
    func count(_ state: QueryState) throws -> Int { try shortIDs(state).count }

    /// Returns the short ids of the objects, without ranking them.
    private func shortIDs(_ state: QueryState) throws -> [ObjectID] {
        if let ids = known?.shortIDs ?? knownShortIDs { return ids }
        guard let word = onlyWord else { return try hits(state).shortIDs }
        var ids: [ObjectID] = []
        let tree = TextTree(table: try state.reader.file.projection.tableOfIndexes)
        try tree.forEachPosting(
            index.number, of: word, isPrefix: false, in: state.reader.transaction
        ) { id, _ in
            try state.visit()
            ids.append(id)
            return true
        }
        knownShortIDs = ids
        return ids
    }

    /// The word whose list of postings is the result, wherever it occurs; nil when more is
    /// required.
    private var onlyWord: [UInt8]? {
        guard phrases.excluded.isEmpty, phrases.required.count == 1,
            phrases.required[0].phrase.wordCount == 1
        else { return nil }
        let searched = weights.indices.filter { weights[$0] > 0 }
        let lookups = phrases.required[0].lookups(at: 0, in: searched)
        guard lookups.count == 1, !lookups[0].isPrefix,
            lookups[0].attributes.count == weights.count
        else { return nil }
        return lookups[0].word
    }

    private func occurrences(
        of indexed: IndexedPhrase, _ tree: TextTree, _ state: QueryState
    ) throws -> TextOccurrences {
        let phrase = indexed.phrase
        let searched = weights.indices.filter { weights[$0] > 0 }
        var found = TextOccurrences(attributeCount: weights.count)
        var lists: [TextOccurrences] = []
        for offset in 0..<phrase.wordCount {
            var list = TextOccurrences(attributeCount: weights.count)
            let lookups = indexed.lookups(at: offset, in: searched)
            let back = phrase.distance == nil ? offset : 0
            for lookup in lookups {
                let attributes = weights.indices.map(lookup.attributes.contains)
                try tree.forEachPosting(
                    index.number, of: lookup.word, isPrefix: lookup.isPrefix,
                    in: state.reader.transaction
                ) { id, posting in
                    try state.visit()
                    try list.append(id, posting, isSearched: { attributes[$0] }, back: back)
                    return true
                }
            }
            if lookups.count > 1 || phrase.isPrefix(at: offset) { list.unite() }
            if phrase.distance != nil {
                lists.append(list)
                continue
            }
            if offset == 0 { found = list } else { found.intersect(list) }
            if found.ids.isEmpty { break }
        }
        if phrase.distance != nil {
            found = TextOccurrences(near: lists, span: phrase.span, attributeCount: weights.count)
        }
        found.count()
        return found
    }
}

extension QueryNode {
    /// The order of the best hits, if all objects must match a search; empty otherwise.
    package var ranking: [QueryOrder] {
        for case .matching(.root, let match) in conjuncts {
            return [QueryOrder(.rank(.root, match))]
        }
        return []
    }
}

extension QueryState {
    /// Returns a search, whose result is kept.
    func textSearch(_ match: TextMatch, _ entity: EntityNumber) throws -> TextHits {
        let facts = facts(of: entity)
        if let search = facts.searches[match] { return search }
        guard let index = schema.textIndex(ofEntity: entity) else {
            trap("a query searches \(self.entity(entity).name), which has no searchable attribute")
        }
        let search = try TextHits(match, index, schema)
        facts.searches[match] = search
        return search
    }
}
