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
        /// A `ValidationError` with several violations.
        public static let several = Code(1560)
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
        /// A date is none: its number is not a number.
        public static let invalidDate = Code(1650)
        /// A string or data is longer than allowed.
        public static let tooLong = Code(1660)
        /// A string or data is shorter than allowed.
        public static let tooShort = Code(1670)
        /// Text does not match its pattern.
        public static let wrongPattern = Code(1680)
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
        /// A value is none of those that are allowed.
        public static let notOneOf = Code(7)
        /// An object of a protected model would be deleted without having been confirmed.
        public static let unconfirmedDeletion = Code(8)
    }

    /// What kind of thing is wrong.
    public let code: Code
    /// What was about to happen to the object; nil when an edit was refused, or a value is checked
    /// by itself.
    public let operation: ChangeKind?
    /// The entity of the object.
    public let entity: String
    /// The object; nil when a value is checked that belongs to none yet.
    public let object: ObjectID?
    /// The property; nil when the object as a whole is meant.
    public let property: String?
    /// The value that is not valid; nil when the object as a whole is meant, and when it was
    /// redacted.
    public let value: Value?
    /// The rule that was broken, as it is declared, ".length(1...25)"; of a chain the name of the
    /// link; nil for validators in code and misuse.
    public let rule: String?
    /// What is wrong, as a sentence without a full stop, in the language of the store's
    /// configuration.
    ///
    /// It shows no values.
    public let message: String
    /// Why that is wrong, as a validator has said it; nil when it has not.
    public let failureReason: String?
    /// The other object, where two are at odds: of values that must be unique, the one that has
    /// them; of a deletion that is denied, the first that stands in its way.
    public var other: ObjectID? { others.first }
    /// The other objects, where several are at odds with this one: at most 100 of those that stand
    /// in the way of a deletion.
    public let others: [ObjectID]

    /// Orders the violations of an object: properties in the order of their declaration, then the
    /// object itself.
    package let slot: Int
    /// Orders the violations of a property: rules in the order of their declaration, then unique
    /// values, validators, chains.
    package let ruleIndex: Int
    package let sentence: Sentence

    /// A violation of your own, to be reported beside those of the store.
    ///
    /// ```swift
    /// context.report(Violation(entity: "Article", property: "state", message: "no such state"))
    /// ```
    ///
    /// - Parameters:
    ///   - code: a code of your own.
    ///   - entity: the name of the model, or of what the request is about.
    ///   - object: the object; nil when there is none.
    ///   - property: the property, or the field of the request; nil when the whole is meant.
    ///   - value: the value that is not valid.
    ///   - message: what is wrong, as a sentence for people, in which "{property}" and "{entity}"
    ///     stand for the names, and which `message(in:)` translates.
    ///   - reason: why that is wrong.
    public init(
        code: Code = .custom, entity: String, object: ObjectID? = nil, property: String? = nil,
        value: Value? = nil, message: String, reason: String? = nil
    ) {
        self.init(
            code: code, entity: entity, object: object, property: property, slot: nil,
            value: value, Sentence(message), reason: reason)
    }

    package init(
        code: Code, operation: ChangeKind? = nil, entity: String, object: ObjectID?,
        property: String?, slot: Slot?, value: Value? = nil, rule: String? = nil,
        ruleIndex: Int = Int.max, _ sentence: Sentence, reason: String? = nil,
        others: [ObjectID] = [], messages: MessageTable = .english
    ) {
        self.code = code
        self.operation = operation
        self.entity = entity
        self.object = object
        self.property = property
        self.value = value
        self.rule = rule
        self.others = others
        self.slot = slot?.index ?? Int.max
        self.ruleIndex = ruleIndex
        self.sentence = sentence
        message = messages.text(sentence, entity: entity, property: property)
        failureReason = reason.map {
            messages.text(Sentence($0), entity: entity, property: property)
        }
    }

    /// The message in another language.
    public func message(in messages: MessageTable) -> String {
        messages.text(sentence, entity: entity, property: property)
    }

    /// The same without the value, for logs and for those who may not see it.
    public var redacted: Violation { Violation(redacting: self) }

    private init(redacting other: Violation) {
        code = other.code
        operation = other.operation
        entity = other.entity
        object = other.object
        property = other.property
        value = nil
        rule = other.rule
        message = other.message
        failureReason = other.failureReason
        others = other.others
        slot = other.slot
        ruleIndex = other.ruleIndex
        sentence = other.sentence
    }

    /// The total order in which violations are reported: by operation (deletions, insertions,
    /// updates), entity, object, property, rule, then as they were found.
    package static func precedes(_ one: Violation, _ other: Violation) -> Bool {
        if one.operation != other.operation { return one.operationOrder < other.operationOrder }
        if one.entity != other.entity { return one.entity < other.entity }
        if one.object != other.object { return (one.object ?? .none) < (other.object ?? .none) }
        if one.slot != other.slot { return one.slot < other.slot }
        return one.ruleIndex < other.ruleIndex
    }

    /// That of Core Data's validation.
    private var operationOrder: Int {
        switch operation {
        case nil: 0
        case .delete: 1
        case .insert: 2
        case .update: 3
        }
    }
}

extension Violation: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

extension Array where Element == Violation {
    /// The violations in their total order.
    ///
    /// Those of one rule keep the order in which they were found.
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
    ///
    /// `operation` tells what happens to an object, `value` what it is given in a slot.
    package func violations(
        _ conflicts: [UniquenessConflict], _ messages: MessageTable,
        operation: (ObjectKey) -> ChangeKind? = { _ in nil },
        value: (ObjectKey, _ slot: Slot) throws -> Value?
    ) rethrows -> [Violation] {
        try conflicts.compactMap { conflict in
            guard let index = index(numbered: conflict.index) else { return nil }
            let object = ObjectKey(index.entity, conflict.object)
            let entity = entities[index.entity]
            let slots = index.index.parts.map(\.slot)
            let names = slots.map { entity.properties[$0].name }
            let single = slots.count == 1 ? slots[0] : nil
            return Violation(
                code: .notUnique, operation: operation(object), entity: entity.name,
                object: object.id, property: single.map { _ in names[0] }, slot: single,
                value: try single.flatMap { try value(object, $0) },
                rule: single == nil ? "#Unique(\(names.joined(separator: ", ")))" : ".unique",
                ruleIndex: Violation.uniqueRuleIndex, .notUnique(names),
                others: [conflict.other], messages: messages)
        }
    }
}

extension Violation {
    /// A deletion of an object of a protected model that nobody has confirmed.
    package static func unconfirmedDeletion(
        of object: ObjectID, _ entity: Entity, _ messages: MessageTable
    ) -> Violation {
        Violation(
            code: .unconfirmedDeletion, operation: .delete, entity: entity.name, object: object,
            property: nil, slot: nil,
            Sentence("{entity} is protected, and its deletion was not confirmed"),
            messages: messages)
    }

    /// Behind all rules of a property.
    fileprivate static let uniqueRuleIndex = 256
    package static let validatorRuleIndex = 257
    static let chainRuleIndex = 258
}
