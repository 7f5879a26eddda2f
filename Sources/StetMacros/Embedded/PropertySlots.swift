import SwiftSyntax

/// The slots of the properties of a model.
///
/// A macro does not see how many members an embedded value has, nor whether a property is one. The
/// slots of the properties after such a property are expressions, which the compiler evaluates.
struct PropertySlots {
    /// The type with the slots that are not literals.
    let declarations: [String]
    /// The number of slots.
    let count: String

    init(_ properties: [PropertyDeclaration]) {
        let slots = properties.compactMap { property in
            property.embedded.map { embedded in
                "static var \(property.reference): Stet._Slot "
                    + "{ \(embedded.slot(at: property.index)) }"
            }
        }
        declarations =
            slots.isEmpty
            ? [] : ["fileprivate enum _$Slots {\n\(slots.joined(separator: "\n"))\n}"]
        count =
            properties.last { $0.mayBeEmbedded }.map { last in
                "\(EmbeddedPlace(of: last).slot(at: properties.count)).index"
            } ?? "\(properties.count)"
    }
}

/// The slots of a property that may be an embedded value.
struct EmbeddedPlace {
    let index: Int
    /// The first slot, in generated code.
    let slot: String
    /// The type, in generated code.
    let type: String

    init(of property: PropertyDeclaration) {
        index = property.index
        slot = property.slot
        type = property.codeType
    }

    /// Returns the slot of a property after this one, or of the end, in generated code.
    func slot(at index: Int) -> String {
        let distance = index - self.index - 1
        return "Stet._slot(after: \(slot), \(type).self\(distance == 0 ? "" : ", \(distance)"))"
    }
}

extension PropertyDeclaration {
    /// True when the type may be that of an embedded value, optional or not, as far as its text and
    /// attributes show.
    var mayBeEmbedded: Bool {
        WrittenType(type).kind == nil && memberName == nil && !isDerived
            && syntax.attribute("Relationship") == nil
            && !(isOptional && (isRuled || hasOption("sealed")))
    }

    /// True when the type may be that of an array of embedded values, as far as its text shows.
    var mayBeArrayOfEmbedded: Bool {
        !isDerived
            && WrittenType(type).base.arrayElement.map { WrittenType($0).kind == nil } ?? false
    }

    /// The slot in generated code: the first one of an embedded value.
    var slot: String { embedded == nil ? "\(index)" : shiftedSlot }

    /// The index of the slot in generated code.
    var slotIndex: String { embedded == nil ? "\(index)" : "\(shiftedSlot).index" }

    /// The name of a slot that is not a literal.
    var shiftedSlot: String { "_$Slots.\(reference)" }

    /// Returns the arguments of `@_Stored`.
    func storedArguments(isObserved: Bool) -> String {
        ((embedded == nil ? ["\(index)"] : []) + (isObserved ? ["isObserved: true"] : []))
            .joined(separator: ", ")
    }
}
