import FoundationEssentials

extension ChangeSetBuilder {
    /// Returns the violations of the schema's rules by inserted and updated objects.
    ///
    /// Rules are evaluated on the stored bytes, so that no object is needed and, except by
    /// `.matches`, nothing is allocated for valid values.
    package borrowing func violations(_ messages: MessageTable = .english) throws -> [Violation] {
        var violations = unstorable() + (try unsealed(messages))
        var current: EntityNumber = 0
        var rules: [PropertyRules] = []
        for item in loadedItems where item.kind != .delete {
            if current != item.entity {
                current = item.entity
                rules = schema.entities[item.entity].rules
            }
            let entity = schema.entities[item.entity]
            if rules.isEmpty, entity.optionalValues.isEmpty { continue }
            let body = try RecordBody(body(item.after), of: entity)
            violations += try entity.missingPresence(in: body, messages) {
                (item.kind, entity.name, item.id)
            }
            for rules in rules {
                if let presence = rules.presence, try body.cell(presence) == nil { continue }
                let cell = try body.cell(rules.slot)
                guard try rules.areViolated(by: cell) else { continue }
                violations += try rules.violations(of: cell, messages) {
                    (item.kind, entity.name, item.id)
                }
            }
        }
        return violations
    }

    /// Returns a violation for each value that has no stored form.
    private borrowing func unstorable() -> [Violation] {
        if failures.isEmpty { return [] }
        var violations: [Violation] = []
        for item in items {
            violations += unstorable(in: item.before, ofEntity: item.entity, item.id)
            violations += unstorable(in: item.after, ofEntity: item.entity, item.id)
        }
        return violations
    }

    /// Returns a violation for each sealed attribute whose bytes are not sealed for its object.
    private borrowing func unsealed(_ messages: MessageTable) throws -> [Violation] {
        if !schema.hasSealedAttributes { return [] }
        var violations: [Violation] = []
        for item in items where item.kind != .delete {
            for slot in try unsealedSlots(of: item) {
                let refusal = sealRefusals.first { $0.object == item.id && $0.slot == slot }
                violations.append(
                    Violation(
                        refusal ?? SealRefusal(item.id, slot, .notSealed),
                        of: schema.entities[item.entity], item.kind, messages))
            }
        }
        return violations
    }

    /// Returns a violation for each value of a body that has no stored form.
    package borrowing func unstorable(
        in body: Range<Int>, ofEntity number: EntityNumber, _ id: ObjectID
    ) -> [Violation] {
        if failures.isEmpty || body.isEmpty { return [] }
        let entity = schema.entities[number]
        return failures.filter { $0.start == body.lowerBound }.map { failure in
            Violation(
                code: .unstorable, entity: entity.name, object: id,
                property: entity.properties[failure.slot].name, slot: failure.slot,
                Sentence("{property} \(failure.reason)"))
        }
    }
}

extension Entity {
    /// Returns a violation for each optional value that has members without being present.
    fileprivate func missingPresence(
        in body: RecordBody, _ messages: MessageTable,
        _ context: () -> (operation: ChangeKind?, entity: String, object: ObjectID?)
    ) throws -> [Violation] {
        var violations: [Violation] = []
        for value in optionalValues where try body.cell(value.presence) == nil {
            guard try value.members.contains(where: { try body.cell($0) != nil }) else { continue }
            let presence = properties[value.presence]
            let rules = PropertyRules(presence.required, slot: value.presence)
            violations += try rules?.violations(of: nil, messages, context) ?? []
        }
        return violations
    }

    /// Returns the violations of one property's rules by a value that belongs to no object yet.
    package func violations(
        of value: Value, slot: Slot, _ object: ObjectID?, _ messages: MessageTable
    ) throws -> [Violation] {
        var writer = RecordWriter()
        writer.begin(propertyCount: 1)
        let property = properties[slot]
        writer.write(value, slot: 0, of: property)
        if let failure = writer.failures.first {
            return [
                Violation(
                    code: .unstorable, entity: name, object: object, property: property.name,
                    slot: slot, Sentence("{property} \(failure.reason)"), messages: messages)
            ]
        }
        // The embedded value may be absent.
        if value == .null, isRequiredMember(slot) { return [] }
        guard let rules = PropertyRules(property, slot: slot) else { return [] }
        let body = try RecordBody(
            writer.buffer.bytes, of: Entity(name: name, properties: [property]))
        return try rules.violations(of: try body.cell(0), messages) { (nil, name, object) }
    }
}

/// The rules of one property, prepared for evaluation on stored bytes.
///
/// A class, because each object is checked by them, and a structure would be copied.
final class PropertyRules: Sendable {
    /// A rule with the data that is derived from it once.
    private enum Check {
        case required, notEmpty
        case length(minimum: Int, maximum: Int)
        /// A range of numbers that compare like their words.
        case words(ClosedRange<Int>)
        case range(minimum: Value?, maximum: Value?)
        case matches(Pattern)
        case oneOf([Value], stored: Set<UInt64>)
    }

    let slot: Slot
    /// The slot that shows whether the embedded value is present to whose member the rules apply;
    /// nil for a property that is always there.
    let presence: Slot?
    private let property: Property
    private let type: ValueType
    private let checks: [Check]
    /// The rules of the members of an array's elements; nil for any other property.
    private let elements: ElementRules?

    /// Creates the rules of a property; nil when it has none.
    init?(_ property: Property, slot: Slot, presence: Slot? = nil) {
        elements = ElementRules(property, slot: slot)
        if property.rules.isEmpty, elements == nil { return nil }
        self.slot = slot
        self.presence = presence
        self.property = property
        type = property.type
        checks = property.rules.map { Self.check($0, property.type) }
    }

    private static func check(_ rule: Rule, _ type: ValueType) -> Check {
        switch rule {
        case .required: return .required
        case .notEmpty: return .notEmpty
        case .length(let minimum, let maximum):
            return .length(minimum: minimum ?? 0, maximum: maximum ?? .max)
        case .range(let minimum, let maximum):
            guard type.widest == .int, minimum?.type ?? .int == .int,
                maximum?.type ?? .int == .int
            else { return .range(minimum: minimum, maximum: maximum) }
            let lower = minimum?.inlineWord.map { Int(truncatingIfNeeded: $0) } ?? .min
            let upper = maximum?.inlineWord.map { Int(truncatingIfNeeded: $0) } ?? .max
            // Bounds in the wrong order allow no value.
            return lower <= upper
                ? .words(lower...upper) : .range(minimum: minimum, maximum: maximum)
        case .matches(let pattern): return .matches(Pattern(pattern))
        case .oneOf(let values):
            return .oneOf(values, stored: Set(values.compactMap(\.inlineWord)))
        }
    }

    /// Returns whether any rule is broken.
    func areViolated(by cell: Cell?) throws -> Bool {
        for check in checks where try isBroken(check, cell) { return true }
        return try elements?.areViolated(by: cell) ?? false
    }

    /// Returns one violation for each broken rule; `context` returns operation, entity and object,
    /// and `element` is the place of the value as a member of an element.
    func violations(
        of cell: Cell?, _ messages: MessageTable, in element: ElementRules.Place? = nil,
        _ context: () -> (operation: ChangeKind?, entity: String, object: ObjectID?)
    ) throws -> [Violation] {
        var violations: [Violation] = []
        for (index, check) in checks.enumerated() where try isBroken(check, cell) {
            let value = try property.value(cell)
            let (code, sentence) = broken(property.rules[index], cell, value)
            let (operation, entity, object) = context()
            violations.append(
                Violation(
                    code: code, operation: operation, entity: entity, object: object,
                    property: element?.name(of: property) ?? property.name,
                    slot: element?.slot ?? slot, value: property.isHidden ? nil : value,
                    rule: property.rules[index].description,
                    ruleIndex: element == nil ? index : Violation.elementRuleIndex, sentence,
                    messages: messages))
        }
        return try violations + (elements?.violations(of: cell, messages, context) ?? [])
    }

    private func isBroken(_ check: Check, _ cell: Cell?) throws -> Bool {
        guard let cell else {
            if case .required = check { return true }
            return false
        }
        switch (check, cell) {
        case (.required, _): return false
        case (.notEmpty, _): return cell.byteCount == 0
        case (.length(let minimum, let maximum), .bytes(let bytes)):
            // A character has at least one byte.
            if bytes.count <= maximum, minimum <= min(bytes.count, 1) { return false }
            let count = length(bytes)
            return count < minimum || count > maximum
        case (.words(let range), .word(let word)):
            return !range.contains(Int(truncatingIfNeeded: word))
        case (.range(let minimum, let maximum), _):
            let value = try Value(cell, type: type)
            return minimum.map { !$0.isAtMost(value) } ?? false
                || maximum.map { !value.isAtMost($0) } ?? false
        case (.matches(let pattern), .bytes(let bytes)): return !pattern.matches(bytes)
        case (.oneOf(let values, let stored), _):
            if case .word(let word) = cell, stored.contains(word) { return false }
            let value = try Value(cell, type: type)
            return !values.contains { $0.isSame(as: value) }
        default: return false
        }
    }

    private func broken(
        _ rule: Rule, _ cell: Cell?, _ value: Value
    ) -> (Violation.Code, Sentence) {
        switch rule {
        case .required: return (.required, .required)
        case .notEmpty: return (.tooShort, .empty)
        case .length(let minimum, let maximum):
            guard case .bytes(let bytes)? = cell else { return (.tooShort, .empty) }
            let count = length(bytes)
            if let minimum, count < minimum { return (.tooShort, .tooShort(minimum, unit)) }
            return (.tooLong, .tooLong(maximum ?? count, unit))
        case .range(let minimum, let maximum):
            return Self.brokenRange(value, minimum, maximum)
        case .matches: return (.wrongPattern, .wrongPattern)
        case .oneOf(let values): return (.notOneOf, .notOneOf(values))
        }
    }

    private static func brokenRange(
        _ value: Value, _ minimum: Value?, _ maximum: Value?
    ) -> (Violation.Code, Sentence) {
        if case .date(let date) = value {
            if date.timeIntervalSinceReferenceDate.isNaN { return (.invalidDate, .notADate) }
            if let minimum, !minimum.isAtMost(value) { return (.tooEarly, .tooEarly(minimum)) }
            return (.tooLate, .tooLate(maximum ?? value))
        }
        if let minimum, !minimum.isAtMost(value) { return (.tooSmall, .tooSmall(minimum)) }
        return (.tooLarge, .tooLarge(maximum ?? value))
    }

    private var unit: LengthUnit {
        switch type {
        case .string: .character
        case .data: .byte
        default: .element
        }
    }

    private func length(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch type {
        case .string: Self.characterCount(bytes)
        case .data: bytes.count
        default: Value.elementCount(bytes, type)
        }
    }

    /// Returns the number of grapheme clusters.
    ///
    /// In ASCII, only "\r\n" is a cluster of two bytes.
    private static func characterCount(_ bytes: UnsafeRawBufferPointer) -> Int {
        let isPlain = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0d }
        if isPlain { return bytes.count }
        // A `UTF8Span` avoids allocating a string.
        guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else {
            return String(decoding: bytes, as: UTF8.self).count
        }
        var characters = text.makeCharacterIterator()
        var count = 0
        while characters.skipForward() > 0 { count += 1 }
        return count
    }
}

extension Value {
    /// Returns whether the value is at most another one; false for values that cannot be compared,
    /// such as NaN.
    fileprivate func isAtMost(_ other: Value) -> Bool {
        switch (self, other) {
        case (.int(let one), .int(let other)): one <= other
        case (.uint(let one), .uint(let other)): one <= other
        case (.float(let one), .float(let other)): one <= other
        case (.double(let one), .double(let other)): one <= other
        case (.decimal(let one), .decimal(let other)):
            !one.isNaN && !other.isNaN && one <= other
        case (.date(let one), .date(let other)):
            // `Date` returns true for NaN.
            one.timeIntervalSinceReferenceDate <= other.timeIntervalSinceReferenceDate
        default: false
        }
    }

    /// Returns whether a rule that names this value means the other one: text is compared as by
    /// `String`, and 0 equals -0.
    fileprivate func isSame(as other: Value) -> Bool {
        switch (self, other) {
        case (.string(let one), .string(let other)): one == other
        case (.double(let one), .double(let other)): one == other
        case (.float(let one), .float(let other)): one == other
        default: self == other
        }
    }
}
