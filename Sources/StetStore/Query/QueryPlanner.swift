import FoundationEssentials

/// Finds the paths to the objects that satisfy a condition.
struct QueryPlanner {
    let schema: Schema
    let entity: EntityNumber
    private let conjuncts: [QueryNode]
    /// The bounds that the conjuncts set for properties.
    private let bounds: [PropertyBounds]

    init(_ schema: Schema, _ entity: EntityNumber, _ condition: QueryNode) {
        self.schema = schema
        self.entity = entity
        conjuncts = condition.conjuncts
        var bounds: [PropertyBounds] = []
        for (place, conjunct) in conjuncts.enumerated() {
            guard let bound = PropertyBounds(conjunct, at: place, schema.entities[entity]) else {
                continue
            }
            if let place = bounds.firstIndex(where: { $0.isAboutTheSame(as: bound) }) {
                bounds[place].narrow(by: bound)
            } else {
                bounds.append(bound)
            }
        }
        self.bounds = bounds
    }

    /// True when no object can satisfy the condition.
    var isImpossible: Bool {
        conjuncts.contains(.nothing) || bounds.contains { $0.values?.isEmpty ?? false }
    }

    /// Returns all paths, in no particular order.
    func paths() throws -> [QueryPath] {
        var paths: [QueryPath] = []
        for index in schema.indexes(ofEntity: entity) {
            switch index.index.contents {
            case .values: if let path = try indexPath(index) { paths.append(.index(path)) }
            case .substrings:
                if let path = substringPath(index) { paths.append(.substrings(path)) }
            case .words: break
            }
        }
        for bound in bounds where bound.type == .reference {
            guard let values = bound.values, !values.contains(.null) else { continue }
            let ids = values.compactMap(\.id)
            let isExact = bound.isExact && bound.conjuncts.count == conjuncts.count
            paths.append(
                bound.slot.map { .references(slot: $0, ids, isExact: isExact) } ?? .ids(ids))
        }
        for conjunct in conjuncts {
            if let path = try joinPath(conjunct) { paths.append(path) }
        }
        return paths
    }

    // MARK: Indexes

    private func indexPath(_ index: NumberedIndex) throws -> QueryPath.IndexPath? {
        guard var covered = conjuncts(metIn: index) else { return nil }
        var prefixes: [[Value]] = [[]]
        var used: [PropertyBounds] = []
        var isExact = true
        var ranges: [IndexRange]?
        for part in index.index.parts {
            guard let bound = bounds.first(where: { $0.fits(part) }) else { break }
            if let values = bound.values(in: part) {
                // The query limits the values of one property, but values of several properties
                // multiply.
                let isFew = prefixes.count * values.count <= 1_000
                guard isFew || prefixes.count == 1 else { break }
                prefixes = prefixes.flatMap { prefix in values.map { prefix + [$0] } }
            } else {
                ranges = try prefixes.map { try bound.range(of: index, behind: $0) }
            }
            isExact = isExact && bound.isExact && bound.folding == part.folding
            covered.formUnion(bound.conjuncts)
            used.append(bound)
            if ranges != nil { break }
        }
        if used.isEmpty, index.index.condition == nil { return nil }
        return QueryPath.IndexPath(
            index: index, ranges: try ranges ?? prefixes.map { try IndexRange(index, $0) },
            bounds: used, isExact: isExact && covered.count == conjuncts.count)
    }

    /// Returns the places of the conjuncts that all objects in an index satisfy; nil when objects
    /// that satisfy the whole condition may not be in it.
    private func conjuncts(metIn index: NumberedIndex) -> ConjunctSet? {
        var met: ConjunctSet = []
        for required in index.index.condition?.conjuncts ?? [] {
            let equal = conjuncts.indices.filter { conjuncts[$0] == required }
            if equal.isEmpty {
                // The bounds of a condition are those of the property that it reads first.
                if case (.root, let slot?)? = required.firstRead,
                    !bounds.contains(where: { $0.slot == slot })
                {
                    return nil
                }
                guard let bound = PropertyBounds(required, schema.entities[entity]), bound.isExact,
                    bounds.contains(where: bound.contains)
                else { return nil }
            }
            for place in equal { met.formUnion(ConjunctSet(place)) }
        }
        return met
    }

    /// Returns the range of an index whose objects are in an order, whatever its directions, and
    /// include all that satisfy the condition; nil when the index has another order.
    func orderedRange(
        _ index: NumberedIndex, _ order: [QueryOrder]
    ) throws -> QueryPath.OrderedRange? {
        guard !index.index.hasLists else { return nil }
        let parts = index.index.parts
        let fixed = parts.count - order.count
        guard fixed >= 0 else { return nil }
        guard var covered = conjuncts(metIn: index) else { return nil }
        var prefix: [Value] = []
        var isExact = true
        func cover(_ bound: PropertyBounds, _ part: EntityIndex.Part) {
            covered.formUnion(bound.conjuncts)
            isExact = isExact && bound.isExact && bound.folding == part.folding
        }
        func found(_ range: IndexRange) -> QueryPath.OrderedRange {
            let isWhole = covered.count == conjuncts.count
            return QueryPath.OrderedRange(
                index: index, range: range, values: prefix, isWhole: isWhole,
                isExact: isExact && isWhole)
        }
        for part in parts.prefix(fixed) {
            guard let bound = bounds.first(where: { $0.fits(part) }),
                let values = bound.values(in: part), values.count == 1
            else { return nil }
            prefix.append(values[0])
            cover(bound, part)
        }
        for (part, order) in zip(parts.dropFirst(fixed), order) {
            let (node, folding) = order.node.unfolded
            guard node == .property(.root, slot: part.slot), folding == part.folding else {
                return nil
            }
        }
        guard let bound = bounds.first(where: { $0.fits(parts[fixed]) }), bound.values == nil else {
            return found(try IndexRange(index, prefix))
        }
        cover(bound, parts[fixed])
        return found(try bound.range(of: index, behind: prefix))
    }

    // MARK: Substrings

    /// Returns the path by the trigrams of the texts that a property must contain; nil when there
    /// are none, or all are too short.
    private func substringPath(_ index: NumberedIndex) -> QueryPath.SubstringPath? {
        let texts = searchedTexts(index)
        guard index.index.isOfThisVersion, let search = TrigramSearch(index.number, texts) else {
            return nil
        }
        return QueryPath.SubstringPath(index: index, texts: texts, search: search)
    }

    /// Returns the texts with which the property of an index must begin or end, or which it must
    /// contain.
    private func searchedTexts(_ index: NumberedIndex) -> [String] {
        conjuncts.compactMap { conjunct in
            guard case .text(_, let text, let part) = conjunct,
                text.unfolded.node == .property(.root, slot: index.index.parts[0].slot),
                case .constant(.string(let part)) = part.unfolded.node
            else { return nil }
            return part
        }
    }

    /// The indexes of substrings that are of no use because the texts that the condition searches
    /// for are too short, in words.
    var shortSubstrings: [String] {
        schema.indexes(ofEntity: entity).compactMap { index in
            guard index.index.isOfSubstrings,
                substringPath(index) == nil, let text = searchedTexts(index).first
            else { return nil }
            let name = index.index.description(in: schema.entities[entity])
            return "\(name): \"\(text)\" is too short"
        }
    }

    // MARK: Joins

    /// Returns the path for a condition on the targets of references, or on members; nil when none
    /// is better than reading all objects.
    private func joinPath(_ conjunct: QueryNode) throws -> QueryPath? {
        if case .any(let nodes) = conjunct, !nodes.isEmpty {
            let paths = try nodes.map { try QueryPlanner(schema, entity, $0).bestGuess() }
            let known = paths.compactMap(\.self)
            return known.count == nodes.count ? .union(known) : nil
        }
        let isExact = conjuncts.count == 1
        if case .matching(.root, let match) = conjunct { return .words(match, isExact: isExact) }
        if let (members, comparison, number) = conjunct.countedMembers {
            return .counted(relationship(members), comparison, number, isExact: isExact)
        }
        if case .members(.any, let members, let node) = conjunct, members.owner == .root,
            let inner = node.lookingFromMember(members.scope)
        {
            let relationship = relationship(members)
            guard let target = schema.number(ofEntity: relationship.target) else { return nil }
            let query = StoreQuery(entity: target, inner)
            return try query.hasPath(schema)
                ? .owners(relationship, query, isExact: isExact) : nil
        }
        guard let (slot, name, inner) = conjunct.lookingFromTarget,
            let target = schema.number(ofEntity: name)
        else { return nil }
        let query = StoreQuery(entity: target, inner)
        return try query.hasPath(schema)
            ? .targets(slot: slot, query, isExact: isExact) : nil
    }

    private func relationship(_ members: QueryMembers) -> Relationship {
        schema.entities[entity].relationships[members.relationship]
    }

    /// Returns one path, without reading the store.
    private func bestGuess() throws -> QueryPath? {
        let paths = try paths()
        return paths.first(where: \.isSingle) ?? paths.first
    }
}

/// The places of conjuncts in a condition; of more than 64, the first 64.
///
/// A condition with more is never found to be whole, so each object is tested.
struct ConjunctSet: OptionSet {
    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(_ place: Int) { rawValue = 1 << place }

    var count: Int { rawValue.nonzeroBitCount }
}

extension StoreQuery {
    init(entity: EntityNumber, _ condition: QueryNode) {
        self.init(entity: entity)
        self.condition = condition
    }

    func hasPath(_ schema: Schema) throws -> Bool {
        try !QueryPlanner(schema, entity, condition).paths().isEmpty
    }
}

extension Value {
    fileprivate var id: ObjectID? {
        target
    }
}
