/// The object that a query currently tests, and the members that its conditions test.
struct QueryFrame {
    private let source: QueryState?
    var root: QueryState.Row
    /// The members, from the outermost condition of members inwards.
    var members: [QueryState.Row] = []
    /// The rank of an object that is known by its place only; nil where it is computed.
    let rank: Double?

    init(_ state: QueryState, _ root: QueryState.Row, rank: Double? = nil) {
        source = state
        self.root = root
        self.rank = rank
    }

    /// Creates a frame of an object for conditions that read nothing else.
    init(alone root: QueryState.Row) {
        source = nil
        self.root = root
        rank = nil
    }

    /// The objects that a query reads besides the tested one.
    var state: QueryState {
        guard let source else { trap("a condition of an index reads other objects") }
        return source
    }

    /// Creates a frame without an object.
    init(_ state: QueryState) {
        self.init(state, .none)
    }
}

/// A path from the object that a query tests to one that a program reads.
indirect enum QueryPlace {
    case root
    case member(depth: Int)
    /// The target of another object's reference; `entity` is the number of the target's entity.
    case target(QueryPlace, slot: Slot, entity: EntityNumber)

    /// Returns the object; nil when a reference on the path is nil.
    func row(_ frame: inout QueryFrame) throws -> QueryState.Row? {
        switch self {
        case .root: return frame.root
        case .member(let depth): return frame.members[depth]
        case .target(let owner, let slot, let entity):
            guard let id = try owner.row(&frame)?.reference(slot) else { return nil }
            return try frame.state.target(entity, id)
        }
    }
}

/// A condition for an object: a part of a compiled query.
class QueryCondition {
    func test(_ frame: inout QueryFrame) throws -> Bool {
        trap("a condition without a test")
    }
}

/// An expression with a value for an object: a part of a compiled query.
class QueryOperand {
    func value(_ frame: inout QueryFrame) throws -> Value {
        trap("an operand without a value")
    }

    /// Appends the bytes by whose order objects are sorted.
    func appendKey(_ frame: inout QueryFrame, to bytes: inout [UInt8]) throws {
        guard OrderedKey.append(try value(&frame), to: &bytes) else {
            throw DecodingFailure("a value without an order")
        }
    }
}

extension QueryState.Row {
    /// Returns the stored bytes of a property; nil when it has no value.
    func cell(_ slot: Slot, _ type: ValueType) throws(DecodingFailure) -> Cell? {
        var reader = reader
        if reader.isNull(slot: slot) { return nil }
        if type.isInline { return .word(reader.word(slot: slot)) }
        let bytes = reader.bytes(slot: slot)
        guard !reader.isDamaged, !type.isSixteenBytes || bytes.count >= 16 else {
            throw DecodingFailure("a value of object \(id) is damaged")
        }
        // Drops the position: to a query a reference is the object's id.
        if type == .reference { return .bytes(UnsafeRawBufferPointer(rebasing: bytes[..<16])) }
        return .bytes(bytes)
    }
}
