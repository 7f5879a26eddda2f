/// A way to find the objects that may satisfy a condition without reading all objects.
///
/// It may also find objects that do not satisfy the condition, but it misses none.
indirect enum QueryPath {
    /// The objects that the condition names.
    case ids([ObjectID])
    case index(IndexPath)
    /// The objects that refer to others in a slot.
    case references(slot: Slot, [ObjectID], isExact: Bool)
    /// The objects whose reference in a slot points to a result of another query.
    case targets(slot: Slot, StoreQuery, isExact: Bool)
    /// The objects with members that are results of another query.
    case owners(Relationship, StoreQuery, isExact: Bool)
    /// The objects with a number of members that compares in this way, which 0 does not.
    case counted(Relationship, QueryNode.Comparison, Int, isExact: Bool)
    /// The objects that have the words of a search.
    case words(TextMatch, isExact: Bool)
    /// The objects that have the trigrams of the texts that a property must contain.
    case substrings(SubstringPath)
    /// The objects of any of these.
    case union([QueryPath])

    /// Ranges of an index that do not overlap.
    struct IndexPath {
        let index: NumberedIndex
        let ranges: [IndexRange]
        /// The bounds that the condition sets for the first properties.
        let bounds: [PropertyBounds]
        /// True when an object is in the ranges exactly if it satisfies the whole condition.
        var isExact: Bool
    }

    /// The trigrams of some texts in an index of substrings.
    struct SubstringPath {
        let index: NumberedIndex
        /// The texts that the property must contain.
        let texts: [String]
        let search: TrigramSearch

        fileprivate func forEachID(
            _ state: QueryState, _ body: (ObjectID) throws -> Bool
        ) throws {
            let table = try state.reader.file.projection.tableOfIndexes
            let names = try state.reader.shortIDs(of: index)
            try search.forEachID(in: table, state.reader.transaction, visit: state.visit) {
                try body(try names.id($0))
            }
        }
    }

    /// A range of an index whose objects are in the order of a query.
    struct OrderedRange {
        let index: NumberedIndex
        let range: IndexRange
        /// The values of the first properties, which all objects of the range have.
        let values: [Value]
        /// True when the whole condition has set the range, so that no other path is shorter.
        let isWhole: Bool
        /// True when an object is in the range exactly if it satisfies the whole condition.
        let isExact: Bool
    }

    /// Calls `body` with each object, as of the last commit, until it returns false; an object may
    /// occur twice.
    func forEachID(
        _ state: QueryState, _ entity: EntityNumber, _ body: (ObjectID) throws -> Bool
    ) throws {
        var goesOn = true
        func give(_ id: ObjectID) throws -> Bool {
            goesOn = try body(id)
            return goesOn
        }
        switch self {
        case .ids(let ids): for id in ids where goesOn { _ = try give(id) }
        case .index(let path):
            for range in path.ranges where goesOn {
                try state.reader.forEachObject(of: path.index, in: range, give)
            }
        case .references(let slot, let targets, _):
            for target in targets where goesOn {
                try state.reader.forEachReference(
                    to: target, fromEntity: entity, slot: slot, give)
            }
        case .targets(let slot, let query, _):
            try QueryRun(state, query).forEachMatchingID { id in
                try state.reader.forEachReference(to: id, fromEntity: entity, slot: slot, give)
                return goesOn
            }
        case .owners(let relationship, let query, _):
            try forEachOwner(relationship, query, state, give)
        case .counted(let relationship, let comparison, let number, _):
            try forEachCounted(relationship, state) { owner, count in
                try comparison.holds(count, number) ? give(owner) : true
            }
        case .words(let match, _):
            for id in try state.textSearch(match, entity).ids(state) where goesOn {
                _ = try give(id)
            }
        case .substrings(let path):
            try path.forEachID(state, give)
        case .union(let paths):
            for path in paths where goesOn { try path.forEachID(state, entity, give) }
        }
    }

    private func forEachCounted(
        _ relationship: Relationship, _ state: QueryState, _ body: (ObjectID, Int) throws -> Bool
    ) throws {
        guard let end = state.schema.membersEnd(of: relationship) else { return }
        try state.forEachMemberCount(at: end, body)
    }

    private func forEachOwner(
        _ relationship: Relationship, _ query: StoreQuery, _ state: QueryState,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        guard let end = state.schema.membersEnd(of: relationship) else { return }
        let opposite = end.link.flatMap { state.schema.ends(ofLink: $0) }.map { ends in
            ends.targets == end ? ends.sources : ends.targets
        }
        guard let opposite else {
            return try QueryRun(state, query).forEachMatch { member in
                try member.reference(end.slot).map(body) ?? true
            }
        }
        try QueryRun(state, query).forEachMatchingID { member in
            var goesOn = true
            // Includes pending links, whose owner may be unchanged.
            try state.forEachMember(of: member, at: opposite) { owner in
                goesOn = try body(owner)
                return goesOn
            }
            return goesOn
        }
    }

    /// Returns the first objects, each once, and whether these are all.
    func ids(
        _ state: QueryState, _ entity: EntityNumber, limit: Int
    ) throws -> (ids: [ObjectID], isComplete: Bool) {
        if case .words(let match, _) = self, limit == .max {
            return (try state.textSearch(match, entity).ids(state), true)
        }
        var ids: [ObjectID] = []
        var isComplete = true
        var seen: Set<ObjectID> = []
        try forEachID(state, entity) { id in
            if mayRepeat, !seen.insert(id).inserted { return true }
            if ids.count == limit {
                isComplete = false
                return false
            }
            ids.append(id)
            return true
        }
        return (ids, isComplete)
    }

    private var mayRepeat: Bool {
        switch self {
        case .index, .references, .counted, .words, .substrings: false
        case .ids, .targets, .owners, .union: true
        }
    }

    /// True when the path reads indexes or references, which describe the last commit only.
    var asksLastCommit: Bool {
        switch self {
        case .ids: false
        case .union(let paths): paths.contains(where: \.asksLastCommit)
        case .index, .references, .targets, .owners, .counted, .words, .substrings: true
        }
    }

    /// Returns whether all lists of members can be counted, if the path does that.
    func canCountMembers(_ state: QueryState) throws -> Bool {
        switch self {
        case .counted(let relationship, _, _, _):
            try state.schema.membersEnd(of: relationship).map(state.countsMembers) ?? true
        case .union(let paths): try paths.allSatisfy { try $0.canCountMembers(state) }
        case .ids, .index, .references, .targets, .owners, .words, .substrings: true
        }
    }

    /// True when every object that the path finds satisfies the whole condition.
    var isExact: Bool {
        switch self {
        case .index(let path): path.isExact
        case .references(_, _, let isExact), .targets(_, _, let isExact),
            .owners(_, _, let isExact), .counted(_, _, _, let isExact), .words(_, let isExact):
            isExact
        case .ids, .substrings, .union: false
        }
    }

    /// True when the path looks up words, and nothing else is required.
    var isSearch: Bool {
        if case .words(_, isExact: true) = self { return true }
        return false
    }

    /// True when there is at most one object.
    var isSingle: Bool {
        switch self {
        case .ids(let ids): ids.count <= 1
        case .index(let path):
            path.index.index.isUnique && path.ranges.count == 1
                && path.ranges[0].valueCount == path.index.index.parts.count
        default: false
        }
    }
}
