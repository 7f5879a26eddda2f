import FoundationEssentials

// The bytes of a schema in the store; docs/FileFormat.md describes them. Equal schemas have
// equal bytes.

extension Schema {
    private static let format: UInt8 = 1
    /// The bit beside the number of relationships, which is never that large.
    private static let protectedBit: UInt16 = 1 << 15

    package func encoded() -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(Self.format)
        var indexNumbers = indexes.lazy.map(\.number).makeIterator()
        var endNumbers = ends.lazy.map(\.number.rawValue).makeIterator()
        buffer.append(UInt32(revision))
        buffer.append(UInt16(entities.count))
        for entity in entities {
            buffer.append(shortString: entity.name)
            buffer.append(UInt16(entity.properties.count))
            for property in entity.properties {
                property.encode(into: &buffer)
                if property.type == .reference { buffer.append(endNumbers.next() ?? 0) }
            }
            buffer.append(UInt8(entity.indexes.count))
            for index in entity.indexes {
                index.encode(into: &buffer)
                buffer.append(UInt16(indexNumbers.next() ?? 0))
            }
            buffer.append(
                UInt16(entity.relationships.count) | (entity.isProtected ? Self.protectedBit : 0))
            for relationship in entity.relationships { relationship.encode(into: &buffer) }
        }
        buffer.append(UInt16(links.count))
        for link in links {
            link.encode(into: &buffer)
            if link.isRemoved { continue }
            for _ in 0..<2 { buffer.append(endNumbers.next() ?? 0) }
        }
        return Array(buffer.bytes)
    }

    /// - Throws: `DecodingFailure`, also for well-formed bytes whose contents are invalid.
    package init(decoding bytes: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(bytes)
        guard try reader.read() == Self.format else {
            throw DecodingFailure("a schema in an unknown format")
        }
        var indexNumbers: [Int] = []
        var endNumbers: [EndNumber] = []
        let revision = Int(try reader.read(UInt32.self))
        let entities = try (0..<(try reader.read(UInt16.self))).map { _ in
            let name = try reader.readShortString()
            let count = try reader.read(UInt16.self)
            let properties = try (0..<count).map { _ in
                let property = try Property(decoding: &reader)
                if property.type == .reference { endNumbers.append(EndNumber(try reader.read())) }
                return property
            }
            let indexes = try (0..<(try reader.read(UInt8.self))).map { _ in
                let index = try EntityIndex(decoding: &reader)
                indexNumbers.append(Int(try reader.read(UInt16.self)))
                return index
            }
            let word = try reader.read(UInt16.self)
            let relationships = try (0..<word & ~Self.protectedBit).map { _ in
                try Relationship(decoding: &reader)
            }
            return Entity(
                name: name, properties: properties, indexes: indexes,
                relationships: relationships, isProtected: word & Self.protectedBit != 0)
        }
        let links = try (0..<(try reader.read(UInt16.self))).map { _ in
            let link = try LinkType(decoding: &reader)
            for _ in 0..<(link.isRemoved ? 0 : 2) {
                endNumbers.append(EndNumber(try reader.read()))
            }
            return link
        }
        try reader.expectEnd()
        do {
            try self.init(
                revision: revision, numbered: entities, links: links,
                indexNumbers: indexNumbers, endNumbers: endNumbers)
        } catch let error as StoreError {
            throw DecodingFailure(error.message)
        }
        guard encoded().elementsEqual(bytes) else {
            throw DecodingFailure("a schema that is not written in the one way there is")
        }
    }
}

extension Property {
    private static let isOptionalFlag: UInt8 = 1
    private static let hasPositionFlag: UInt8 = 2
    private static let isHiddenFlag: UInt8 = 4
    private static let isCounterFlag: UInt8 = 8
    private static let isDerivedFlag: UInt8 = 16
    private static let isSealedFlag: UInt8 = 32
    private static let isLargeFlag: UInt8 = 64
    private static let knownFlags =
        isOptionalFlag | hasPositionFlag | isHiddenFlag | isCounterFlag | isDerivedFlag
        | isSealedFlag | isLargeFlag

    fileprivate func encode(into buffer: inout ByteBuffer) {
        buffer.append(shortString: name)
        buffer.append(type.rawValue)
        for element in elements { buffer.append(element.rawValue) }
        buffer.append(
            (isOptional ? Self.isOptionalFlag : 0) | (hasPosition ? Self.hasPositionFlag : 0)
                | (isHidden ? Self.isHiddenFlag : 0) | (isCounter ? Self.isCounterFlag : 0)
                | (isDerived ? Self.isDerivedFlag : 0) | (seal == nil ? 0 : Self.isSealedFlag)
                | (isLarge ? Self.isLargeFlag : 0))
        buffer.append(shortString: target ?? "")
        buffer.append(stamp?.rawValue ?? 0)
        buffer.append(UInt8(normalizers.count))
        for normalizer in normalizers { buffer.append(normalizer.rawValue) }
        buffer.append(UInt8(rules.count))
        for rule in rules { rule.encode(into: &buffer) }
        buffer.append(deleteRule.rawValue)
        derivation?.encode(into: &buffer)
        switch seal {
        case .own?: buffer.append(shortString: "")
        case .reference(let name)?: buffer.append(shortString: name)
        case nil: break
        }
        embedded?.encode(into: &buffer)
    }

    // A member of an element is no array of other elements: bytes could nest these more deeply than
    // the stack allows.
    fileprivate init(decoding reader: inout ByteReader, isMember: Bool = false) throws {
        let name = try reader.readShortString()
        func readType() throws -> ValueType {
            guard let type = ValueType(rawValue: try reader.read()) else {
                throw DecodingFailure("a property of an unknown type")
            }
            return type
        }
        let type = try readType()
        let elements = try (0..<type.elementTypeCount).map { _ in try readType() }
        let flags: UInt8 = try reader.read()
        guard flags & ~Self.knownFlags == 0 else {
            throw DecodingFailure("a property of a later format")
        }
        let target = try reader.readShortString()
        let stamp = try reader.read(UInt8.self)
        let normalizers = try (0..<(try reader.read(UInt8.self))).map { _ in
            guard let normalizer = Normalizer(rawValue: try reader.read()) else {
                throw DecodingFailure("an unknown normalizer")
            }
            return normalizer
        }
        let rules = try (0..<(try reader.read(UInt8.self))).map { _ in
            try Rule(decoding: &reader)
        }
        let deleteRule = try DeleteRule(decoding: &reader)
        let isDerived = flags & Self.isDerivedFlag != 0
        let derivation = isDerived ? try QueryNode(decoding: &reader) : nil
        let owner = flags & Self.isSealedFlag != 0 ? try reader.readShortString() : nil
        let property = Property(
            name: name, type: type, elements: elements,
            isOptional: flags & Self.isOptionalFlag != 0, target: target.isEmpty ? nil : target,
            hasPosition: flags & Self.hasPositionFlag != 0, rules: rules, normalizers: normalizers,
            stamp: Stamp(rawValue: stamp), deleteRule: deleteRule,
            isHidden: flags & Self.isHiddenFlag != 0,
            isCounter: flags & Self.isCounterFlag != 0,
            seal: owner.map { $0.isEmpty ? .own : .reference($0) },
            isLarge: flags & Self.isLargeFlag != 0)
        if isMember, elements.contains(.embedded) {
            throw DecodingFailure("an array within an element of an array")
        }
        let array =
            elements.contains(.embedded)
            ? property.array(of: try EmbeddedElements(decoding: &reader)) : property
        self = derivation.map(array.derived(by:)) ?? array
    }
}

extension EmbeddedElements {
    /// The number in place of a slot for elements without an identity.
    private static let noIdentity = UInt16.max

    fileprivate func encode(into buffer: inout ByteBuffer) {
        buffer.append(UInt16(entity.properties.count))
        for member in entity.properties { member.encode(into: &buffer) }
        buffer.append(identity.map { UInt16($0.index) } ?? Self.noIdentity)
    }

    fileprivate init(decoding reader: inout ByteReader) throws {
        let members = try (0..<(try reader.read(UInt16.self))).map { _ in
            try Property(decoding: &reader, isMember: true)
        }
        let identity = try reader.read(UInt16.self)
        self.init(
            members: members, identity: identity == Self.noIdentity ? nil : Slot(identity))
    }
}

extension Rule {
    private static let absent: UInt8 = 0

    fileprivate func encode(into buffer: inout ByteBuffer) {
        switch self {
        case .required: buffer.append(UInt8(1))
        case .notEmpty: buffer.append(UInt8(2))
        case .length(let minimum, let maximum):
            buffer.append(UInt8(3))
            for bound in [minimum.map(Value.int), maximum.map(Value.int)] {
                Self.encode(bound, into: &buffer)
            }
        case .range(let minimum, let maximum):
            buffer.append(UInt8(4))
            for bound in [minimum, maximum] { Self.encode(bound, into: &buffer) }
        case .matches(let pattern):
            buffer.append(UInt8(5))
            buffer.append(shortString: pattern)
        case .oneOf(let values):
            buffer.append(UInt8(6))
            buffer.append(UInt8(values.count))
            for value in values { Self.encode(value, into: &buffer) }
        }
    }

    private static func encode(_ bound: Value?, into buffer: inout ByteBuffer) {
        guard let bound, let type = bound.type else { return buffer.append(absent) }
        buffer.append(type.rawValue)
        switch bound {
        case .decimal(let decimal):
            buffer.append(UInt8(decimal.storedBytes.count))
            decimal.storedBytes.withUnsafeBytes { buffer.append($0) }
        case .string(let text): buffer.append(shortString: text)
        default: buffer.append(bound.inlineWord ?? 0)
        }
    }

    fileprivate init(decoding reader: inout ByteReader) throws {
        func bound() throws -> Value? {
            let tag: UInt8 = try reader.read()
            if tag == Self.absent { return nil }
            guard let type = ValueType(rawValue: tag), Value.ruleTypes.contains(type) else {
                throw DecodingFailure("a bound of an unknown type")
            }
            if type == .string { return .string(try reader.readShortString()) }
            if type == .decimal {
                let count = Int(try reader.read(UInt8.self))
                return .decimal(try Decimal(storedBytes: try reader.read(byteCount: count)))
            }
            return try Value(inlineWord: try reader.read(), type: type)
        }
        func length() throws -> Int? {
            guard let bound = try bound() else { return nil }
            guard case .int(let length) = bound else {
                throw DecodingFailure("a length that is no number")
            }
            return length
        }
        switch try reader.read(UInt8.self) {
        case 1: self = .required
        case 2: self = .notEmpty
        case 3: self = .length(minimum: try length(), maximum: try length())
        case 4: self = .range(minimum: try bound(), maximum: try bound())
        case 5: self = .matches(try reader.readShortString())
        case 6:
            self = .oneOf(
                try (0..<(try reader.read(UInt8.self))).map { _ in try bound() ?? .null })
        default: throw DecodingFailure("an unknown rule")
        }
    }
}

extension Value {
    /// The 8 bytes of a value that fits a slot; nil for other values.
    package var inlineWord: UInt64? {
        switch self {
        case .bool(let value): value ? 1 : 0
        case .int(let value): UInt64(bitPattern: Int64(value))
        case .uint(let value): value
        case .float(let value): UInt64(value.bitPattern)
        case .double(let value): value.bitPattern
        case .date(let value): value.word
        default: nil
        }
    }

    /// - Throws: `DecodingFailure` when the number has more bits than its type.
    package init(inlineWord word: UInt64, type: ValueType) throws(DecodingFailure) {
        let int = Int(truncatingIfNeeded: word)
        let fits: Bool
        switch type {
        case .int8: fits = Int8(exactly: int) != nil
        case .int16: fits = Int16(exactly: int) != nil
        case .int32: fits = Int32(exactly: int) != nil
        case .uint8: fits = word <= UInt8.max
        case .uint16: fits = word <= UInt16.max
        case .uint32, .float: fits = word <= UInt32.max
        default: fits = true
        }
        guard fits else { throw DecodingFailure("a number that is no \(type)") }
        switch type.widest {
        case .bool: self = .bool(word != 0)
        case .uint: self = .uint(word)
        case .float: self = .float(Float(bitPattern: UInt32(truncatingIfNeeded: word)))
        case .double: self = .double(Double(bitPattern: word))
        case .date: self = .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: word)))
        default: self = .int(int)
        }
    }
}

extension Property {
    /// The type as text: "string", "[string: int]?", "Notebook?".
    package var typeDescription: String {
        let elements = elements.map { "\($0)" }.joined(separator: ": ")
        let type = seal != nil ? "sealed value" : isLarge ? "large data" : "\(type)"
        return (target ?? (elements.isEmpty ? type : "[\(elements)]"))
            + (isOptional ? "?" : "")
    }
}
