import FoundationEssentials

extension NetChanges {
    /// What the rules of the schema find wrong with the objects that are inserted and updated.
    ///
    /// Rules are asked of the stored bytes, so that no object is needed.
    package borrowing func violations() throws -> [Violation] {
        var violations = unstorable()
        var current: (number: Int, entity: Entity)?
        var ruled: [(slot: Int, property: Property)] = []
        for item in items where item.kind != .delete {
            if current?.number != item.entity {
                let entity = schema.entities[item.entity - 1]
                current = (item.entity, entity)
                ruled = entity.ruledSlots.map { ($0, entity.properties[$0]) }
            }
            guard !ruled.isEmpty, let entity = current?.entity else { continue }
            let body = try RecordBody(body(item.after), of: entity)
            for (slot, property) in ruled {
                let cell = try body.cell(slot)
                for rule in property.rules {
                    guard let broken = try rule.broken(by: cell, property) else { continue }
                    violations.append(
                        Violation(
                            code: broken.code, entity: entity.name, object: item.id,
                            property: property.name, slot: slot, message: broken.message))
                }
            }
        }
        return violations
    }
}

extension NetChanges {
    /// The values that have no stored form.
    private borrowing func unstorable() -> [Violation] {
        if failures.isEmpty { return [] }
        var violations: [Violation] = []
        for item in items {
            violations += unstorable(in: item.before, ofEntity: item.entity, item.id)
            violations += unstorable(in: item.after, ofEntity: item.entity, item.id)
        }
        return violations
    }

    /// The values of a body that have no stored form.
    package borrowing func unstorable(
        in body: Range<Int>, ofEntity number: Int, _ id: ObjectID
    ) -> [Violation] {
        if failures.isEmpty || body.isEmpty { return [] }
        let entity = schema.entities[number - 1]
        return failures.filter { $0.start == body.lowerBound }.map { failure in
            let property = entity.properties[failure.slot].name
            return Violation(
                code: .unstorable, entity: entity.name, object: id, property: property,
                slot: failure.slot, message: "\(property) \(failure.reason)")
        }
    }
}

extension Rule {
    /// Code and message when a stored value breaks the rule; nil when it does not.
    fileprivate func broken(
        by cell: Cell?, _ property: Property
    ) throws -> (code: Violation.Code, message: String)? {
        guard let cell else {
            return self == .required ? (.required, "\(property.name) is required") : nil
        }
        switch self {
        case .required: return nil
        case .notEmpty:
            return cell.byteCount == 0 ? (.tooShort, "\(property.name) can't be empty") : nil
        case .length(let minimum, let maximum):
            return Self.brokenLength(cell, minimum, maximum, property)
        case .range(let minimum, let maximum):
            return Self.brokenRange(
                try Value(cell, type: property.type), minimum, maximum, property.name)
        }
    }

    private static func brokenLength(
        _ cell: Cell, _ minimum: Int?, _ maximum: Int?, _ property: Property
    ) -> (code: Violation.Code, message: String)? {
        guard case .bytes(let bytes) = cell else { return nil }
        let (count, unit): (Int, String) =
            switch property.type {
            case .string: (characterCount(bytes), "character")
            case .data: (bytes.count, "byte")
            default: (Value.elementCount(bytes, property.type), "element")
            }
        func units(_ count: Int) -> String { "\(count) \(unit)\(count == 1 ? "" : "s")" }
        if let minimum, count < minimum {
            return (.tooShort, "\(property.name) must be at least \(units(minimum))")
        }
        if let maximum, count > maximum {
            return (.tooLong, "\(property.name) can't be longer than \(units(maximum))")
        }
        return nil
    }

    /// Grapheme clusters.
    ///
    /// Of ASCII only "\r\n" is a cluster of two.
    private static func characterCount(_ bytes: UnsafeRawBufferPointer) -> Int {
        let isPlain = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0d }
        return isPlain ? bytes.count : String(decoding: bytes, as: UTF8.self).count
    }

    private static func brokenRange(
        _ value: Value, _ minimum: Value?, _ maximum: Value?, _ name: String
    ) -> (code: Violation.Code, message: String)? {
        let isDate = value.type == .date
        if let minimum, !Self.isAtMost(minimum, value) {
            return isDate
                ? (.tooEarly, "\(name) can't be before \(minimum)")
                : (.tooSmall, "\(name) must be at least \(minimum)")
        }
        if let maximum, !Self.isAtMost(value, maximum) {
            return isDate
                ? (.tooLate, "\(name) can't be after \(maximum)")
                : (.tooLarge, "\(name) can't be greater than \(maximum)")
        }
        return nil
    }

    /// False for values that do not compare, as NaN.
    private static func isAtMost(_ one: Value, _ other: Value) -> Bool {
        switch (one, other) {
        case (.int(let one), .int(let other)): one <= other
        case (.uint(let one), .uint(let other)): one <= other
        case (.float(let one), .float(let other)): one <= other
        case (.double(let one), .double(let other)): one <= other
        case (.decimal(let one), .decimal(let other)):
            !one.isNaN && !other.isNaN && one <= other
        case (.date(let one), .date(let other)): one <= other
        default: false
        }
    }
}
