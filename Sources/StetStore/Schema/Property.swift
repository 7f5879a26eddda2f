import FoundationEssentials

/// The description of one attribute or one to-one relationship.
public struct Property: Hashable, Sendable {
    /// The name in the model.
    public let name: String
    /// The type of the value.
    public let type: ValueType
    /// The types of the elements: one for a list, those of keys and values for a dictionary.
    public let elements: [ValueType]
    /// True when the value may be nil.
    public let isOptional: Bool
    /// The entity that a reference refers to; nil for an attribute.
    public let target: String?
    /// The rules that a value must satisfy, in the order of declaration.
    public private(set) var rules: [Rule]
    /// The normalisers that change a value before it is validated, in the order of declaration.
    public let normalizers: [Normalizer]
    /// The time at which the property is set to the time of the save; nil when never.
    public let stamp: Stamp?
    /// True for a reference with a position among the members of the ordered relationship that is
    /// its inverse.
    public private(set) var hasPosition: Bool
    /// For a reference, the effect on the object that it refers to when its owner is deleted;
    /// `.nullify` has none.
    public let deleteRule: DeleteRule
    /// True for a value that stays out of encodings and texts.
    public let isHidden: Bool
    /// True for an integer whose changes are increments, which are added up.
    public let isCounter: Bool
    /// The object by whose key the value is encrypted; nil for a value that is stored as it is.
    public let seal: Seal?
    /// True for data whose bytes are outside of the records; see `LargeValue`.
    public let isLarge: Bool
    /// The elements of an array of embedded values; nil for any other property.
    package private(set) var embedded: EmbeddedElements?
    /// The expression whose value the property always has; nil for a property that is set.
    package private(set) var derivation: QueryNode?

    /// Creates a property.
    public init(
        name: String, type: ValueType, elements: [ValueType] = [], isOptional: Bool = false,
        target: String? = nil, hasPosition: Bool = false,
        rules: [Rule] = [], normalizers: [Normalizer] = [], stamp: Stamp? = nil,
        deleteRule: DeleteRule = .nullify, isHidden: Bool = false, isCounter: Bool = false,
        seal: Seal? = nil, isLarge: Bool = false
    ) {
        self.isHidden = isHidden
        self.isLarge = isLarge
        self.seal = seal
        self.isCounter = isCounter
        self.name = name
        self.type = type
        self.elements = elements
        self.isOptional = isOptional
        self.target = target
        self.rules = rules
        self.normalizers = normalizers
        self.stamp = stamp
        self.hasPosition = hasPosition
        self.deleteRule = deleteRule
    }

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
        var derived = isOptional || rules.contains(.required) ? self : required
        derived.derivation = expression
        return derived
    }

    /// Returns the property as an array of embedded values.
    package func array(of elements: EmbeddedElements?) -> Property {
        var array = self
        array.embedded = elements
        return array
    }

    /// The property with a rule that demands a value.
    package var required: Property {
        var required = self
        required.rules.append(.required)
        return required
    }

    /// Returns the property with positions, or without.
    package func withPosition(_ hasPosition: Bool) -> Property {
        var property = self
        property.hasPosition = hasPosition
        return property
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
