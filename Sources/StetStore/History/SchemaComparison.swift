import FoundationEssentials

/// The differences between the schema of a store and the one that models declare.
package struct SchemaComparison {
    /// The declared schema with the store's numbers for its entities and indexes; its revision is
    /// that of the store when nothing must be migrated, otherwise the next one.
    package private(set) var schema: Schema
    /// The steps of a migration in words, each a sentence without a full stop.
    package internal(set) var steps: [String] = []
    /// The reasons why the models cannot be reached by a migration without code, in words; empty
    /// when they can.
    package internal(set) var problems: [String] = []
    /// The names of the entities that would be removed although the origins do not allow it.
    package private(set) var missingEntities: [String] = []
    private let stored: Schema
    let origins: SchemaOrigins
    private var upcasts: [Upcast?] = []

    /// Returns the step to the declared schema; nil when there is nothing to do.
    ///
    /// - Throws: `DecodingFailure` when there are problems.
    package func migration() throws -> Migration? {
        guard problems.isEmpty else { throw DecodingFailure("models that cannot be reached") }
        return steps.isEmpty
            ? nil : try Migration(from: stored, to: schema, upcasts: upcasts)
    }

    /// Compares the schema of a store with a declared one.
    ///
    /// - Throws: `StoreError` (`.invalidSchema`) when the store would have too many entities,
    ///   including removed ones.
    package init(
        of stored: Schema, with declared: Schema, _ origins: SchemaOrigins = SchemaOrigins()
    ) throws {
        self.stored = stored
        self.origins = origins
        schema = stored
        let entities = matchEntities(declared)
        for (number, entity) in entities.numbered {
            guard let old = stored.entity(numbered: number), !entity.isRemoved else {
                upcasts.append(nil)
                continue
            }
            upcasts.append(try upcast(old, entity))
        }
        let links = matchLinks(declared)
        let indexNumbers = indexNumbers(entities)
        schema = try Schema(
            revision: stored.revision + (steps.isEmpty ? 0 : 1), numbered: entities, links: links,
            indexNumbers: indexNumbers, endNumbers: endNumbers(entities, links))
    }
}

// MARK: - Entities

extension SchemaComparison {
    /// Returns the declared entities by their numbers.
    private mutating func matchEntities(_ declared: Schema) -> [Entity] {
        let named = declared.entities.filter { !$0.isRemoved }.sorted { $0.name < $1.name }
        var taken: Set<String> = []
        var entities = stored.entities.map { old in
            if old.isRemoved { return Entity.removed }
            if let same = named.first(where: { $0.name == old.name }) {
                taken.insert(same.name)
                return same
            }
            let heir = named.first { entity in
                origins.entityNames[entity.name] == old.name
                    && stored.entity(named: entity.name) == nil && !taken.contains(entity.name)
            }
            guard let heir else {
                steps.append("removes \(old.title) with all of its objects")
                if origins.removableEntities?.contains(old.name) == false {
                    missingEntities.append(old.name)
                }
                return Entity.removed
            }
            taken.insert(heir.name)
            steps.append("renames \(old.title) to \(heir.name)")
            return heir
        }
        for entity in named where !taken.contains(entity.name) {
            steps.append("adds \(entity.title)")
            entities.append(entity)
        }
        return entities
    }

    /// Returns the number of the entity of a stored reference.
    func number(ofTarget name: String?) -> EntityNumber? {
        name.flatMap { stored.number(ofEntity: $0) }
    }

    /// Returns the store's number of the entity of a declared reference; nil when it is new.
    func newNumber(ofTarget name: String?) -> EntityNumber? {
        guard let name else { return nil }
        if let number = stored.number(ofEntity: name) { return number }
        return origins.entityNames[name].flatMap { stored.number(ofEntity: $0) }
    }
}

extension Property {
    /// A value for an object until its derived attributes are computed.
    package var placeholder: Value { isOptional ? .null : type.placeholder ?? .null }
}

extension ValueType {
    /// A placeholder for a value that code will set, or that is yet to be derived; nil for types
    /// without one.
    var placeholder: Value? {
        switch self {
        case .bool: .bool(false)
        case .int, .int8, .int16, .int32: .int(0)
        case .uint, .uint8, .uint16, .uint32: .uint(0)
        case .float: .float(0)
        case .double: .double(0)
        case .decimal: .decimal(0)
        case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
        case .string: .string("")
        case .data: .data(Data())
        case .uuid: .uuid(ObjectID.none.uuid)
        case .list: .list([])
        case .dictionary: .dictionary([:])
        case .reference, .url, .codable, .embedded: nil
        }
    }
}

// MARK: - Indexes

extension SchemaComparison {
    /// Returns the numbers of the entities' indexes: those of the store for indexes whose entries
    /// are kept, others for indexes to be built.
    private mutating func indexNumbers(_ entities: [Entity]) -> [Int] {
        var unused = (1...Int(UInt16.max)).lazy.filter { [stored] number in
            stored.index(numbered: number) == nil
        }.makeIterator()
        var numbers: [Int] = []
        for (number, entity) in entities.numbered {
            let old = stored.indexes(ofEntity: number)
            var kept: Set<Int> = []
            for index in entity.indexes {
                let same = upcasts.element(at: number)?.flatMap { upcast in
                    old.first { upcast.keepsEntries(of: $0.index, as: index) }
                }
                if let same, kept.insert(same.number).inserted {
                    numbers.append(same.number)
                    if same.index.isUnique, !index.isUnique {
                        steps.append("lets objects share the \(index.title(in: entity))")
                    }
                } else {
                    numbers.append(unused.next() ?? 0)
                    if number.index < stored.entities.count {
                        steps.append("builds the \(index.title(in: entity))")
                    }
                }
            }
            for index in old where !kept.contains(index.number) && !entity.isRemoved {
                guard let former = stored.entity(numbered: number) else { continue }
                steps.append("drops the \(index.index.title(in: former))")
            }
        }
        return numbers
    }
}

// MARK: - Links

extension SchemaComparison {
    /// Returns the declared links by their numbers.
    private mutating func matchLinks(_ declared: Schema) -> [LinkType] {
        let named = declared.links.filter { !$0.isRemoved }.sorted { $0.name < $1.name }
        var taken: Set<String> = []
        var links = stored.links.map { old in
            if old.isRemoved { return old }
            let heir =
                named.first { $0.name == old.name && connects($0, likeStored: old) }
                ?? named.first { link in
                    origins.linkNames[link.name] == old.name
                        && stored.number(ofLink: link.name) == nil && !taken.contains(link.name)
                        && connects(link, likeStored: old)
                }
            guard let heir else {
                steps.append("removes the links \(old.name)")
                return .removed
            }
            taken.insert(heir.name)
            if heir.name != old.name {
                steps.append("renames the links \(old.name) to \(heir.name)")
            }
            if heir.isOrdered != old.isOrdered {
                steps.append("\(heir.isOrdered ? "orders" : "drops the order of") \(heir.name)")
            }
            return heir
        }
        for link in named where !taken.contains(link.name) {
            steps.append("adds the links \(link.name)")
            links.append(link)
        }
        return links
    }

    /// Returns whether declared links connect the same entities as stored ones.
    private func connects(_ link: LinkType, likeStored old: LinkType) -> Bool {
        newNumber(ofTarget: link.source) == number(ofTarget: old.source)
            && newNumber(ofTarget: link.target) == number(ofTarget: old.target)
    }
}

// MARK: - Ends of relationships

extension SchemaComparison {
    /// Returns the numbers of the ends of references and links: those of the store where it has
    /// them.
    private func endNumbers(_ entities: [Entity], _ links: [LinkType]) -> [EndNumber] {
        var unused = (1...UInt16.max).lazy.map(EndNumber.init).filter { [stored] number in
            stored.end(numbered: number) == nil
        }.makeIterator()
        var numbers: [EndNumber] = []
        for (number, entity) in entities.numbered {
            for slot in entity.referenceSlots {
                let former = upcasts.element(at: number).flatMap { $0?.slots[slot] }
                let end = former.flatMap { stored.end(ofEntity: number, slot: $0) }
                numbers.append(end?.number ?? unused.next() ?? EndNumber(0))
            }
        }
        for (offset, link) in links.enumerated() where !link.isRemoved {
            let ends = stored.ends(ofLink: offset + 1)
            for number in [ends?.targets.number, ends?.sources.number] {
                numbers.append(number ?? unused.next() ?? EndNumber(0))
            }
        }
        return numbers
    }
}

extension Entity {
    /// A phrase such as "the entity Article".
    fileprivate var title: String { "the entity \(name)" }
}

extension EntityIndex {
    /// Returns a phrase such as "unique index (city, name) of Person".
    fileprivate func title(in entity: Entity) -> String {
        let text = description(in: entity)
        return (isUnique ? text.replacingFirst("unique", with: "unique index") : text)
            + " of \(entity.name)"
    }
}

extension String {
    fileprivate func replacingFirst(_ prefix: String, with other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}

extension Upcast {
    /// Returns whether the entries of an index can be kept as those of another one.
    fileprivate func keepsEntries(of old: EntityIndex, as new: EntityIndex) -> Bool {
        guard old.parts.count == new.parts.count, old.isUnique || !new.isUnique,
            old.contents == new.contents, old.textVersion == new.textVersion,
            new.conditionSlots.allSatisfy(keepsValues),
            new.condition(afterMoving: { slots[$0] }) == old.condition
        else { return false }
        return zip(old.parts, new.parts).allSatisfy { oldPart, newPart in
            slots[newPart.slot] == oldPart.slot && keepsValues(newPart.slot)
                && oldPart.folding == newPart.folding && oldPart.language == newPart.language
        }
    }

    /// Returns whether a property has the values that it had before.
    private func keepsValues(_ slot: Slot) -> Bool {
        guard let old = slots[slot] else { return false }
        let (former, property) = (from.properties[old], to.properties[slot])
        return former.type.widest == property.type.widest
            && (property.isOptional || !former.isOptional)
            && (!to.isRequiredMember(slot) || from.isRequiredMember(old) || !former.isOptional)
    }
}
