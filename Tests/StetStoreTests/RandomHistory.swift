import Foundation
import StetStore
import StetTestSupport

/// Random values and random edits of a library: small pools, so that objects are changed, deleted
/// and inserted again.
struct RandomHistory {
    var random: SeededGenerator
    /// Objects of each entity that may exist.
    var poolSize = 5

    init(seed: UInt64, stream: Int = 0) {
        random = SeededGenerator(seed: seed, stream: stream)
    }

    static let texts = [
        "", "a", "Swift", "e\u{301}", "\u{e9}", "\u{1100}\u{1161}", "가", "👩‍👩‍👧", "\r\n", "\0",
        "\u{212b}", "A\u{30a}", "ﬁ", "\u{fffd}", "q\u{323}\u{307}", "q\u{307}\u{323}",
        String(repeating: "long ", count: 50),
    ]

    private mutating func isTrue(oneIn count: Int) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    mutating func value(_ type: ValueType) -> Value {
        switch type {
        case .bool: return .bool(Bool.random(using: &random))
        case .int:
            let numbers = [0, 1, -1, Int.max, Int.min, 4_711]
            return .int(numbers.randomElement(using: &random) ?? 0)
        case .double: return .double(double())
        case .date: return .date(Date(timeIntervalSinceReferenceDate: double()))
        case .string: return .string(Self.texts.randomElement(using: &random) ?? "")
        case .data:
            let count = [0, 1, 7, 8, 300].randomElement(using: &random) ?? 0
            return .data(Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
        case .uuid: return .uuid(ObjectID(high: random.next(), low: random.next()).uuid)
        case .reference: return .null
        default: return laterValue(type)
        }
    }

    private mutating func laterValue(_ type: ValueType) -> Value {
        switch type {
        case .int8: return .int(Int(Int8.random(in: .min ... .max, using: &random)))
        case .int16: return .int(Int(Int16.random(in: .min ... .max, using: &random)))
        case .int32: return .int(Int(Int32.random(in: .min ... .max, using: &random)))
        case .uint: return .uint([0, 1, .max].randomElement(using: &random) ?? random.next())
        case .uint8: return .uint(UInt64(UInt8.random(in: .min ... .max, using: &random)))
        case .uint16: return .uint(UInt64(UInt16.random(in: .min ... .max, using: &random)))
        case .uint32: return .uint(UInt64(UInt32.random(in: .min ... .max, using: &random)))
        case .float: return .float(Float(double()))
        case .decimal: return .decimal(decimal())
        case .url:
            let text = ["a", "http://example.org/%20?q#f", "file:///tmp/"]
                .randomElement(using: &random)
            return text.flatMap { URL(string: $0) }.map(Value.url) ?? .null
        case .list: return .list(elements())
        case .dictionary:
            let keys = elements()
            return .dictionary(Dictionary(keys.map { ($0, $0) }, uniquingKeysWith: { $1 }))
        default: return .codable("{\"value\":\(Int(bitPattern: UInt(random.next())))}")
        }
    }

    /// At most three values of one type.
    private mutating func elements() -> [Value] {
        let types: [ValueType] = [.bool, .int, .float, .string, .data, .uuid, .decimal]
        let type = types.randomElement(using: &random) ?? .bool
        return (0..<Int.random(in: 0...3, using: &random)).map { _ in value(type) }
    }

    private mutating func decimal() -> Decimal {
        let digits = Decimal(string: "\(UInt128(random.next()) << 64 | UInt128(random.next()))")
        let exponent = Int.random(in: -128...127, using: &random)
        let extremes = [Decimal(0), .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude]
        return isTrue(oneIn: 4)
            ? extremes.randomElement(using: &random) ?? 0
            : Decimal(
                sign: isTrue(oneIn: 2) ? .plus : .minus, exponent: exponent,
                significand: isTrue(oneIn: 2) ? digits ?? 1 : 100)
    }

    private mutating func double() -> Double {
        let numbers = [0, -0.0, 1.5, .nan, .infinity, -.infinity, .leastNonzeroMagnitude]
        return numbers.randomElement(using: &random) ?? 0
    }

    /// Values for all properties, references to objects of `state` included.
    mutating func values(_ entity: Entity, _ schema: Schema, _ state: Library.State) -> [Value] {
        entity.properties.map { property in
            if property.isOptional, isTrue(oneIn: 3) { return .null }
            guard let target = property.target, let number = schema.number(ofEntity: target) else {
                return value(property.type)
            }
            let targets = state.values.keys.filter { $0.entity == number }.sorted()
            return targets.randomElement(using: &random).map { .reference($0.id) } ?? .null
        }
    }

    /// The edits of one commit; never none, each with a net effect.
    mutating func edits(of library: Library) -> [Edit] {
        let schema = library.file.schema
        while true {
            var state = library.now
            for _ in 0..<Int.random(in: 1...6, using: &random) { step(&state, schema) }
            let keys = Set(state.values.keys).union(library.now.values.keys).sorted()
            let edits = keys.compactMap { key -> Edit? in
                let (old, new) = (library.now.values[key], state.values[key])
                if old?.map(\.cell) == new?.map(\.cell) { return nil }
                return library.edit(key, new)
            }
            if !edits.isEmpty { return edits }
        }
    }

    private mutating func step(_ state: inout Library.State, _ schema: Schema) {
        let entity = EntityNumber(
            index: Int.random(in: schema.entities.indices, using: &random))
        let key = ObjectKey(
            entity, entity.rawValue * 100 + Int.random(in: 0..<poolSize, using: &random))
        let description = schema.entities[entity]
        guard let values = state.values[key] else {
            state.values[key] = self.values(description, schema, state)
            return
        }
        if isTrue(oneIn: 4) {
            state.values[key] = nil
            for (other, values) in state.values {
                state.values[other] = values.map { $0 == .reference(key.id) ? .null : $0 }
            }
        } else {
            var changed = values
            let fresh = self.values(description, schema, state)
            let slot = Int.random(in: 0..<changed.count, using: &random)
            changed[slot] = fresh[slot]
            state.values[key] = changed
        }
    }
}
