// The bytes of an expression in a schema; docs/FileFormat.md describes them. Equal expressions have
// equal bytes.

extension QueryNode {
    /// The greatest number of nodes inside each other in a stored expression.
    static let depthLimit = 32
    /// The greatest number of bytes of a text in a stored expression.
    static let textByteLimit = 1024

    private enum Tag: UInt8 {
        case constant = 1
        case property, id, comparison, isIn, text, folded, all, any, not, arithmetic, coalesced
    }

    func encode(into buffer: inout ByteBuffer) {
        func put(_ tag: Tag, _ kind: UInt8? = nil, _ nodes: QueryNode...) {
            buffer.append(tag.rawValue)
            if let kind { buffer.append(kind) }
            for node in nodes { node.encode(into: &buffer) }
        }
        switch self {
        case .constant(let value):
            put(.constant)
            StoredConstant.encode(value, into: &buffer)
        case .property(let object, let slot):
            put(.property)
            object.encode(into: &buffer)
            buffer.append(UInt16(slot.index))
        case .id(let object):
            put(.id)
            object.encode(into: &buffer)
        case .comparison(let comparison, let one, let other):
            put(.comparison, comparison.code, one, other)
        case .isIn(let node, let values):
            put(.isIn, nil, node)
            buffer.append(UInt8(values.count))
            for value in values { StoredConstant.encode(value, into: &buffer) }
        case .text(let search, let one, let other): put(.text, search.code, one, other)
        case .folded(let node, let folding): put(.folded, folding.rawValue, node)
        case .all(let nodes), .any(let nodes):
            if case .all = self { put(.all) } else { put(.any) }
            buffer.append(UInt8(nodes.count))
            for node in nodes { node.encode(into: &buffer) }
        case .not(let node): put(.not, nil, node)
        case .arithmetic(let operation, let one, let other):
            put(.arithmetic, operation.code, one, other)
        case .coalesced(let one, let other): put(.coalesced, nil, one, other)
        case .members, .elements, .sealed, .matching, .rank:
            trap("a schema contains an expression over members, sealed values or a search")
        }
    }

    /// - Throws: `DecodingFailure`, also when the expression is nested too deeply.
    init(decoding reader: inout ByteReader, depth: Int = 0) throws {
        guard depth < Self.depthLimit else { throw DecodingFailure("a deeply nested expression") }
        guard let tag = Tag(rawValue: try reader.read()) else {
            throw DecodingFailure("an unknown expression")
        }
        func node() throws -> QueryNode {
            try QueryNode(decoding: &reader, depth: depth + 1)
        }
        func nodes() throws -> [QueryNode] {
            try (0..<(try reader.read(UInt8.self))).map { _ in try node() }
        }
        switch tag {
        case .constant: self = .constant(try StoredConstant.decode(&reader))
        case .property:
            self = .property(
                try QueryObject(decoding: &reader), slot: Slot(try reader.read(UInt16.self)))
        case .id: self = .id(try QueryObject(decoding: &reader))
        case .comparison:
            self = .comparison(try Self.decode(Comparison.codes, &reader), try node(), try node())
        case .isIn:
            let tested = try node()
            let values = try (0..<(try reader.read(UInt8.self))).map { _ in
                try StoredConstant.decode(&reader)
            }
            self = .isIn(tested, values)
        case .text: self = .text(try Self.decode(TextSearch.codes, &reader), try node(), try node())
        case .folded:
            let folding = TextFolding(rawValue: try reader.read())
            guard TextFolding([.caseInsensitive, .diacriticInsensitive]).isSuperset(of: folding)
            else { throw DecodingFailure("an unknown folding") }
            self = .folded(try node(), folding)
        case .all: self = .all(try nodes())
        case .any: self = .any(try nodes())
        case .not: self = .not(try node())
        case .arithmetic:
            self = .arithmetic(try Self.decode(Arithmetic.codes, &reader), try node(), try node())
        case .coalesced: self = .coalesced(try node(), try node())
        }
    }

    private static func decode<Kind>(
        _ kinds: [Kind], _ reader: inout ByteReader
    ) throws -> Kind {
        guard let kind = kinds.element(at: Int(try reader.read(UInt8.self))) else {
            throw DecodingFailure("an unknown operator")
        }
        return kind
    }
}

extension QueryNode.Comparison {
    fileprivate static let codes: [Self] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
    ]
    fileprivate var code: UInt8 { UInt8(Self.codes.firstIndex(of: self) ?? 0) }
}

extension QueryNode.TextSearch {
    fileprivate static let codes: [Self] = [.prefix, .suffix, .anywhere]
    fileprivate var code: UInt8 { UInt8(Self.codes.firstIndex(of: self) ?? 0) }
}

extension QueryNode.Arithmetic {
    fileprivate static let codes: [Self] = [.add, .subtract, .multiply, .divide, .remainder]
    fileprivate var code: UInt8 { UInt8(Self.codes.firstIndex(of: self) ?? 0) }
}

extension QueryObject {
    /// The greatest number of references on a stored path.
    static let stepLimit = 8

    /// The references on the path, the first one first; nil for a path that begins at a member.
    var steps: [(slot: Slot, entity: String)]? {
        switch self {
        case .root: []
        case .member, .element: nil
        case .target(let owner, let slot, let entity): owner.steps.map { $0 + [(slot, entity)] }
        }
    }

    fileprivate func encode(into buffer: inout ByteBuffer) {
        let steps = steps ?? []
        buffer.append(UInt8(steps.count))
        for (slot, entity) in steps {
            buffer.append(UInt16(slot.index))
            buffer.append(shortString: entity)
        }
    }

    fileprivate init(decoding reader: inout ByteReader) throws {
        let count = Int(try reader.read(UInt8.self))
        guard count <= Self.stepLimit else { throw DecodingFailure("a long path of references") }
        self = try (0..<count).reduce(.root) { owner, _ in
            let slot = Slot(try reader.read(UInt16.self))
            return .target(owner, slot: slot, entity: try reader.readShortString())
        }
    }
}

/// The value of a constant in a stored expression.
enum StoredConstant {
    private static let absent: UInt8 = 0
    /// The types that it can have.
    private static let types: [ValueType] = Value.ruleTypes + [.uuid]

    static func encode(_ value: Value, into buffer: inout ByteBuffer) {
        guard let type = value.type else { return buffer.append(absent) }
        buffer.append(type.rawValue)
        if let word = value.inlineWord { return buffer.append(word) }
        // Cannot throw: the schema has refused constants without bytes.
        let bytes = (try? value.tailBytes()) ?? []
        buffer.append(UInt16(bytes.count))
        bytes.withUnsafeBytes { buffer.append($0) }
    }

    static func decode(_ reader: inout ByteReader) throws -> Value {
        let tag: UInt8 = try reader.read()
        if tag == absent { return .null }
        guard let type = ValueType(rawValue: tag), types.contains(type) else {
            throw DecodingFailure("a constant of an unknown type")
        }
        if type.isInline { return try Value(inlineWord: try reader.read(), type: type) }
        let count = Int(try reader.read(UInt16.self))
        return try Value(tailBytes: try reader.read(byteCount: count), type: type)
    }

    /// Returns whether a stored expression can contain a value.
    static func allows(_ value: Value) -> Bool {
        guard let type = value.type else { return true }
        guard types.contains(type) else { return false }
        if value.inlineWord != nil { return true }
        return ((try? value.tailBytes())?.count ?? .max) <= QueryNode.textByteLimit
    }
}
