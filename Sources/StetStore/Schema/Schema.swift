/// The description of every entity of a store, as data, which gives the bytes of a record their
/// meaning.
///
/// The entities of a new store are numbered from 1 in the order of their names, so that a process
/// may list its models in any order. Migrations keep the numbers: added entities come last, and a
/// removed entity leaves a nameless placeholder.
public struct Schema: Hashable, Sendable {
    private struct Contents: Hashable {
        var revision = 1
        var entities: [Entity]
        var indexes: [NumberedIndex] = []
        var indexesByEntity: [[NumberedIndex]] = []
        var links: [LinkType] = []
        var ends: [MemberEnd] = []
        var endsByNumber: [MemberEnd] = []
        var referenceEndsByMember: [[MemberEnd]] = []
        var endsByLink: [LinkEnds?] = []
        var endsByOwner: [[MemberEnd]] = []
        var relationshipsByEnd: [EndNumber: Relationship] = [:]
        var countedRelationships: [CountedRelationship] = []
        var derivedProperties: [DerivedProperty] = []
        var hasSealedAttributes = false
        var hasStampedAttributes = false
        var hasLargeValues = false
        var numbersByName: [EntityNumber]
    }
    /// Shared, because every context contains a schema.
    private let storage: SharedContents<Contents>

    /// The revision of the schema, which each migration increments; the first one of a store is 1.
    public var revision: Int { storage.contents.revision }
    /// The entities; entity number n has the index n - 1.
    public var entities: [Entity] { storage.contents.entities }
    /// The indexes of all entities, in the order of the entities.
    package var indexes: [NumberedIndex] { storage.contents.indexes }
    /// The indexes, by the number of their entity.
    var indexesByEntity: [[NumberedIndex]] { storage.contents.indexesByEntity }
    /// The types of links; number n has the index n - 1.
    public var links: [LinkType] { storage.contents.links }
    /// The ends of all references, in the order of entities and slots, followed by those of all
    /// links.
    package var ends: [MemberEnd] { storage.contents.ends }
    var endsByNumber: [MemberEnd] { storage.contents.endsByNumber }
    /// The ends of references, by the number of the members' entity.
    var referenceEndsByMember: [[MemberEnd]] { storage.contents.referenceEndsByMember }
    /// The ends of links, by the number of the link type.
    var endsByLink: [LinkEnds?] { storage.contents.endsByLink }
    /// The ends, by the number of the owners' entity.
    var endsByOwner: [[MemberEnd]] { storage.contents.endsByOwner }
    /// The relationships whose members are listed at each end.
    var relationshipsByEnd: [EndNumber: Relationship] { storage.contents.relationshipsByEnd }
    /// The relationships with bounds on the number of members.
    var countedRelationships: [CountedRelationship] { storage.contents.countedRelationships }
    /// The derived attributes, each after those that its expression reads.
    package var derivedProperties: [DerivedProperty] { storage.contents.derivedProperties }
    /// True when any entity has a sealed attribute.
    package var hasSealedAttributes: Bool { storage.contents.hasSealedAttributes }
    /// True when a save sets a date attribute to its time.
    package var hasStampedAttributes: Bool { storage.contents.hasStampedAttributes }
    /// True when any entity has a large value.
    package var hasLargeValues: Bool { storage.contents.hasLargeValues }
    /// The numbers of the entities that are not removed, in ascending order of name.
    private var numbersByName: [EntityNumber] { storage.contents.numbersByName }

    /// Returns whether both describe the same entities, links and indexes at the same revision.
    public static func == (one: Schema, other: Schema) -> Bool {
        one.storage == other.storage
    }

    /// Hashes revision, entities and links.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(revision)
        hasher.combine(entities)
        hasher.combine(links)
    }

    /// Creates a schema of entities.
    ///
    /// - Throws: `StoreError` (`.invalidSchema`) when names repeat, exceed their limits, or a
    ///   reference points to a missing entity.
    public init(revision: Int = 1, entities: [Entity], links: [LinkType] = []) throws {
        try self.init(
            revision: revision, numbered: entities.sorted { $0.name < $1.name },
            links: links.sorted { $0.name < $1.name })
        if entities.contains(where: \.isRemoved) {
            throw Self.unusable("an entity's name needs 1 to \(Limits.nameByteCount) bytes")
        }
    }

    /// Creates a schema of entities in the order of their numbers, with the numbers of their
    /// indexes and reference ends; nil numbers them from 1 on.
    package init(
        revision: Int, numbered entities: [Entity], links: [LinkType] = [],
        indexNumbers: [Int]? = nil, endNumbers: [EndNumber]? = nil
    ) throws {
        var contents = Contents(
            revision: revision, entities: entities,
            indexes: Self.numbered(entities, indexNumbers), links: links,
            numbersByName: entities.indices.filter { !entities[$0].isRemoved }
                .sorted { entities[$0].name < entities[$1].name }.map(EntityNumber.init(index:)))
        contents.indexesByEntity = entities.numbers.map { entity in
            contents.indexes.filter { $0.entity == entity }
        }
        let ends = Self.ends(of: entities, links, contents.numbersByName, endNumbers)
        contents.ends = ends
        contents.endsByNumber = ends.sorted { $0.number < $1.number }
        contents.referenceEndsByMember = entities.numbers.map { entity in
            ends.filter { $0.member == entity && $0.isReference }
        }
        contents.endsByLink = links.indices.map { offset in
            let both = ends.filter { $0.link == offset + 1 }
            return both.count == 2 ? LinkEnds(targets: both[0], sources: both[1]) : nil
        }
        contents.endsByOwner = entities.numbers.map { entity in
            ends.filter { $0.owner == entity }
        }
        let schema = Schema(SharedContents(contents))
        if let problem = schema.problem { throw Self.unusable(problem) }
        contents.countedRelationships = Self.counted(schema)
        contents.hasSealedAttributes = entities.contains { !$0.sealedSlots.isEmpty }
        contents.hasStampedAttributes = entities.contains { !$0.stampedSlots.isEmpty }
        contents.hasLargeValues = entities.contains { !$0.largeSlots.isEmpty }
        do {
            contents.derivedProperties = try DerivedProperty.all(of: schema)
        } catch {
            throw Self.unusable(error.description)
        }
        contents.relationshipsByEnd = schema.firstRelationships
        storage = SharedContents(contents)
    }

    /// The first relationship whose members are listed at each end.
    private var firstRelationships: [EndNumber: Relationship] {
        let relationships = entities.lazy.flatMap(\.relationships).compactMap { relationship in
            membersEnd(of: relationship).map { ($0.number, relationship) }
        }
        return Dictionary(relationships) { first, _ in first }
    }

    private init(_ storage: SharedContents<Contents>) { self.storage = storage }

    /// Creates a schema of a single entity, whose bodies can be written and read, without the
    /// entities that it refers to.
    package init(alone entity: Entity) {
        storage = SharedContents(Contents(entities: [entity], numbersByName: [1]))
    }

    private static func unusable(_ problem: String) -> StoreError {
        StoreError(
            .invalidSchema, message: "The schema is not usable: \(problem).",
            advice: "Change the models.")
    }

    /// Returns the entity with a name; nil when there is none.
    public func entity(named name: String) -> Entity? {
        number(ofEntity: name).map { entities[$0] }
    }

    /// Returns the number of an entity; nil when there is none with the name.
    ///
    /// - Complexity: O(log entities).
    package func number(ofEntity name: String) -> EntityNumber? {
        Self.number(ofEntity: name, among: entities, numbersByName)
    }

    private static func number(
        ofEntity name: String, among entities: [Entity], _ numbersByName: [EntityNumber]
    ) -> EntityNumber? {
        let index = numbersByName.partitionPoint { entities[$0].name < name }
        guard let number = numbersByName.element(at: index), entities[number].name == name
        else { return nil }
        return number
    }

    private static func ends(
        of entities: [Entity], _ links: [LinkType], _ numbersByName: [EntityNumber],
        _ numbers: [EndNumber]?
    ) -> [MemberEnd] {
        func entity(_ name: String?) -> EntityNumber {
            name.flatMap { Self.number(ofEntity: $0, among: entities, numbersByName) } ?? 0
        }
        var ends: [MemberEnd] = []
        func append(
            _ owner: EntityNumber, _ member: EntityNumber, _ source: MemberEnd.Source,
            _ isOrdered: Bool
        ) {
            let number =
                numbers?.element(at: ends.count)
                ?? EndNumber(UInt16(truncatingIfNeeded: ends.count + 1))
            ends.append(
                MemberEnd(
                    number: number, owner: owner, member: member, source: source,
                    isOrdered: isOrdered))
        }
        for (number, referring) in entities.numbered {
            for slot in referring.referenceSlots {
                let property = referring.properties[slot]
                append(
                    entity(property.target), number, .reference(slot: slot),
                    property.hasPosition)
            }
        }
        for (offset, link) in links.enumerated() where !link.isRemoved {
            let (source, target) = (entity(link.source), entity(link.target))
            append(source, target, .targets(link: offset + 1), link.isOrdered)
            append(target, source, .sources(link: offset + 1), link.isOrdered)
        }
        return ends
    }

    /// Returns the entity with a number; nil when there is none, or it was removed.
    package func entity(numbered number: EntityNumber) -> Entity? {
        entities.element(at: number.index).flatMap { $0.isRemoved ? nil : $0 }
    }

    /// Returns whether deletions of the objects of an entity must be confirmed.
    package func isProtected(_ entity: EntityNumber) -> Bool {
        self.entity(numbered: entity)?.isProtected ?? false
    }

    private var problem: String? {
        if !(0...Int(UInt16.max)).contains(revision) {
            return "revision \(revision), the limit is \(UInt16.max)"
        }
        if entities.count > Limits.entityCount {
            return "\(entities.count) entities, the limit is \(Limits.entityCount)"
        }
        let named = numbersByName.map { entities[$0] }
        for (entity, next) in zip(named, named.dropFirst()) where entity.name == next.name {
            return "two entities are called \(entity.name)"
        }
        if Set(indexes.map(\.number)).count < indexes.count { return "two indexes have a number" }
        if Set(ends.map(\.number)).count < ends.count {
            return "two ends of relationships have a number, the limit is \(UInt16.max)"
        }
        for entity in entities {
            if let problem = entity.problem ?? problem(ofRelationshipsOf: entity) {
                return problem
            }
            for property in entity.properties {
                guard let target = property.target else { continue }
                if number(ofEntity: target) == nil {
                    return
                        "\(entity.name).\(property.name) refers to \(target), "
                        + "which is not in the schema"
                }
            }
        }
        return problemOfLinks ?? problemOfConditions
    }
}

/// The description of a model: its name, its properties in the order of their slots, its indexes
/// and to-many relationships.
public struct Entity: Hashable, Sendable {
    /// The contents behind one reference, because an entity is copied for each record that is
    /// decoded.
    private final class Contents: Sendable {
        let name: String
        let properties: [Property]
        let indexes: [EntityIndex]
        let relationships: [Relationship]
        let isProtected: Bool
        let referenceSlots: [Slot]
        let placedSlots: [Slot]
        let rules: [PropertyRules]
        let stampedSlots: [Slot]
        let ruledSlots: [Slot]
        let derivedSlots: [Slot]
        let sealedSlots: [Slot]
        let largeSlots: [Slot]
        let optionalValues: [OptionalValue]

        init(
            name: String, properties: [Property], indexes: [EntityIndex],
            relationships: [Relationship], isProtected: Bool
        ) {
            self.name = name
            self.isProtected = isProtected
            self.properties = properties
            self.indexes = indexes
            self.relationships = relationships
            let slots = properties.slots
            referenceSlots = slots.filter { properties[$0].type == .reference }
            placedSlots = slots.filter { properties[$0].hasPosition }
            let optionalValues = OptionalValue.all(in: properties)
            self.optionalValues = optionalValues
            rules = slots.compactMap { slot in
                let value = optionalValues.first { $0.members.contains(slot) }
                return PropertyRules(properties[slot], slot: slot, presence: value?.presence)
            }
            stampedSlots = slots.filter { properties[$0].stamp != nil }
            ruledSlots = slots.filter { properties[$0].deleteRule != .nullify }
            derivedSlots = slots.filter { properties[$0].isDerived }
            sealedSlots = slots.filter { properties[$0].seal != nil }
            largeSlots = slots.filter { properties[$0].isLarge }
        }
    }
    private let contents: Contents

    /// Creates an entity with properties, indexes and to-many relationships.
    public init(
        name: String, properties: [Property], indexes: [EntityIndex] = [],
        relationships: [Relationship] = [], isProtected: Bool = false
    ) {
        contents = Contents(
            name: name, properties: properties, indexes: indexes.normalized(),
            relationships: relationships, isProtected: isProtected)
    }

    /// The name of the model's class.
    public var name: String { contents.name }
    /// The properties in the order of declaration; the slot of a property is its index.
    public var properties: [Property] { contents.properties }
    /// The indexes, each once, in an order that does not depend on the order of declaration.
    public var indexes: [EntityIndex] { contents.indexes }
    /// The to-many relationships, in the order of declaration.
    public var relationships: [Relationship] { contents.relationships }
    /// True when deletions of its objects must be confirmed.
    public var isProtected: Bool { contents.isProtected }
    /// The slots of the references.
    package var referenceSlots: [Slot] { contents.referenceSlots }
    /// The slots of the references that have positions.
    package var placedSlots: [Slot] { contents.placedSlots }
    /// The rules of the properties that have any.
    var rules: [PropertyRules] { contents.rules }
    /// The slots of the references with a delete rule.
    var ruledSlots: [Slot] { contents.ruledSlots }
    /// The slots of the derived attributes.
    package var derivedSlots: [Slot] { contents.derivedSlots }
    /// The slots of the sealed attributes.
    package var sealedSlots: [Slot] { contents.sealedSlots }
    /// The slots of the large values.
    package var largeSlots: [Slot] { contents.largeSlots }
    /// The optional embedded values, in the order of their slots.
    package var optionalValues: [OptionalValue] { contents.optionalValues }
    /// The slots of the properties with a stamp.
    package var stampedSlots: [Slot] { contents.stampedSlots }

    /// Returns whether both have the same name, properties, indexes, relationships and protection.
    public static func == (one: Entity, other: Entity) -> Bool {
        one.contents === other.contents
            || (one.name == other.name && one.properties == other.properties
                && one.indexes == other.indexes && one.relationships == other.relationships
                && one.isProtected == other.isProtected)
    }

    /// Hashes name, properties and indexes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(properties)
        hasher.combine(indexes)
    }

    /// Returns the slot of the property with a name; nil when there is none.
    ///
    /// - Complexity: O(properties).
    public func slot(of name: String) -> Slot? {
        properties.firstIndex { $0.name == name }.map { Slot($0) }
    }

    /// The placeholder for an entity that a migration has removed: its number is never used again.
    package static let removed = Entity(name: "", properties: [])

    /// True for the placeholder of a removed entity.
    package var isRemoved: Bool {
        name.isEmpty && properties.isEmpty && relationships.isEmpty
    }
}
