import FoundationEssentials
import StetStore

// The two sides of a comparison, and the conversion of text to a value.

/// A side of a comparison.
enum PredicateOperand {
    case path(PredicatePath)
    case literal(PredicateLiteral)
}

/// The value that names refer to.
struct PredicatePath {
    let node: QueryNode
    /// The type of the value, for numbers the widest one.
    let type: ValueType
}

/// A literal, which is converted to the type that it is compared with.
enum PredicateLiteral {
    case null
    case bool(Bool)
    case number(String)
    case text(String)

    func value(of type: ValueType, at offset: Int) throws(PredicateMistake) -> Value {
        let value: Value? =
            switch (self, type) {
            case (.null, _): .null
            case (.bool(let value), .bool): .bool(value)
            case (.number(let text), .int), (.number(let text), .uint),
                (.number(let text), .float), (.number(let text), .double),
                (.number(let text), .decimal):
                ValueReader(type).value(text: text)
            case (.text(let text), .string): .string(text)
            case (.text(let text), .date), (.text(let text), .uuid), (.text(let text), .url),
                (.text(let text), .data):
                ValueReader(type).value(text: text)
            case (.text(let text), .reference): ObjectID(text).map { .reference($0) }
            default: nil
            }
        guard let value else {
            throw PredicateMistake("expected \(type.expectation), but found \(text)", at: offset)
        }
        return value
    }

    private var text: String {
        switch self {
        case .null: "nil"
        case .bool(let value): "\(value)"
        case .number(let text): text
        case .text(let text): "\"\(text)\""
        }
    }
}

/// An operator between two sides.
enum PredicateOperator {
    case comparison(QueryNode.Comparison)
    case search(QueryNode.TextSearch)

    init?(_ kind: PredicateToken.Kind) {
        switch kind {
        case .sign("=="): self = .comparison(.equal)
        case .sign("!="): self = .comparison(.notEqual)
        case .sign("<"): self = .comparison(.less)
        case .sign("<="): self = .comparison(.lessOrEqual)
        case .sign(">"): self = .comparison(.greater)
        case .sign(">="): self = .comparison(.greaterOrEqual)
        case .name(let word): self.init(word: word)
        default: return nil
        }
    }

    init?(word: String) {
        switch word {
        case "contains": self = .search(.anywhere)
        case "hasPrefix", "beginsWith": self = .search(.prefix)
        case "hasSuffix", "endsWith": self = .search(.suffix)
        default: return nil
        }
    }

    /// Returns the reason why the operator cannot be applied to two values of a type, one of which
    /// may be nil; nil when it can.
    func problem(_ type: ValueType, hasNil: Bool, isFolded: Bool) -> String? {
        if isFolded, type != .string { return "only text can be folded, not \(type)" }
        switch self {
        case .comparison(.equal), .comparison(.notEqual): return nil
        case .comparison:
            if !type.isOrdered { return "\(type) has no order: expected == or !=" }
            return hasNil ? "nil has no order: expected == or !=" : nil
        case .search:
            if type == .string, !hasNil { return nil }
            return "expected text on both sides, not \(hasNil ? "nil" : "\(type)")"
        }
    }

    func node(_ left: QueryNode, _ right: QueryNode) -> QueryNode {
        switch self {
        case .comparison(let comparison): .comparison(comparison, left, right)
        case .search(let search): .text(search, left, right)
        }
    }
}

extension ValueType {
    /// True when the values of the type have an order.
    var isOrdered: Bool {
        ![.list, .dictionary, .codable, .embedded].contains(self)
    }

    /// True for integers, floating-point numbers and decimals.
    var isNumber: Bool { [.int, .uint, .float, .double, .decimal].contains(widest) }

    /// A description of a literal of the type, with an article.
    var expectation: String {
        switch widest {
        case .bool: "true or false"
        case .int: "an integer"
        case .uint: "an integer without a sign"
        case .float, .double, .decimal: "a number"
        case .date: "a date, \"2026-01-31\" or \"2026-01-31T12:00:00Z\""
        case .string: "text"
        case .data: "data in base64"
        case .uuid: "a UUID"
        case .url: "a URL"
        case .reference: "the id of an object"
        case .list: "a list"
        case .dictionary: "a dictionary"
        case .codable: "JSON"
        default: "\(self)"
        }
    }
}
