import FoundationEssentials
import StetStore

/// Parses the text of a predicate on the objects of an entity.
///
/// It uses recursive descent of bounded depth: for any text, the result is a condition or an error.
struct PredicateParser {
    private static let depthLimit = 64
    static let pathLimit = 32

    let schema: Schema
    let tokens: [PredicateToken]
    var place = 0
    private var depth = 0
    /// The objects and elements that names refer to, the innermost condition of members last.
    private(set) var scopes: [Place]

    private init(_ text: String, _ schema: Schema, _ entity: EntityNumber) throws(PredicateMistake)
    {
        self.schema = schema
        tokens = try PredicateLexer.tokens(of: text)
        scopes = [(.root, schema.entities[entity])]
    }

    /// Returns the condition of a text.
    static func condition(
        _ text: String, _ schema: Schema, entity: EntityNumber
    ) throws(PredicateMistake) -> QueryNode {
        var parser = try PredicateParser(text, schema, entity)
        let node = try parser.either()
        guard parser.token.kind == .end else { throw parser.expected("&&, || or the end") }
        return node
    }

    /// Returns the property that a text names as a sort key.
    static func sortKey(
        _ text: String, _ schema: Schema, entity: EntityNumber
    ) throws(PredicateMistake) -> QueryNode {
        var parser = try PredicateParser(text, schema, entity)
        let start = parser.token.offset
        let path = try parser.path()
        guard parser.token.kind == .end else { throw parser.expected("the end") }
        guard path.type.isOrdered else {
            throw PredicateMistake("\(path.type) has no order", at: start)
        }
        return path.node
    }

    // MARK: Tokens

    var token: PredicateToken { tokens[min(place, tokens.count - 1)] }

    func expected(_ what: String) -> PredicateMistake {
        PredicateMistake("expected \(what), but found \(token.description)", at: token.offset)
    }

    mutating func take(_ sign: String) -> Bool {
        guard token.kind == .sign(sign) else { return false }
        place += 1
        return true
    }

    mutating func take(word: String) -> Bool {
        guard token.kind == .name(word) else { return false }
        place += 1
        return true
    }

    mutating func expect(_ sign: String) throws(PredicateMistake) {
        guard take(sign) else { throw expected(sign) }
    }

    // MARK: Conditions

    private mutating func either() throws(PredicateMistake) -> QueryNode {
        var nodes = [try both()]
        while take("||") { nodes.append(try both()) }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func both() throws(PredicateMistake) -> QueryNode {
        var nodes = [try single()]
        while take("&&") { nodes.append(try single()) }
        return nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func single() throws(PredicateMistake) -> QueryNode {
        try nested { parser throws(PredicateMistake) in try parser.one() }
    }

    private mutating func one() throws(PredicateMistake) -> QueryNode {
        if take("!") { return .not(try single()) }
        if take("(") {
            let node = try either()
            try expect(")")
            return node
        }
        if case .text(let text) = tokens[min(place + 1, tokens.count - 1)].kind,
            take(word: "matching")
        {
            return try matching(text)
        }
        if isQuantifier, take(word: "any") { return try members(.any) }
        if isQuantifier, take(word: "all") { return try members(.all) }
        return try comparison()
    }

    /// True for a word that is followed by another name.
    private var isQuantifier: Bool {
        switch tokens[min(place + 1, tokens.count - 1)].kind {
        case .name(let name): name != "in" && PredicateOperator(word: name) == nil
        case .quotedName: true
        default: false
        }
    }

    /// Returns the search for words of the objects; the token before the text has been taken.
    private mutating func matching(_ text: String) throws(PredicateMistake) -> QueryNode {
        let (object, entity) = scopes[scopes.count - 1]
        guard let number = schema.number(ofEntity: entity.name),
            let index = schema.textIndex(ofEntity: number)
        else {
            throw PredicateMistake(
                "\(entity.title) has no searchable attribute", at: token.offset)
        }
        place += 1
        let attributes = index.index.parts.map { TextMatch.Attribute(slot: $0.slot) }
        return .matching(object, TextMatch(TextQuery(text), in: attributes))
    }

    private mutating func members(
        _ test: QueryNode.MemberTest
    ) throws(PredicateMistake) -> QueryNode {
        let start = token.offset
        let (place, name) = try walk()
        if let (elements, entity) = array(place, name) {
            return .elements(
                test, elements, try condition(for: (.element(scope: elements.scope), entity)))
        }
        guard let (members, target) = relationship(place, name) else {
            throw PredicateMistake(
                "\(name) is no relationship to many of \(place.entity.title), and no array of "
                    + "embedded values", at: start)
        }
        return .members(
            test, members, try condition(for: (.member(scope: members.scope), target)))
    }

    /// Returns the condition in braces that each member or element is tested with.
    private mutating func condition(for tested: Place) throws(PredicateMistake) -> QueryNode {
        try expect("{")
        let condition = try inside(tested) { parser throws(PredicateMistake) in
            try parser.either()
        }
        try expect("}")
        return condition
    }

    /// Parses what names refer to a member or an element in.
    mutating func inside<Part>(
        _ tested: Place, _ parse: (inout Self) throws(PredicateMistake) -> Part
    ) throws(PredicateMistake) -> Part {
        try nested { parser throws(PredicateMistake) in
            parser.scopes.append(tested)
            let part = try parse(&parser)
            parser.scopes.removeLast()
            return part
        }
    }

    private mutating func nested<Part>(
        _ parse: (inout Self) throws(PredicateMistake) -> Part
    ) throws(PredicateMistake) -> Part {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else {
            throw PredicateMistake(
                "expected at most \(Self.depthLimit) conditions within each other",
                at: token.offset)
        }
        return try parse(&self)
    }

    private mutating func comparison() throws(PredicateMistake) -> QueryNode {
        let start = token.offset
        let left = try operand()
        if take(word: "in") { return try membership(left, start) }
        guard let sign = PredicateOperator(token.kind) else {
            switch left {
            case .path(let path) where path.type == .bool: return path.node
            case .literal(.bool(let isTrue)):
                return isTrue ? .everything : .not(.everything)
            default: throw expected("a comparison")
            }
        }
        let place = token.offset
        self.place += 1
        let folding = takeFolding()
        let other = token.offset
        let right = try operand()
        let type = try type(left, start, right, other)
        var nodes = (try node(left, type, start), try node(right, type, other))
        let hasNil = [nodes.0, nodes.1].contains(.constant(.null))
        if let problem = sign.problem(type, hasNil: hasNil, isFolded: folding != nil) {
            throw PredicateMistake(problem, at: place)
        }
        if let folding { nodes.0 = .folded(nodes.0, folding) }
        return sign.node(nodes.0, nodes.1)
    }

    private mutating func takeFolding() -> TextFolding? {
        guard case .folding(let folding) = token.kind else { return nil }
        place += 1
        return folding
    }

    private mutating func membership(
        _ left: PredicateOperand, _ start: Int
    ) throws(PredicateMistake) -> QueryNode {
        guard case .path(let path) = left else {
            throw PredicateMistake("expected a property", at: start)
        }
        let place = token.offset
        let folding = takeFolding()
        if folding != nil, path.type != .string {
            throw PredicateMistake("only text can be folded, not \(path.type)", at: place)
        }
        try expect("[")
        var values: [Value] = []
        while !take("]") {
            if !values.isEmpty { try expect(",") }
            let offset = token.offset
            guard case .literal(let literal) = try operand() else {
                throw PredicateMistake("expected a value", at: offset)
            }
            values.append(try literal.value(of: path.type, at: offset))
        }
        return .isIn(folding.map { .folded(path.node, $0) } ?? path.node, values)
    }

    // MARK: Operands

    private mutating func operand() throws(PredicateMistake) -> PredicateOperand {
        let start = token
        switch token.kind {
        case .text(let text):
            place += 1
            return .literal(.text(text))
        case .number(let number):
            place += 1
            return .literal(.number(number))
        case .sign("-"):
            place += 1
            guard case .number(let number) = token.kind else { throw expected("a number") }
            place += 1
            return .literal(.number("-" + number))
        case .name("nil"), .name("null"):
            place += 1
            return .literal(.null)
        case .name("true"), .name("false"):
            place += 1
            return .literal(.bool(start.kind == .name("true")))
        case .name, .quotedName: return .path(try path())
        default: throw expected("a property or a value")
        }
    }

    /// Returns the type to which both sides are converted for the comparison.
    private func type(
        _ left: PredicateOperand, _ start: Int, _ right: PredicateOperand, _ other: Int
    ) throws(PredicateMistake) -> ValueType {
        switch (left, right) {
        case (.path(let left), .path(let right)):
            guard left.type == right.type else {
                throw PredicateMistake("expected \(left.type), not \(right.type)", at: other)
            }
            return left.type
        case (.path(let path), .literal), (.literal, .path(let path)): return path.type
        case (.literal, .literal):
            throw PredicateMistake("expected a property on one side", at: start)
        }
    }

    private func node(
        _ operand: PredicateOperand, _ type: ValueType, _ offset: Int
    ) throws(PredicateMistake) -> QueryNode {
        switch operand {
        case .path(let path): path.node
        case .literal(let literal): .constant(try literal.value(of: type, at: offset))
        }
    }
}

extension Entity {
    /// The name in messages; the entity of an array's elements has none.
    var title: String { name.isEmpty ? "the element" : name }
}
