import SwiftSyntax

/// The properties of a type that a macro can derive from its text.
struct WrittenType {
    /// The type without its optionality.
    let base: TypeSyntax
    let isOptional: Bool

    init(_ type: TypeSyntax) {
        if let optional = type.as(OptionalTypeSyntax.self) {
            base = optional.wrappedType
            isOptional = true
        } else if let name = type.as(IdentifierTypeSyntax.self), name.name.text == "Optional",
            let argument = name.genericArgumentClause?.arguments.first,
            case .type(let wrapped) = argument.argument
        {
            base = wrapped
            isOptional = true
        } else {
            base = type
            isOptional = false
        }
    }

    /// The kind of the type, which determines its options; nil when the text does not show it.
    var kind: Kind? {
        if base.is(ArrayTypeSyntax.self) || base.is(DictionaryTypeSyntax.self) {
            return .collection
        }
        return base.lastName.flatMap { Self.kinds[$0] }
    }

    enum Kind { case text, data, collection, number, date, other }

    private static let kinds: [String: Kind] = [
        "String": .text, "Data": .data, "Array": .collection, "Dictionary": .collection,
        "Int": .number, "Int8": .number, "Int16": .number, "Int32": .number, "Int64": .number,
        "UInt": .number, "UInt8": .number, "UInt16": .number, "UInt32": .number,
        "UInt64": .number, "Float": .number, "Double": .number, "Decimal": .number,
        "Date": .date, "Bool": .other, "UUID": .other, "URL": .other,
    ]

    /// True for a number without a fraction.
    var isInteger: Bool {
        kind == .number && !["Float", "Double", "Decimal"].contains(base.lastName)
    }

    /// The model of the members: `Article` for `ToMany<Article>` and `OrderedToMany<Article>`.
    var memberName: String? {
        guard ["ToMany", "OrderedToMany"].contains(base.lastName) else { return nil }
        return base.typeArguments.first?.writtenText
    }
    /// True for `OrderedToMany<Article>`.
    var isOrdered: Bool { base.lastName == "OrderedToMany" }

    /// False for a type that visibly cannot be stored in a model.
    var canBeStored: Bool { !WrittenType(base).isOptional && base.canBeStored }
}

extension TypeSyntax {
    /// True for `[K: V]`, `Dictionary<K, V>`, and their optional forms.
    var isDictionary: Bool {
        let base = WrittenType(self).base
        return base.is(DictionaryTypeSyntax.self) || base.lastName == "Dictionary"
    }

    /// The types of the keys and values of `[K: V]` and `Dictionary<K, V>`.
    var dictionaryTypes: (key: TypeSyntax, value: TypeSyntax)? {
        if let dictionary = self.as(DictionaryTypeSyntax.self) {
            return (dictionary.key, dictionary.value)
        }
        guard lastName == "Dictionary", typeArguments.count == 2 else { return nil }
        return (typeArguments[0], typeArguments[1])
    }

    /// The type of the elements of `[E]` and `Array<E>`.
    var arrayElement: TypeSyntax? {
        if let array = self.as(ArrayTypeSyntax.self) { return array.element }
        return lastName == "Array" ? typeArguments.first : nil
    }

    /// The type of the elements of `Set<E>`.
    var setElement: TypeSyntax? { lastName == "Set" ? typeArguments.first : nil }

    fileprivate var typeArguments: [TypeSyntax] {
        let clause =
            self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
        return (clause?.arguments ?? []).compactMap { argument in
            guard case .type(let type) = argument.argument else { return nil }
            return type
        }
    }

    /// The name of the type, without the module and the arguments.
    var lastName: String? {
        self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
    }

    fileprivate var canBeStored: Bool {
        if let array = self.as(ArrayTypeSyntax.self) { return array.element.canBeElement }
        if let dictionary = self.as(DictionaryTypeSyntax.self) {
            return dictionary.key.canBeElement && dictionary.value.canBeElement
        }
        if let name = lastName { return !Self.foreignNames.contains(name) }
        return false
    }

    private var canBeElement: Bool {
        canBeStored && !WrittenType(self).isOptional
            && !self.is(ArrayTypeSyntax.self) && !self.is(DictionaryTypeSyntax.self)
    }

    private static let foreignNames: Set<String> = [
        "Any", "AnyObject", "Character", "Substring", "Set", "Float16", "Float80", "Int128",
        "UInt128", "Range", "ClosedRange",
    ]
}

extension SyntaxProtocol {
    /// The source text without the spaces and comments around it.
    ///
    /// `trimmedDescription` makes a tree of its own first, which took a third of the time of an
    /// expansion.
    var writtenText: String {
        let bytes = syntaxTextBytes.dropFirst(leadingTriviaLength.utf8Length)
        return String(decoding: bytes.dropLast(trailingTriviaLength.utf8Length), as: UTF8.self)
    }
}
