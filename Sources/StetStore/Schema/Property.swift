import FoundationEssentials

/// The description of one attribute or one to-one relationship.
public struct Property: Hashable, Sendable {
    private struct Contents: Hashable {
        let name: String
        let type: ValueType
        let elements: [ValueType]
        let isOptional: Bool
        let target: String?
        var rules: [Rule]
        let normalizers: [Normalizer]
        let stamp: Stamp?
        var hasPosition: Bool
        let deleteRule: DeleteRule
        let isHidden: Bool
        let isCounter: Bool
        let seal: Seal?
        let isLarge: Bool
        var embedded: EmbeddedElements?
        var derivation: QueryNode?
    }
    /// Shared, because queries copy properties.
    private let storage: SharedContents<Contents>

    /// The name in the model.
    public var name: String { storage.contents.name }
    /// The type of the value.
    public var type: ValueType { storage.contents.type }
    /// The types of the elements: one for a list, those of keys and values for a dictionary.
    public var elements: [ValueType] { storage.contents.elements }
    /// True when the value may be nil.
    public var isOptional: Bool { storage.contents.isOptional }
    /// The entity that a reference refers to; nil for an attribute.
    public var target: String? { storage.contents.target }
    /// The rules that a value must satisfy, in the order of declaration.
    public var rules: [Rule] { storage.contents.rules }
    /// The normalisers that change a value before it is validated, in the order of declaration.
    public var normalizers: [Normalizer] { storage.contents.normalizers }
    /// The time at which the property is set to the time of the save; nil when never.
    public var stamp: Stamp? { storage.contents.stamp }
    /// True for a reference with a position among the members of the ordered relationship that is
    /// its inverse.
    public var hasPosition: Bool { storage.contents.hasPosition }
    /// For a reference, the effect on the object that it refers to when its owner is deleted;
    /// `.nullify` has none.
    public var deleteRule: DeleteRule { storage.contents.deleteRule }
    /// True for a value that stays out of encodings and texts.
    public var isHidden: Bool { storage.contents.isHidden }
    /// True for an integer whose changes are increments, which are added up.
    public var isCounter: Bool { storage.contents.isCounter }
    /// The object by whose key the value is encrypted; nil for a value that is stored as it is.
    public var seal: Seal? { storage.contents.seal }
    /// True for data whose bytes are outside of the records; see `LargeValue`.
    public var isLarge: Bool { storage.contents.isLarge }
    /// The elements of an array of embedded values; nil for any other property.
    package var embedded: EmbeddedElements? { storage.contents.embedded }
    /// The expression whose value the property always has; nil for a property that is set.
    package var derivation: QueryNode? { storage.contents.derivation }

    /// Creates a property.
    public init(
        name: String, type: ValueType, elements: [ValueType] = [], isOptional: Bool = false,
        target: String? = nil, hasPosition: Bool = false,
        rules: [Rule] = [], normalizers: [Normalizer] = [], stamp: Stamp? = nil,
        deleteRule: DeleteRule = .nullify, isHidden: Bool = false, isCounter: Bool = false,
        seal: Seal? = nil, isLarge: Bool = false
    ) {
        self.init(
            Contents(
                name: name, type: type, elements: elements, isOptional: isOptional,
                target: target, rules: rules, normalizers: normalizers, stamp: stamp,
                hasPosition: hasPosition, deleteRule: deleteRule, isHidden: isHidden,
                isCounter: isCounter, seal: seal, isLarge: isLarge))
    }

    private init(_ contents: Contents) { storage = SharedContents(contents) }

    /// Returns whether a value is of the property's type; nil is when it is optional.
    package func accepts(_ value: Value) -> Bool {
        if value == .null { return isOptional }
        switch value {
        case .list(let values):
            if let embedded { return values.allSatisfy(embedded.accepts) }
            return elements.count == 1 && values.allSatisfy { $0.isStorable(as: elements[0]) }
        case .dictionary(let values):
            return elements.count == 2 && values.keys.allSatisfy { $0.isStorable(as: elements[0]) }
                && values.values.allSatisfy { $0.isStorable(as: elements[1]) }
        case .reference: return type == .reference && !hasPosition
        case .placed: return type == .reference && hasPosition
        case .data(let data) where isLarge:
            return type == .data && data.withUnsafeBytes { LargeValue(stored: $0) != nil }
        default: return value.isStorable(as: type)
        }
    }

    /// True for an attribute that is computed from other properties, and never set.
    public var isDerived: Bool { derivation != nil }

    /// Returns the property as an attribute that is derived by an expression, which has a value
    /// unless the property is optional.
    package func derived(by expression: QueryNode) -> Property {
        let derived = isOptional || rules.contains(.required) ? self : required
        return derived.changed { $0.derivation = expression }
    }

    /// Returns the property as an array of embedded values.
    package func array(of elements: EmbeddedElements?) -> Property {
        changed { $0.embedded = elements }
    }

    /// The property with a rule that demands a value.
    package var required: Property { changed { $0.rules.append(.required) } }

    /// Returns the property with positions, or without.
    package func withPosition(_ hasPosition: Bool) -> Property {
        changed { $0.hasPosition = hasPosition }
    }

    private func changed(_ change: (inout Contents) -> Void) -> Property {
        var contents = storage.contents
        change(&contents)
        return Property(contents)
    }
}

extension Value {
    /// Returns whether a value other than a list or dictionary is of a type, and has a stored form.
    fileprivate func isStorable(as type: ValueType) -> Bool {
        guard self.type == type.widest else { return false }
        if let word = inlineWord { return (try? Value(inlineWord: word, type: type)) != nil }
        if case .url = self { return (try? tailBytes()) != nil }
        return true
    }
}

/// A change of a value before it is validated.
public enum Normalizer: UInt8, Hashable, Sendable {
    /// Removes white space and line breaks at both ends.
    case trimmed = 1
    /// Converts letters to lowercase.
    case lowercased = 2
    /// Converts text to Unicode normal form C.
    case nfc = 3
    /// Applies a function of the model.
    case custom = 4
}

/// The event at which a property is set to the time of the save.
public enum Stamp: UInt8, Hashable, Sendable {
    /// once, when the object is inserted
    case insert = 1
    /// when the object is inserted and whenever it is changed
    case update = 2
}
