import FoundationEssentials

/// One thing that is wrong with a change set.
public struct Violation: Sendable, Hashable, Codable {
    /// What kind of thing is wrong.
    ///
    /// The numbers of the built-in rules are those of Core Data.
    public struct Code: Sendable, Hashable, Codable {
        /// Who defines the number: "Stet", or your own.
        public let domain: String
        /// The number within the domain.
        public let number: Int

        /// A code of your own.
        public init(domain: String, number: Int) {
            self.domain = domain
            self.number = number
        }

        private init(_ number: Int) { self.init(domain: "Stet", number: number) }

        /// A validator in code that gave no code of its own.
        public static let custom = Code(1550)
        /// Another object has values that must be unique.
        public static let notUnique = Code(1551)
        /// A required value is nil.
        public static let required = Code(1570)
        /// A relationship has fewer members than it must have.
        public static let tooFew = Code(1580)
        /// A relationship has more members than it may have.
        public static let tooMany = Code(1590)
        /// An object was deleted while others refer to it, which its delete rule forbids.
        public static let deleteDenied = Code(1600)
        /// A number is above its bound.
        public static let tooLarge = Code(1610)
        /// A number is below its bound, or not a number.
        public static let tooSmall = Code(1620)
        /// A date is after its bound.
        public static let tooLate = Code(1630)
        /// A date is before its bound.
        public static let tooEarly = Code(1640)
        /// A string or data is longer than allowed.
        public static let tooLong = Code(1660)
        /// A string or data is shorter than allowed.
        public static let tooShort = Code(1670)
        /// An object of one context was used with another.
        public static let foreignObject = Code(1)
        /// A deleted object was edited.
        public static let deletedObjectEdited = Code(2)
        /// `willSave` changed an object in every round of a save.
        public static let unsettled = Code(3)
        /// A `willCommit` observer edited an object.
        public static let editedDuringCommit = Code(4)
        /// `didFetch` edited an object.
        public static let editedDuringFetch = Code(5)
        /// A value has no stored form: it could not be encoded, or not be read back.
        public static let unstorable = Code(6)
    }

    /// What kind of thing is wrong.
    public let code: Code
    /// The entity of the object.
    public let entity: String
    /// The object; nil when a value is checked that belongs to none yet.
    public let object: ObjectID?
    /// The property; nil when the object as a whole is meant.
    public let property: String?
    /// What is wrong, as a sentence without a full stop.
    ///
    /// It shows no values.
    public let message: String
    /// The other object, where two are at odds: of values that must be unique, the one that has
    /// them; of a deletion that is denied, the first that stands in its way.
    public var other: ObjectID? { others.first }
    /// The other objects, where several are at odds with this one: at most 100 of those that stand
    /// in the way of a deletion.
    public let others: [ObjectID]

    /// Orders the violations of an object: properties in the order of their declaration, then the
    /// object itself.
    package let slot: Int

    package init(
        code: Code, entity: String, object: ObjectID?, property: String?, slot: Int?,
        message: String, others: [ObjectID] = []
    ) {
        self.code = code
        self.entity = entity
        self.object = object
        self.property = property
        self.slot = slot ?? Int.max
        self.message = message
        self.others = others
    }

    /// The total order in which violations are reported: by entity, object, property, then as they
    /// were found.
    package static func precedes(_ one: Violation, _ other: Violation) -> Bool {
        if one.entity != other.entity { return one.entity < other.entity }
        if one.object != other.object { return (one.object ?? .none) < (other.object ?? .none) }
        return one.slot < other.slot
    }
}

extension Violation: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

extension Array where Element == Violation {
    /// The violations in their total order.
    ///
    /// Those of one property keep the order in which they were found.
    package func inTotalOrder() -> [Violation] {
        enumerated().sorted { one, other in
            if Violation.precedes(one.element, other.element) { return true }
            if Violation.precedes(other.element, one.element) { return false }
            return one.offset < other.offset
        }.map(\.element)
    }
}

extension Schema {
    /// What is reported of the objects that a change set gives values that others have.
    package func violations(_ conflicts: [UniquenessConflict]) -> [Violation] {
        conflicts.compactMap { conflict in
            guard let index = index(numbered: conflict.index) else { return nil }
            let entity = entities[index.entity - 1]
            let slots = index.index.parts.map(\.slot)
            let names = slots.map { entity.properties[$0].name }
            let subject = names.dropLast().joined(separator: ", ")
            return Violation(
                code: .notUnique, entity: entity.name, object: conflict.object,
                property: names.count == 1 ? names[0] : nil,
                slot: slots.count == 1 ? slots[0] : nil,
                message: names.count == 1
                    ? "\(names[0]) is already taken by another \(entity.name)"
                    : "\(subject) and \(names[names.count - 1]) together are already taken "
                        + "by another \(entity.name)",
                others: [conflict.other])
        }
    }
}
