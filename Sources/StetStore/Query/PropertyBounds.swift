import FoundationEssentials

/// The bounds that a condition sets for one property, in a form that an index can use.
struct PropertyBounds {
    /// The slot of the property; nil for the object's id.
    let slot: Slot?
    let folding: TextFolding
    let type: ValueType
    /// The values, one of which the property must have; nil when they are not restricted to a list.
    private(set) var values: [Value]?
    private var lower: IndexRange.Bound?
    private var upper: IndexRange.Bound?
    private var prefix: String?
    /// False when more objects are within the bounds than satisfy the condition.
    private(set) var isExact: Bool
    /// The places of the conjuncts that were combined.
    private(set) var conjuncts: ConjunctSet = []

    /// Creates the bounds of a conjunct at a place; nil when it has none.
    init?(_ conjunct: QueryNode, at place: Int, _ entity: Entity) {
        self.init(conjunct, entity)
        conjuncts = ConjunctSet(place)
    }

    /// Creates the bounds of a condition; nil when the condition has none.
    init?(_ node: QueryNode, _ entity: Entity) {
        switch node {
        case .comparison(let comparison, let left, .constant(let value)):
            self.init(of: left, entity)
            guard narrow(comparison, value) else { return nil }
        case .comparison(let comparison, .constant(let value), let right):
            self.init(of: right, entity)
            guard narrow(comparison.flipped, value) else { return nil }
        case .isIn(let node, let values):
            self.init(of: node, entity)
            self.values = distinct(values)
        case .text(.prefix, let text, .constant(.string(let prefix))):
            self.init(of: text, entity)
            isExact = false
            if prefix.isEmpty { lower = .excluding(.null) } else { self.prefix = prefix }
        case .property(.root, _):
            self.init(of: node, entity)
            values = [.bool(true)]
        case .sealed(.root, let slot, let match):
            self.init(of: .property(.root, slot: slot), entity)
            // More values have the owner than are equal, and bytes of other objects equal tokens.
            isExact = false
            switch try? match.indexValues() {
            case .some(let values)?: self.values = values
            case .range(let first, let end)?:
                (lower, upper) = (.including(first), .excluding(end))
            case nil: return nil
            }
        case .not(let inner):
            self.init(negated: inner, entity)
        case .any(let nodes):
            self.init(either: nodes, entity)
        default: return nil
        }
    }

    /// Creates empty bounds of a property, or the id, of the queried object.
    private init?(of node: QueryNode, _ entity: Entity) {
        let (node, folding) = node.unfolded
        switch node {
        case .property(.root, let slot):
            // Read once: each read copies the property.
            let property = entity.properties[slot]
            guard property.isOrdered else { return nil }
            self.slot = slot
            type = property.type
            // Different lists and URLs may have equal keys.
            isExact = type != .list && type != .url
        case .id(.root):
            slot = nil
            type = .reference
            isExact = true
        default: return nil
        }
        self.folding = folding
    }

    private init?(negated node: QueryNode, _ entity: Entity) {
        switch node {
        case .property(.root, _):
            self.init(of: node, entity)
            values = [.bool(false), .null]
        case .comparison(.equal, let node, .constant(.null)):
            self.init(.comparison(.notEqual, node, .constant(.null)), entity)
        case .comparison(.notEqual, let node, .constant(let value)):
            self.init(.comparison(.equal, node, .constant(value)), entity)
        default: return nil
        }
    }

    /// Creates bounds for equality with one of several values.
    private init?(either nodes: [QueryNode], _ entity: Entity) {
        guard let first = nodes.first, var bounds = PropertyBounds(first, entity),
            var values = bounds.values
        else { return nil }
        for node in nodes.dropFirst() {
            guard let other = PropertyBounds(node, entity), other.isAboutTheSame(as: bounds),
                let more = other.values
            else { return nil }
            values += more
            bounds.isExact = bounds.isExact && other.isExact
        }
        bounds.values = bounds.distinct(values)
        self = bounds
    }

    func isAboutTheSame(as other: PropertyBounds) -> Bool {
        slot == other.slot && folding == other.folding
    }

    /// Returns whether an index with this part can find the objects within the bounds.
    func fits(_ part: EntityIndex.Part) -> Bool {
        guard slot == part.slot else { return false }
        return values == nil && prefix == nil
            ? folding == part.folding : part.folding.isSuperset(of: folding)
    }

    // MARK: Narrowing

    private mutating func narrow(_ comparison: QueryNode.Comparison, _ value: Value) -> Bool {
        switch comparison {
        case .equal: values = distinct([value])
        case .notEqual:
            guard value == .null else { return false }
            lower = .excluding(.null)
        case .less, .lessOrEqual:
            lower = .excluding(type == .decimal ? .decimal(.nan) : .null)
            upper = comparison == .less ? .excluding(value) : .including(value)
            if value == .null || value.isNaN { values = [] }
        case .greater, .greaterOrEqual:
            lower = comparison == .greater ? .excluding(value) : .including(value)
            upper = Self.notANumber(type).map { .excluding($0) }
            if value == .null || value.isNaN { values = [] }
        }
        return true
    }

    /// Returns the value that comes after all numbers of a type.
    private static func notANumber(_ type: ValueType) -> Value? {
        switch type {
        case .double: .double(.nan)
        case .float: .float(.nan)
        case .date: .date(Date(timeIntervalSinceReferenceDate: .nan))
        default: nil
        }
    }

    /// Combines both bounds, or uses one of them where they cannot be combined.
    mutating func narrow(by other: PropertyBounds) {
        conjuncts.formUnion(other.conjuncts)
        isExact = isExact && other.isExact
        if values != nil || other.values != nil {
            // The values determine the path. The condition tests whether they are in the range.
            isExact = false
            if values == nil { values = other.values }
            return
        }
        if prefix != nil || other.prefix != nil {
            isExact = false
            prefix = prefix ?? other.prefix
            return
        }
        lower = tighter(lower, other.lower, isLower: true)
        upper = tighter(upper, other.upper, isLower: false)
    }

    private func tighter(
        _ own: IndexRange.Bound?, _ other: IndexRange.Bound?, isLower: Bool
    ) -> IndexRange.Bound? {
        guard let own, let other else { return own ?? other }
        return other.isTighter(than: own, folding, isLower: isLower) ? other : own
    }

    /// Returns the values that an index with this part distinguishes.
    func values(in part: EntityIndex.Part) -> [Value]? {
        values.map { Self.distinct($0, part.folding) }
    }

    /// Returns each value once, without those that equal nothing.
    private func distinct(_ values: [Value]) -> [Value] { Self.distinct(values, folding) }

    private static func distinct(_ values: [Value], _ folding: TextFolding) -> [Value] {
        if values.count == 1 { return values[0].isNaN ? [] : values }
        var keys: Set<[UInt8]> = []
        return values.filter { value in
            guard !value.isNaN, let key = OrderedKey([value.folded(folding)], byteLimit: .max)
            else { return false }
            return keys.insert(key.bytes).inserted
        }
    }

    /// Returns whether everything within other bounds is within these.
    func contains(_ other: PropertyBounds) -> Bool {
        guard isAboutTheSame(as: other), prefix == nil else { return false }
        if let values {
            guard let others = other.values else { return false }
            return distinct(values + others).count == distinct(values).count
        }
        guard folding.isEmpty else { return false }
        if let others = other.values {
            return others.allSatisfy { admits(.including($0), .including($0)) }
        }
        if other.prefix != nil { return upper == nil && lower?.value == .null }
        return admits(other.lower, other.upper)
    }

    /// Returns whether a range, whose values are in order, is within the own one.
    private func admits(_ otherLower: IndexRange.Bound?, _ otherUpper: IndexRange.Bound?) -> Bool {
        lower.map { own in otherLower.map { own.admits($0, isLower: true) } ?? false } ?? true
            && upper.map { own in otherUpper.map { own.admits($0, isLower: false) } ?? false }
                ?? true
    }

    // MARK: Ranges

    /// Returns the range of an index after the values of its first properties.
    func range(of index: NumberedIndex, behind values: [Value]) throws -> IndexRange {
        if let prefix { return try IndexRange(index, values, prefix: prefix) }
        return try IndexRange(index, values, from: lower, to: upper)
    }

    func description(in entity: Entity) -> String {
        let name = slot.map { entity.properties[$0].name } ?? "id"
        if let slot, entity.properties[slot].seal != nil,
            values.map({ $0 != [.null] }) ?? (lower?.value != .null)
        {
            return "\(name) equals a sealed value"
        }
        if let values {
            let texts = values.prefix(3).map(\.description).joined(separator: ", ")
            return values.count == 1
                ? "\(name) is \(texts)"
                : "\(name) is one of \(values.count): \(texts)\(values.count > 3 ? ", …" : "")"
        }
        if let prefix { return "\(name) begins with \"\(prefix)\"" }
        var words: [String] = []
        if let lower, lower.value != .null, !lower.value.isNaN {
            words.append("\(lower.isIncluded ? "from" : "above") \(lower.value)")
        }
        if let upper, !upper.value.isNaN {
            words.append("\(upper.isIncluded ? "up to" : "below") \(upper.value)")
        }
        return words.isEmpty ? "\(name) is not nil" : "\(name) \(words.joined(separator: " "))"
    }
}

extension IndexRange.Bound {
    var value: Value {
        switch self {
        case .including(let value), .excluding(let value): value
        }
    }

    var isIncluded: Bool {
        if case .including = self { return true }
        return false
    }

    fileprivate func isTighter(
        than other: Self, _ folding: TextFolding, isLower: Bool
    ) -> Bool {
        guard let one = OrderedKey([value.folded(folding)], byteLimit: .max)?.bytes,
            let two = OrderedKey([other.value.folded(folding)], byteLimit: .max)?.bytes
        else { return false }
        if one == two { return !isIncluded }
        return one.lexicographicallyPrecedes(two) != isLower
    }

    /// Returns whether a range with this bound contains one with another bound on the same side.
    fileprivate func admits(_ other: Self, isLower: Bool) -> Bool {
        guard let one = OrderedKey([value], byteLimit: .max)?.bytes,
            let two = OrderedKey([other.value], byteLimit: .max)?.bytes
        else { return false }
        if one == two { return isIncluded || !other.isIncluded }
        return one.lexicographicallyPrecedes(two) == isLower
    }
}
