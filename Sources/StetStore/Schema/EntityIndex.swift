/// An index of an entity: one or more properties, by whose values the objects are found in order.
public struct EntityIndex: Hashable, Sendable {
    /// One property of an index.
    public struct Part: Hashable, Sendable {
        /// The slot of the property.
        public let slot: Slot
        /// The comparison of its text.
        public let folding: TextFolding
        /// The language by whose rules its words are stemmed; nil when they are not.
        package let language: TextLanguage?

        /// Creates a part of an index.
        public init(slot: Slot, folding: TextFolding = []) {
            self.slot = slot
            self.folding = folding
            language = nil
        }

        /// Creates a part of an index of words.
        package init(slot: Slot, language: TextLanguage?) {
            self.slot = slot
            folding = []
            self.language = language
        }
    }

    private struct Description: Hashable {
        let parts: [Part]
        let isUnique: Bool
        let contents: Contents
        let condition: QueryNode?
        let textVersion: UInt16?
    }
    /// Shared, because queries copy indexes.
    private let storage: SharedContents<Description>

    /// The properties, the most significant one first.
    public var parts: [Part] { storage.contents.parts }
    /// True when no two objects may have equal values; nil is never equal to nil.
    public var isUnique: Bool { storage.contents.isUnique }
    /// The parts of the values that the index contains.
    package var contents: Contents { storage.contents.contents }
    /// The condition of the objects that have entries; nil when all have.
    package var condition: QueryNode? { storage.contents.condition }
    /// The version of the rules by which texts are split; nil for an index of whole values.
    package var textVersion: UInt16? { storage.contents.textVersion }

    /// The parts of values that an index contains; the numbers are those of a stored schema.
    package enum Contents: UInt8, Sendable {
        /// Whole values, in order.
        case values = 0
        /// The words of texts, each with the list of its objects.
        case words = 2
        /// The trigrams of texts, each with the list of its objects.
        case substrings = 4

        /// The version of the rules by which this process splits texts; nil for whole values.
        fileprivate var version: UInt16? {
            switch self {
            case .values: nil
            case .words: TextTokenizer.version
            case .substrings: TextTrigrams.version
            }
        }
    }

    /// Creates an index.
    public init(_ parts: [Part], isUnique: Bool = false) {
        self.init(parts, isUnique: isUnique, where: nil)
    }

    /// Creates an index of the objects that satisfy a condition; `only(where:)` describes it.
    init(_ parts: [Part], isUnique: Bool, where condition: QueryNode?) {
        self.init(parts, isUnique: isUnique, .values, version: nil, where: condition)
    }

    /// Creates an index of the words of texts; the order of the properties does not matter.
    public init(words slots: [Slot]) {
        self.init(words: slots.map { Part(slot: $0) })
    }

    /// Creates an index of the words of texts, each in a language; the order of the properties does
    /// not matter.
    package init(words parts: [Part]) {
        self.init(
            parts.sorted { $0.slot < $1.slot }, .words, version: Contents.words.version)
    }

    /// Creates an index of the substrings of a text.
    public init(substringsOf slot: Slot) {
        self.init([Part(slot: slot)], .substrings, version: Contents.substrings.version)
    }

    fileprivate init(
        _ parts: [Part], isUnique: Bool = false, _ contents: Contents, version: UInt16?,
        where condition: QueryNode? = nil
    ) {
        storage = SharedContents(
            Description(
                parts: parts, isUnique: isUnique, contents: contents,
                condition: condition == .everything ? nil : condition, textVersion: version))
    }

    /// True for an index of the words of texts, which `matching` searches.
    public var isText: Bool { contents == .words }
    /// True for an index of the substrings of a text, which `contains` uses.
    public var isOfSubstrings: Bool { contents == .substrings }
    /// True for an index of parts of texts, whose entries are lists of objects.
    package var hasLists: Bool { contents != .values }
    /// True when this process splits texts by the rules that the index was built with.
    package var isOfThisVersion: Bool {
        textVersion == contents.version && parts.allSatisfy { $0.language?.hasStemmer ?? true }
    }
    /// The languages by whose rules words are stemmed.
    var languages: [TextLanguage] { parts.compactMap(\.language) }
}

/// The options for comparing text in an index, beyond the comparison of `String`.
public struct TextFolding: OptionSet, Hashable, Sendable {
    /// The bits as a schema stores them.
    public let rawValue: UInt8

    /// Creates options from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Ignores case: "a" equals "A", and "ß" equals "ss", as after `uppercased().lowercased()`.
    public static let caseInsensitive = TextFolding(rawValue: 1)
    /// Ignores diacritics: "e" equals "é"; accents and Hebrew and Arabic points do not count, but
    /// marks that make another letter, as in Devanagari, Thai or kana, do.
    public static let diacriticInsensitive = TextFolding(rawValue: 2)
}

extension [EntityIndex] {
    /// Returns the indexes in the order in which a schema contains them, each once; a unique index
    /// also serves as a plain one.
    func normalized() -> [EntityIndex] {
        var normalized: [EntityIndex] = []
        for index in sorted(by: { $0.precedes($1) })
        where normalized.last.map({ !$0.hasSameEntries(as: index) }) ?? true {
            normalized.append(index)
        }
        return normalized
    }
}

extension EntityIndex {
    fileprivate func precedes(_ other: EntityIndex) -> Bool {
        for (one, other) in zip(parts, other.parts) where one != other {
            return (one.slot, one.folding.rawValue) < (other.slot, other.folding.rawValue)
        }
        if parts.count != other.parts.count { return parts.count < other.parts.count }
        if contents != other.contents { return contents.rawValue < other.contents.rawValue }
        if condition != other.condition {
            return conditionBytes.lexicographicallyPrecedes(other.conditionBytes)
        }
        return isUnique && !other.isUnique
    }

    fileprivate func hasSameEntries(as other: EntityIndex) -> Bool {
        parts == other.parts && contents == other.contents && condition == other.condition
    }

    /// Returns the reason why an entity cannot have the index; nil when it can.
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
            if entity.isPresence(part.slot) {
                return "\(label) is an embedded value, of which an index names a member"
            }
            if hasLists, property.type != .string || isUnique || !part.folding.isEmpty {
                let parts = isText ? "words to search" : "substrings to index"
                return "\(label) is a \(property.typeDescription), which has no \(parts)"
            }
            if !property.isOrdered {
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

    /// Returns a description of the index, such as "unique (city, name case-insensitive)".
    package func description(in entity: Entity) -> String {
        let names = parts.map { part in
            (entity.properties.element(at: part.slot)?.name ?? "?") + part.folding.description
                + (part.language.map { " in \($0.name)" } ?? "")
        }
        let kind =
            switch contents {
            case .values: isUnique ? "unique" : "index"
            case .words: "words"
            case .substrings: "substrings"
            }
        let which = condition.map { " where \($0.text(of: entity))" } ?? ""
        return "\(kind) (\(names.joined(separator: ", ")))\(which)"
    }
}

extension TextFolding {
    fileprivate var description: String {
        (contains(.caseInsensitive) ? " case-insensitive" : "")
            + (contains(.diacriticInsensitive) ? " diacritic-insensitive" : "")
    }
}

extension Property {
    /// True when an index can contain the values.
    var isOrdered: Bool {
        ([type] + elements).allSatisfy { ![.dictionary, .codable, .embedded].contains($0) }
    }
}

/// An index of a schema, with the number that its entries begin with.
package struct NumberedIndex: Hashable, Sendable {
    /// The number, which is unique among the indexes of the schema; migrations keep it.
    package let number: Int
    package let entity: EntityNumber
    package let index: EntityIndex
}

extension Schema {
    /// Returns the index with a number; nil when there is none.
    package func index(numbered number: Int) -> NumberedIndex? {
        indexes.first { $0.number == number }
    }

    /// Returns the indexes of an entity.
    package func indexes(ofEntity entity: EntityNumber) -> [NumberedIndex] {
        indexesByEntity.element(at: entity.index) ?? []
    }

    /// Returns the index that makes the values of some properties together unique, in all objects
    /// of the entity; nil when there is none.
    package func uniqueIndex(of slots: [Slot], ofEntity entity: EntityNumber) -> NumberedIndex? {
        indexes(ofEntity: entity).first { $0.index.isUnique(in: slots) }
    }

    /// Returns the index of the words of an entity's texts; nil when none of them is searchable.
    package func textIndex(ofEntity entity: EntityNumber) -> NumberedIndex? {
        indexes(ofEntity: entity).first { $0.index.isText }
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
    private static let stemmed: UInt8 = 8
    private static let conditional: UInt8 = 16

    func encode(into buffer: inout ByteBuffer) {
        let isStemmed = !languages.isEmpty
        buffer.append(
            (isUnique ? Self.unique : 0) | contents.rawValue | (isStemmed ? Self.stemmed : 0)
                | (condition == nil ? 0 : Self.conditional))
        if let textVersion { buffer.append(textVersion) }
        buffer.append(UInt8(parts.count))
        for part in parts {
            buffer.append(UInt16(part.slot.index))
            buffer.append(part.folding.rawValue)
            if isStemmed { part.encodeLanguage(into: &buffer) }
        }
        condition?.encode(into: &buffer)
    }

    /// The bytes of the condition in a schema; none without one.
    private var conditionBytes: [UInt8] {
        var buffer = ByteBuffer()
        condition?.encode(into: &buffer)
        return Array(buffer.bytes)
    }

    init(decoding reader: inout ByteReader) throws {
        let flags: UInt8 = try reader.read()
        let (isStemmed, isPartial) = (flags & Self.stemmed != 0, flags & Self.conditional != 0)
        let kind = flags & ~Self.unique & ~Self.stemmed & ~Self.conditional
        guard let contents = Contents(rawValue: kind), contents == .words || !isStemmed,
            contents == .values || !isPartial
        else { throw DecodingFailure("an index of a later format") }
        let version: UInt16? = contents == .values ? nil : try reader.read()
        var parts: [Part] = []
        for _ in 0..<(try reader.read(UInt8.self)) {
            let slot: UInt16 = try reader.read()
            let folding: UInt8 = try reader.read()
            if isStemmed {
                let language = try Part.language(decoding: &reader)
                guard folding == 0 else { throw DecodingFailure("words with a folding") }
                parts.append(Part(slot: Slot(slot), language: language))
            } else {
                parts.append(Part(slot: Slot(slot), folding: TextFolding(rawValue: folding)))
            }
        }
        self.init(
            parts, isUnique: flags & Self.unique != 0, contents, version: version,
            where: isPartial ? try QueryNode(decoding: &reader) : nil)
    }
}

extension EntityIndex.Part {
    fileprivate func encodeLanguage(into buffer: inout ByteBuffer) {
        buffer.append(shortString: language?.name ?? "")
        if let language { buffer.append(language.version) }
    }

    fileprivate static func language(
        decoding reader: inout ByteReader
    ) throws(DecodingFailure) -> TextLanguage? {
        let name = try reader.readShortString()
        return name.isEmpty ? nil : TextLanguage(name, version: try reader.read())
    }
}

// MARK: - Languages

extension EntityIndex {
    /// Returns the reason why this process can't use the index, for the index of an entity; nil
    /// when it can.
    package func problemOfVersion(in entity: Entity) -> String? {
        if isOfThisVersion { return nil }
        let title = "\(description(in: entity)) of \(entity.name)"
        if let language = languages.first(where: { !$0.hasStemmer && !$0.isKnownInAnotherVersion })
        {
            return "this program has no stemmer for \(language.name), by which the \(title) was "
                + "made"
        }
        return "the \(title) was made by another version of Unicode, Stet or a stemmer"
    }
}

extension Schema {
    /// Refuses models with a language that this process has no stemmer for.
    func refuseMissingStemmers(path: String?) throws {
        for (number, entity) in entities.numbered {
            for index in indexes(ofEntity: number) {
                guard
                    let part = index.index.parts.first(where: { $0.language?.hasStemmer == false })
                else { continue }
                throw StoreError(
                    .textRulesMissing, path: path,
                    message: "\(entity.name).\(entity.properties[part.slot].name) is searchable in "
                        + "\(part.language?.name ?? ""), for which this program has no stemmer.",
                    advice: "Nothing was changed. Install a version of libstemmer that has one.")
            }
        }
    }
}
