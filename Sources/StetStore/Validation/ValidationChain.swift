import StetLMDB

/// A list of checks that is composed at run time, for models that need not be changed.
///
/// A chain belongs to the configuration of a store; links can be added and removed while the store
/// is open, and take effect with the next save.
///
/// ```swift
/// let chain = ValidationChain(.firstFailure)
/// chain.add("short", for: Notebook.self, \.name, message: "a short name, please") {
///     $0.count < 9
/// }
/// chain.add("ASCII", message: "{property} must be plain") { field in
///     if case .string(let text) = field.value { text.utf8.allSatisfy { $0 < 128 } } else { true }
/// }
/// configuration.chains = [chain]
/// ```
///
/// State: the links, guarded by the monitor.
public final class ValidationChain: Sendable {
    /// The extent to which the failures of a chain are reported.
    public enum Mode: Sendable {
        /// Reports the first failure of each object: properties are checked in the order of their
        /// declaration, and links in their order.
        case firstFailure
        /// Reports every link that fails.
        case all
    }

    /// One property of one object, as a link receives it.
    public struct Field: Hashable, Sendable {
        /// The name of the model.
        public let entity: String
        /// The name of the property.
        public let property: String
        /// The value, normalised.
        public let value: Value

        /// Creates a property with a value.
        public init(entity: String, property: String, value: Value) {
            self.entity = entity
            self.property = property
            self.value = value
        }
    }

    package struct Link: Sendable {
        let name: String
        let place: (entity: String, property: String)?
        let message: String
        let code: Violation.Code
        let isValid: @Sendable (Field) -> Bool

        /// Creates a link; `place` is the one property that it checks, nil means all.
        package init(
            name: String, place: (entity: String, property: String)?, message: String,
            code: Violation.Code, isValid: @escaping @Sendable (Field) -> Bool
        ) {
            self.name = name
            self.place = place
            self.message = message
            self.code = code
            self.isValid = isValid
        }

        func concerns(_ entity: String, _ property: String) -> Bool {
            place.map { $0.entity == entity && $0.property == property } ?? true
        }
    }

    /// The extent to which failures are reported.
    public let mode: Mode
    private let state = Monitor<[Link]>([])

    /// Creates a chain without links.
    public init(_ mode: Mode) {
        self.mode = mode
    }

    /// The names of the links, in the order in which they run.
    public var names: [String] { links.map(\.name) }

    var links: [Link] { state.withLock { $0 } }

    /// Adds a link that checks every property of every object, or replaces the link with the same
    /// name in its place.
    ///
    /// - Parameters:
    ///   - name: the name of the link, which becomes the `rule` of its violations.
    ///   - message: a sentence that says what is wrong; "{property}" in it is replaced with the
    ///     property's name.
    ///   - code: a code of your own.
    ///   - isValid: returns false when the value is not valid; runs on the isolation of the
    ///     context.
    public func add(
        _ name: String, message: String = "{property} is not valid",
        code: Violation.Code = .custom, _ isValid: @escaping @Sendable (_ field: Field) -> Bool
    ) {
        add(Link(name: name, place: nil, message: message, code: code, isValid: isValid))
    }

    package func add(_ link: Link) {
        state.withLock { links in
            if let place = links.firstIndex(where: { $0.name == link.name }) {
                links[place] = link
            } else {
                links.append(link)
            }
        }
    }

    /// Removes a link; returns false when there is none with the name.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        state.withLock { links in
            guard let place = links.firstIndex(where: { $0.name == name }) else { return false }
            links.remove(at: place)
            return true
        }
    }

    /// Returns the violations that the links find in a value, without a store.
    public func check(_ field: Field) -> [Violation] {
        let asked = links.filter { $0.concerns(field.entity, field.property) }
        return violations(asked, field, nil, nil, slot: nil, .english)
    }

    /// Returns the violations that the links find in a property of an object.
    package func violations(
        of field: Field, _ object: ObjectID, slot: Slot, _ messages: MessageTable
    ) -> [Violation] {
        let asked = links.filter { $0.concerns(field.entity, field.property) }
        return violations(asked, field, nil, object, slot: slot, messages)
    }

    private func violations(
        _ links: [Link], _ field: Field, _ operation: ChangeKind?, _ object: ObjectID?,
        slot: Slot?, _ messages: MessageTable
    ) -> [Violation] {
        var violations: [Violation] = []
        for (index, link) in links.enumerated() where !link.isValid(field) {
            violations.append(
                Violation(
                    code: link.code, operation: operation, entity: field.entity, object: object,
                    property: field.property, slot: slot, value: field.value, rule: link.name,
                    ruleIndex: Violation.chainRuleIndex + index,
                    Sentence(link.message),
                    messages: messages))
            if mode == .firstFailure { break }
        }
        return violations
    }
}

extension ValidationChain {
    /// Returns the violations that the links find in inserted and updated objects.
    package func violations(
        of net: borrowing ChangeSetBuilder, _ messages: MessageTable
    ) throws -> [Violation] {
        let links = links
        if links.isEmpty { return [] }
        var violations: [Violation] = []
        var current: (number: EntityNumber, places: [(slot: Slot, links: [Link])]) = (0, [])
        for item in net.items where item.kind != .delete {
            let entity = net.schema.entities[item.entity]
            if current.number != item.entity {
                current = (item.entity, Self.places(links, entity))
            }
            if current.places.isEmpty { continue }
            let body = try RecordBody(net.body(item.after), of: entity)
            for (slot, links) in current.places {
                let field = Field(
                    entity: entity.name, property: entity.properties[slot].name,
                    value: try body.value(slot))
                let found = self.violations(
                    links, field, item.kind, item.id, slot: slot, messages)
                violations += found
                if mode == .firstFailure, !found.isEmpty { break }
            }
        }
        return violations
    }

    /// Returns the slots of an entity that links check, with these links.
    private static func places(
        _ links: [Link], _ entity: Entity
    ) -> [(slot: Slot, links: [Link])] {
        entity.properties.slotted.compactMap { slot, property in
            let links = links.filter { $0.concerns(entity.name, property.name) }
            return links.isEmpty ? nil : (slot, links)
        }
    }
}
