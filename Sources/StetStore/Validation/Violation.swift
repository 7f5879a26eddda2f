import FoundationEssentials

/// One problem with a change set.
///
/// ```swift
/// for violation in error.violations {
///     messages[violation.property ?? ""] = violation.message
/// }
/// ```
public struct Violation: Sendable, Hashable {
    /// The kind of a violation.
    ///
    /// The numbers of the built-in rules are those of Core Data.
    public struct Code: Sendable, Hashable, Codable {
        /// The definer of the number: "Stet", or a domain of your own.
        public let domain: String
        /// The number within the domain.
        public let number: Int

        /// Creates a code of your own.
        public init(domain: String, number: Int) {
            self.domain = domain
            self.number = number
        }

        private init(_ number: Int) { self.init(domain: "Stet", number: number) }

        /// A validator in code reported a violation without a code.
        public static let custom = Code(1550)
        /// Another object has the values of a unique property or index.
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
        /// A date is invalid: its number is NaN.
        public static let invalidDate = Code(1650)
        /// A string or data is longer than allowed.
        public static let tooLong = Code(1660)
        /// A string or data is shorter than allowed.
        public static let tooShort = Code(1670)
        /// Text does not match its pattern.
        public static let wrongPattern = Code(1680)
        /// An object of one context was used in another.
        public static let foreignObject = Code(1)
        /// A deleted object was edited.
        public static let deletedObjectEdited = Code(2)
        /// `willSave` changed an object in every round of a save.
        public static let unsettled = Code(3)
        /// A `willCommit` observer edited an object.
        public static let editedDuringCommit = Code(4)
        /// `didFetch` edited an object.
        public static let editedDuringFetch = Code(5)
        /// A value has no stored form: it could not be encoded, or could not be decoded again.
        public static let unstorable = Code(6)
        /// A value is not one of the allowed values.
        public static let notOneOf = Code(7)
        /// An object of a protected model would be deleted without confirmation.
        public static let unconfirmedDeletion = Code(8)
        /// A value cannot be sealed: it has no owner, the owner's key was destroyed, or the value
        /// belongs to another object.
        public static let unsealable = Code(9)
    }

    /// The kind of the violation.
    public let code: Code
    /// The operation on the object; nil when an edit was refused, or a value is checked by itself.
    public let operation: ChangeKind?
    /// The entity of the object.
    public let entity: String
    /// The id of the object; nil when a value is checked that belongs to none yet.
    public let object: ObjectID?
    /// The name of the property; nil when the violation concerns the object as a whole.
    public let property: String?
    /// The invalid value; nil when the violation concerns the object as a whole, and when it was
    /// redacted.
    public let value: Value?
    /// The broken rule as it is declared, such as ".length(1...25)"; for a chain the name of the
    /// link; nil for validators in code and for misuse.
    public let rule: String?
    /// The problem as a sentence without a full stop, in the language of the store's configuration.
    ///
    /// It contains no values.
    public let message: String
    /// The reason that a validator has reported; nil when it has reported none.
    public let failureReason: String?
    /// The other object involved: for a unique value, the object that has it; for a denied
    /// deletion, the first object that prevents it.
    public var other: ObjectID? { others.first }
    /// The other objects involved: for a denied deletion, at most 100 of the objects that prevent
    /// it.
    public let others: [ObjectID]

    /// The order of an object's violations: properties in the order of their declaration, then the
    /// object itself.
    package let slot: Int
    /// The order of a property's violations: rules in the order of their declaration, then unique
    /// values, validators and chains.
    package let ruleIndex: Int
    package let sentence: Sentence
    /// The reason as it was reported, with its placeholders.
    private let reasonTemplate: String?

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
        reasonTemplate = reason
        message = messages.text(sentence, entity: entity, property: property)
        failureReason = reason.map {
            messages.text(Sentence($0), entity: entity, property: property)
        }
    }

    /// Returns the message in another language.
    public func message(in messages: MessageTable) -> String {
        messages.text(sentence, entity: entity, property: property)
    }

    /// Returns the reason in another language; nil when the validator has reported none.
    ///
    /// The table translates it like a message: by the text that the validator reported.
    public func failureReason(in messages: MessageTable) -> String? {
        reasonTemplate.map { messages.text(Sentence($0), entity: entity, property: property) }
    }

    /// The violation without its value, for logs and for readers who must not see it.
    public var redacted: Violation { Violation(redacting: self) }

    private init(redacting other: Violation) {
        self.init(other, value: nil)
    }

    /// Creates a violation that differs from another one by its value.
    init(_ other: Violation, value: Value?) {
        code = other.code
        operation = other.operation
        entity = other.entity
        object = other.object
        property = other.property
        self.value = value
        rule = other.rule
        message = other.message
        failureReason = other.failureReason
        others = other.others
        slot = other.slot
        ruleIndex = other.ruleIndex
        sentence = other.sentence
        reasonTemplate = other.reasonTemplate
    }

    /// Returns whether one violation comes before another in reports: by operation (deletions,
    /// insertions, updates), entity, object, property and rule.
    package static func precedes(_ one: Violation, _ other: Violation) -> Bool {
        if one.operation != other.operation { return one.operationOrder < other.operationOrder }
        if one.entity != other.entity { return one.entity < other.entity }
        if one.object != other.object { return (one.object ?? .none) < (other.object ?? .none) }
        if one.slot != other.slot { return one.slot < other.slot }
        return one.ruleIndex < other.ruleIndex
    }

    /// The order of operations in Core Data's validation.
    private var operationOrder: Int {
        switch operation {
        case nil: 0
        case .delete: 1
        case .insert: 2
        case .update: 3
        }
    }
}

extension Violation: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, operation, entity, object, property, value, rule, message, reason, others
        case order, sentence, reasonSentence
    }

    /// Decodes a violation.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(Code.self, forKey: .code)
        operation = try container.decodeIfPresent(ChangeKind.self, forKey: .operation)
        entity = try container.decode(String.self, forKey: .entity)
        object = try container.decodeIfPresent(ObjectID.self, forKey: .object)
        property = try container.decodeIfPresent(String.self, forKey: .property)
        value = try container.decodeIfPresent(Value.self, forKey: .value)
        rule = try container.decodeIfPresent(String.self, forKey: .rule)
        let text = try container.decode(String.self, forKey: .message)
        message = text
        failureReason = try container.decodeIfPresent(String.self, forKey: .reason)
        reasonTemplate =
            try container.decodeIfPresent(String.self, forKey: .reasonSentence) ?? failureReason
        others = try container.decodeIfPresent([ObjectID].self, forKey: .others) ?? []
        let order = try container.decodeIfPresent([Int].self, forKey: .order) ?? []
        slot = order.element(at: 0) ?? Int.max
        ruleIndex = order.element(at: 1) ?? Int.max
        sentence =
            try container.decodeIfPresent(Sentence.self, forKey: .sentence) ?? Sentence(text)
    }

    /// Encodes the violation; what it does not have is left out.
    ///
    /// The keys `order`, `sentence` and `reasonSentence`, which are of no use to a client, restore
    /// the same violation, whose message and reason can be translated.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encodeIfPresent(operation, forKey: .operation)
        try container.encode(entity, forKey: .entity)
        try container.encodeIfPresent(object, forKey: .object)
        try container.encodeIfPresent(property, forKey: .property)
        try container.encodeIfPresent(value, forKey: .value)
        try container.encodeIfPresent(rule, forKey: .rule)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(failureReason, forKey: .reason)
        if !others.isEmpty { try container.encode(others, forKey: .others) }
        if slot != Int.max || ruleIndex != Int.max {
            try container.encode([slot, ruleIndex], forKey: .order)
        }
        if sentence != Sentence(message) { try container.encode(sentence, forKey: .sentence) }
        if reasonTemplate != failureReason {
            try container.encodeIfPresent(reasonTemplate, forKey: .reasonSentence)
        }
    }
}

extension Violation: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

extension Array where Element == Violation {
    /// Returns the violations in their total order.
    ///
    /// Violations of one rule keep the order in which they were found.
    package func inTotalOrder() -> [Violation] {
        enumerated().sorted { one, other in
            if Violation.precedes(one.element, other.element) { return true }
            if Violation.precedes(other.element, one.element) { return false }
            return one.offset < other.offset
        }.map(\.element)
    }
}

extension Schema {
    /// Returns the violations for objects to which a change set gives values that other objects
    /// have.
    ///
    /// `operation` returns the operation on an object, `value` its new value in a slot.
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
                value: try single.flatMap { slot in
                    entity.properties[slot].isHidden ? nil : try value(object, slot)
                },
                rule: single == nil || !index.index.isWhole
                    ? "#Unique(\(names.joined(separator: ", ")))" : ".unique",
                ruleIndex: Violation.uniqueRuleIndex, .notUnique(names),
                others: [conflict.other], messages: messages)
        }
    }
}

extension Violation {
    /// Returns the violation for the unconfirmed deletion of an object of a protected model.
    package static func unconfirmedDeletion(
        of object: ObjectID, _ entity: Entity, _ messages: MessageTable
    ) -> Violation {
        Violation(
            code: .unconfirmedDeletion, operation: .delete, entity: entity.name, object: object,
            property: nil, slot: nil,
            Sentence("{entity} is protected, and its deletion was not confirmed"),
            messages: messages)
    }

    /// The position of the rules of all members of an array's elements, after those of the array.
    static let elementRuleIndex = 255
    /// The position of unique values after all rules of a property.
    fileprivate static let uniqueRuleIndex = 256
    package static let validatorRuleIndex = 257
    static let chainRuleIndex = 258
}
