import Foundation
import Stet
import StetTestSupport

/// A condition twice: as a query, and as a plain Swift closure over objects.
struct SampleCondition<M: SampleModel> where M.Fields: SampleFields {
    let query: (M.Fields) -> QueryExpression<Bool>
    let plain: (M) -> Bool
    let text: String
}

/// An order of results, for a query and for plain Swift.
struct SampleOrder<M: SampleModel> where M.Fields: SampleFields {
    let query: (Fetch<M>) -> Fetch<M>
    /// Whether one comes before the other; nil when they are alike.
    let precedes: (M, M) -> Bool?
    let text: String
}

/// Makes conditions and orders by chance.
struct SampleQueries<M: SampleModel>
where M.Fields: SampleFields, M.Fields.BoxFields.Object == M.Box {
    typealias Condition = SampleCondition<M>
    typealias Fields = M.Fields
    var random: SeededGenerator
    private(set) var depth = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Values

    static var texts: [String] {
        let long = String(repeating: "x", count: 600)
        return [
            "", "a", "A", "ab", "abc", "e\u{301}", "\u{e9}", "\u{e9}t\u{e9}", "e", "E\u{301}te",
            "\r\n", "\r", "a\u{0}b", long, long + "a", long + "b", "stra\u{df}e", "STRASSE",
            "\u{1F468}\u{200D}\u{1F469}", "\u{1F468}", "i\u{307}", "\u{212B}", "\u{c5}",
        ]
    }
    static var numbers: [Int] { [.min, -3, -1, 0, 1, 2, 3, 4, 5, 1_000, .max] }
    static var reals: [Double] {
        [-.infinity, -1.5, -0.0, 0.0, 0.5, 1, 2, .infinity, .nan, .leastNonzeroMagnitude]
    }
    static var dates: [Date] {
        [-1, 0, 0.25, 1, 1e9].map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    static var prices: [Decimal] {
        ["-1.5", "0", "0.10", "0.1", "3", "1e20"].map { Decimal(string: $0)! }
    }

    mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &random)! }
    mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }

    /// Gives an object values by chance.
    mutating func fill(_ sample: M, _ boxes: [M.Box], _ others: [M]) {
        sample.number = pick(Self.numbers)
        sample.small = pick([-128, -1, 0, 1, 2, 127])
        sample.whole = pick([0, 1, 2, .max])
        sample.real = pick(Self.reals)
        sample.size = chance(3) ? nil : pick([0, 1, 2, 3])
        sample.text = pick(Self.texts)
        sample.note = chance(3) ? nil : pick(Self.texts)
        sample.date = pick(Self.dates)
        sample.flag = chance(2)
        sample.price = pick(Self.prices)
        sample.kind = pick(SampleKind.allCases)
        sample.box = chance(4) ? nil : boxes.randomElement(using: &random)
        if chance(2), let other = others.randomElement(using: &random) {
            sample.others.append(other)
        }
    }

    // MARK: Conditions

    mutating func condition() -> Condition {
        depth += 1
        defer { depth -= 1 }
        if depth < 4, chance(2) {
            let (one, other) = (condition(), condition())
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                return Condition(
                    query: { one.query($0) && other.query($0) },
                    plain: { one.plain($0) && other.plain($0) },
                    text: "(\(one.text) && \(other.text))")
            case 2, 3:
                return Condition(
                    query: { one.query($0) || other.query($0) },
                    plain: { one.plain($0) || other.plain($0) },
                    text: "(\(one.text) || \(other.text))")
            default:
                return Condition(
                    query: { !one.query($0) }, plain: { !one.plain($0) }, text: "!(\(one.text))")
            }
        }
        return leaf()
    }

    private mutating func leaf() -> Condition {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return ordered("number", { $0.number }, { $0.number }, Self.numbers)
        case 1: return ordered("small", { $0.small }, { $0.small }, [-128, -1, 0, 1, 127])
        case 2: return ordered("whole", { $0.whole }, { $0.whole }, [0, 1, 2, .max])
        case 3: return ordered("real", { $0.real }, { $0.real }, Self.reals)
        case 4: return ordered("text", { $0.text }, { $0.text }, Self.texts)
        case 5: return ordered("date", { $0.date }, { $0.date }, Self.dates)
        case 6: return ordered("price", { $0.price }, { $0.price }, Self.prices)
        case 7: return optional("size", { $0.size }, { $0.size }, [0, 1, 2, 3])
        case 8: return optional("note", { $0.note }, { $0.note }, Self.texts)
        case 9: return Condition(query: { $0.flag }, plain: { $0.flag }, text: "flag")
        case 10:
            let kind = pick(SampleKind.allCases)
            return Condition(
                query: { $0.kind == kind }, plain: { $0.kind == kind }, text: "kind == \(kind)")
        case 11: return search("text", { $0.text }, { $0.text })
        case 12: return folded()
        case 13: return reference()
        case 14: return box()
        case 15: return list()
        case 16: return members()
        case 17: return arithmetic()
        case 18:
            let low = pick([0, 1]), high = pick([1, 2, 5])
            return Condition(
                query: { (low...high).contains($0.number) },
                plain: { (low...high).contains($0.number) }, text: "\(low)...\(high) number")
        default: return boxSearch()
        }
    }

    private mutating func ordered<T: OrderedValue>(
        _ name: String, _ field: @escaping (Fields) -> QueryExpression<T>,
        _ value: @escaping (M) -> T, _ constants: [T]
    ) -> Condition {
        let constant = pick(constants)
        func make(
            _ symbol: String, _ query: @escaping (QueryExpression<T>) -> QueryExpression<Bool>,
            _ plain: @escaping (T) -> Bool
        ) -> Condition {
            Condition(
                query: { query(field($0)) }, plain: { plain(value($0)) },
                text: "\(name) \(symbol) \("\(constant)".prefix(12).debugDescription)")
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return make("==", { $0 == constant }, { $0 == constant })
        case 1: return make("!=", { $0 != constant }, { $0 != constant })
        case 2: return make("<", { $0 < constant }, { $0 < constant })
        case 3: return make("<=", { $0 <= constant }, { $0 <= constant })
        case 4: return make(">", { $0 > constant }, { $0 > constant })
        default: return make(">=", { $0 >= constant }, { $0 >= constant })
        }
    }

    private mutating func optional<T: OrderedValue>(
        _ name: String, _ field: @escaping (Fields) -> QueryExpression<T?>,
        _ value: @escaping (M) -> T?, _ constants: [T]
    ) -> Condition {
        let constant = pick(constants)
        func make(
            _ symbol: String, _ query: @escaping (QueryExpression<T?>) -> QueryExpression<Bool>,
            _ plain: @escaping (T?) -> Bool
        ) -> Condition {
            Condition(
                query: { query(field($0)) }, plain: { plain(value($0)) },
                text: "\(name)? \(symbol) \("\(constant)".prefix(12).debugDescription)")
        }
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return make("== nil", { $0 == nil }, { $0 == nil })
        case 1: return make("!= nil", { $0 != nil }, { $0 != nil })
        case 2: return make("==", { $0 == constant }, { $0 == constant })
        case 3: return make("!=", { $0 != constant }, { $0 != constant })
        case 4: return make("<", { $0 < constant }, { $0.map { $0 < constant } ?? false })
        case 5: return make(">=", { $0 >= constant }, { $0.map { $0 >= constant } ?? false })
        default:
            return make("?? >", { ($0 ?? constant) > constant }, { ($0 ?? constant) > constant })
        }
    }

    private mutating func search(
        _ name: String, _ field: @escaping (Fields) -> QueryExpression<String>,
        _ value: @escaping (M) -> String
    ) -> Condition {
        let part = pick(Self.texts)
        let characters = Array(part)
        let label = "\(part.prefix(12).debugDescription)"
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return Condition(
                query: { field($0).hasPrefix(part) },
                plain: { Array(value($0)).starts(with: characters) },
                text: "\(name) hasPrefix \(label)")
        case 1:
            return Condition(
                query: { field($0).hasSuffix(part) },
                plain: { Array(value($0).reversed()).starts(with: characters.reversed()) },
                text: "\(name) hasSuffix \(label)")
        default:
            return Condition(
                query: { field($0).contains(part) },
                plain: { Self.contains(Array(value($0)), characters) },
                text: "\(name) contains \(label)")
        }
    }

    private static func contains(_ text: [Character], _ part: [Character]) -> Bool {
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
    }

    private mutating func folded() -> Condition {
        let folding = pick([
            TextFolding.caseInsensitive, [.caseInsensitive, .diacriticInsensitive],
        ])
        let part = pick(Self.texts)
        let folded = part.folded(folding)
        let label = "\(folding.rawValue) \(part.prefix(12).debugDescription)"
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return Condition(
                query: { $0.text.folded(folding) == part },
                plain: { $0.text.folded(folding) == folded }, text: "text folded == \(label)")
        case 1:
            return Condition(
                query: { $0.note.folded(folding).hasPrefix(part) },
                plain: {
                    Array(($0.note ?? "?").folded(folding)).starts(with: Array(folded))
                        && $0.note != nil
                },
                text: "note folded hasPrefix \(label)")
        default:
            return Condition(
                query: { $0.text.folded(folding).contains(part) },
                plain: { Self.contains(Array($0.text.folded(folding)), Array(folded)) },
                text: "text folded contains \(label)")
        }
    }

    // MARK: Orders

    /// Returns an order by three properties, each in a direction of its own.
    private mutating func mixedOrder() -> SampleOrder<M> {
        let isDescending = (0..<3).map { _ in chance(2) }
        let directions: [SortDirection] = isDescending.map { $0 ? .descending : .ascending }
        return SampleOrder(
            query: {
                $0.sorted(by: \.small, directions[0]).then(by: \.text, directions[1])
                    .then(by: \.number, directions[2])
            },
            precedes: { one, other in
                if one.small != other.small { return (one.small < other.small) != isDescending[0] }
                if one.text != other.text { return (one.text < other.text) != isDescending[1] }
                if one.number == other.number { return nil }
                return (one.number < other.number) != isDescending[2]
            },
            text: "small \(directions[0]), text \(directions[1]), number \(directions[2])")
    }

    mutating func order() -> SampleOrder<M>? { chance(3) ? mixedOrder() : singleOrder() }

    private mutating func singleOrder() -> SampleOrder<M>? {
        let isDescending = chance(2)
        let direction: SortDirection = isDescending ? .descending : .ascending
        func make<T: Equatable>(
            _ text: String, _ value: @escaping (M) -> T, _ isBelow: @escaping (T, T) -> Bool,
            _ query: @escaping (Fetch<M>) -> Fetch<M>
        ) -> SampleOrder<M> {
            SampleOrder(
                query: query,
                precedes: { one, other in
                    let (left, right) = (value(one), value(other))
                    if isBelow(left, right) { return !isDescending }
                    if isBelow(right, left) { return isDescending }
                    return nil
                }, text: "\(text) \(direction)")
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return make("number", { $0.number }, <) { $0.sorted(by: \.number, direction) }
        case 1: return make("text", { $0.text }, <) { $0.sorted(by: \.text, direction) }
        case 2:
            return make("real", { $0.real }, { $0.isNaN ? false : $1.isNaN ? true : $0 < $1 }) {
                $0.sorted(by: \.real, direction)
            }
        case 3:
            return make("size", { $0.size ?? -1 }, <) { $0.sorted(by: \.size, direction) }
        case 4:
            return make("box", { $0.box?.name ?? "" }, <) { $0.sorted(by: \.box?.name, direction) }
        case 5:
            return make(
                "note", { $0.note?.folded([.caseInsensitive, .diacriticInsensitive]) ?? " " },
                {
                    ($0 == " " ? "" : "+" + $0) < ($1 == " " ? "" : "+" + $1)
                }
            ) { fetch in
                fetch.sorted(
                    by: { $0.note.folded([.caseInsensitive, .diacriticInsensitive]) }, direction)
            }
        default: return nil
        }
    }
}
