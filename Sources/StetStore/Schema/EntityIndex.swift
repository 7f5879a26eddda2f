/// How the text of an index is compared beyond what `String` does by itself.
public struct TextFolding: OptionSet, Hashable, Sendable {
    /// The bits as a schema stores them.
    public let rawValue: UInt8

    /// Options with these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// "a" is "A", "ß" is "ss": as after `uppercased().lowercased()`.
    public static let caseInsensitive = TextFolding(rawValue: 1)
    /// "e" is "é": accents, Hebrew and Arabic points do not count; marks that make another letter
    /// of theirs, as in Devanagari, Thai or kana, do.
    public static let diacriticInsensitive = TextFolding(rawValue: 2)
}

/// An index of an entity: one or several of its properties, by whose values its objects are found
/// in order.
public struct EntityIndex: Hashable, Sendable {
    /// One property of an index.
    public struct Part: Hashable, Sendable {
        /// The slot of the property.
        public let slot: Slot
        /// How its text is compared.
        public let folding: TextFolding

        /// A property of an index.
        public init(slot: Slot, folding: TextFolding = []) {
            self.slot = slot
            self.folding = folding
        }
    }

    /// The properties, the one that is compared first at first.
    public let parts: [Part]
    /// True when no two objects may have the same values; nil is never the same as nil.
    public let isUnique: Bool

    /// An index.
    public init(_ parts: [Part], isUnique: Bool = false) {
        self.parts = parts
        self.isUnique = isUnique
    }
}

extension [EntityIndex] {
    /// In the one order that a schema has them in, each once; a unique index serves as a plain one,
    /// too.
    func normalized() -> [EntityIndex] {
        var normalized: [EntityIndex] = []
        for index in sorted(by: { $0.precedes($1) })
        where normalized.last?.parts != index.parts { normalized.append(index) }
        return normalized
    }
}

extension EntityIndex {
    fileprivate func precedes(_ other: EntityIndex) -> Bool {
        for (one, other) in zip(parts, other.parts) where one != other {
            return (one.slot, one.folding.rawValue) < (other.slot, other.folding.rawValue)
        }
        if parts.count != other.parts.count { return parts.count < other.parts.count }
        return isUnique && !other.isUnique
    }

    /// Why an entity cannot have the index; nil when it can.
    func problem(in entity: Entity) -> String? {
        if !(1...Limits.indexPropertyCount).contains(parts.count) {
            return "an index of \(entity.name) needs 1 to \(Limits.indexPropertyCount) properties"
        }
        if Set(parts.map(\.slot)).count < parts.count {
            return "an index of \(entity.name) names a property twice"
        }
        for part in parts {
            guard let property = entity.properties.element(at: part.slot) else {
                return "an index of \(entity.name) names a property that is not there"
            }
            let label = "\(entity.name).\(property.name)"
            if ([property.type] + property.elements).contains(where: { !$0.isOrdered }) {
                return "\(label) is a \(property.typeDescription), which has no order for an index"
            }
            if !TextFolding([.caseInsensitive, .diacriticInsensitive]).isSuperset(of: part.folding)
                || (!part.folding.isEmpty && property.type != .string)
            {
                return "the index compares \(label) in a way that a \(property.type) has not"
            }
        }
        return nil
    }

    /// The index as it is told: "unique (city, name case-insensitive)".
    package func description(in entity: Entity) -> String {
        let names = parts.map { part in
            (entity.properties.element(at: part.slot)?.name ?? "?") + part.folding.description
        }
        return "\(isUnique ? "unique" : "index") (\(names.joined(separator: ", ")))"
    }
}

extension TextFolding {
    fileprivate var description: String {
        (contains(.caseInsensitive) ? " case-insensitive" : "")
            + (contains(.diacriticInsensitive) ? " diacritic-insensitive" : "")
    }
}

extension ValueType {
    /// True when an index can hold such values.
    fileprivate var isOrdered: Bool { ![.dictionary, .codable].contains(self) }
}

/// An index of a schema, with the number that its entries begin with.
package struct NumberedIndex: Hashable, Sendable {
    /// Another one than that of any other index of the schema; migrations keep it.
    package let number: Int
    package let entity: EntityNumber
    package let index: EntityIndex
}

extension Schema {
    /// The index with a number; nil when there is none.
    package func index(numbered number: Int) -> NumberedIndex? {
        indexes.first { $0.number == number }
    }

    /// The indexes of an entity.
    package func indexes(ofEntity entity: EntityNumber) -> [NumberedIndex] {
        indexes.filter { $0.entity == entity }
    }

    static func numbered(_ entities: [Entity], _ numbers: [Int]?) -> [NumberedIndex] {
        var indexes: [NumberedIndex] = []
        for (entityNumber, entity) in entities.numbered {
            for index in entity.indexes {
                let next = indexes.count + 1
                let number = numbers.map { $0.element(at: next - 1) ?? 0 } ?? next
                indexes.append(NumberedIndex(number: number, entity: entityNumber, index: index))
            }
        }
        return indexes
    }
}

// MARK: - In the bytes of a schema

extension EntityIndex {
    private static let unique: UInt8 = 1

    func encode(into buffer: inout ByteBuffer) {
        buffer.append(isUnique ? Self.unique : 0)
        buffer.append(UInt8(parts.count))
        for part in parts {
            buffer.append(UInt16(part.slot.index))
            buffer.append(part.folding.rawValue)
        }
    }

    init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        let flags: UInt8 = try reader.read()
        guard flags & ~Self.unique == 0 else {
            throw DecodingFailure("an index of a later format")
        }
        var parts: [Part] = []
        for _ in 0..<(try reader.read(UInt8.self)) {
            let slot: UInt16 = try reader.read()
            let folding: UInt8 = try reader.read()
            parts.append(Part(slot: Slot(slot), folding: TextFolding(rawValue: folding)))
        }
        self.init(parts, isUnique: flags == Self.unique)
    }
}
