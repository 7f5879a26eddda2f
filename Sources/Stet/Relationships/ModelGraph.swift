import StetStore

/// The schema of a set of models: their entities, and the types of links between them.
struct ModelGraph {
    private(set) var entities: [Entity] = []
    private(set) var links: [LinkType] = []
    private(set) var types: [String: any Model.Type] = [:]
    /// The previous names and default values that the models declare for earlier stores.
    private(set) var origins = SchemaOrigins()
    private let models: [String: any Model.Type]

    /// - Parameters:
    ///   - models: the models.
    ///   - removed: the names of the models that may be removed from a store; nil for all.
    /// - Throws: `StoreError` (`.invalidSchema`) for relationships that do not fit together.
    init(_ models: [any Model.Type], removing removed: Set<String>?) throws {
        origins.removableEntities = removed
        self.models = Dictionary(
            models.map { ($0._$name, $0) }, uniquingKeysWith: { first, _ in first })
        for model in models {
            let relationships = try model._$relationships.map { try relationship($0, of: model) }
            types[model._$name] = model
            addOrigins(of: model)
            entities.append(
                Entity(
                    name: model._$name, properties: properties(of: model),
                    indexes: model._$entity.indexes, relationships: relationships,
                    isProtected: !(model is any Deletable.Type)))
        }
        try refuseMissing()
    }

    /// Refuses references and relationships to models that are not listed.
    private func refuseMissing() throws {
        for entity in entities {
            let references = entity.properties.map { (name: $0.name, target: $0.target) }
            let relationships = entity.relationships.map {
                (name: $0.name, target: String?($0.target))
            }
            for case (let name, let target?) in references + relationships
            where types[target] == nil {
                throw Self.misfit(
                    "\(entity.name).\(name) refers to \(target), which is not among them",
                    advice: "Add \(target).self to the models.")
            }
        }
    }

    func schema() throws -> Schema { try Schema(entities: entities, links: links) }

    /// Returns the properties of a model; its references have positions where an ordered
    /// relationship is their inverse.
    private func properties(of model: any Model.Type) -> [Property] {
        let ordering = models.values.flatMap { $0._$relationships }
            .filter { $0.isOrdered && $0.target._$name == model._$name }
        return model._$entity.properties.map { property in
            let isPlaced = ordering.contains { $0.inverse == .toOne(property.name) }
            return isPlaced ? property.withPosition(true) : property
        }
    }

    private mutating func addOrigins(of model: any Model.Type) {
        let name = model._$name
        if let original = model._$originalName { origins.entityNames[name] = original }
        add(model._$origins, of: name)
        for relationship in model._$relationships
        where model._$originalName != nil || relationship.originalName != nil {
            origins.linkNames[Self.linkName(relationship, model)] =
                (model._$originalName ?? name) + "."
                + (relationship.originalName ?? relationship.name)
        }
    }

    /// Adds the origins of the properties of an entity, or of the members of an array's elements.
    private mutating func add(_ properties: [PropertyOrigin], of entity: String) {
        for origin in properties {
            origins.propertyNames[entity, default: [:]][origin.name] = origin.names
            origins.defaults[entity, default: [:]][origin.name] = origin.value
            add(origin.members, of: "\(entity).\(origin.name)")
        }
    }

    /// Returns the name of a link: that of its owner and the relationship.
    private static func linkName(
        _ relationship: _ModelRelationship, _ owner: any Model.Type
    ) -> String {
        "\(owner._$name).\(relationship.name)"
    }

    private mutating func relationship(
        _ relationship: _ModelRelationship, of owner: any Model.Type
    ) throws -> Relationship {
        if case .toOne(let name) = relationship.inverse {
            return relationship.relationship(
                members: .references(property: name), isOrdered: relationship.isOrdered)
        }
        let other = try otherEnd(of: relationship, owner)
        if let other, ownsLinks(other, over: relationship, of: owner) {
            return relationship.relationship(
                members: .sources(ofLinks: Self.linkName(other, relationship.target)),
                isOrdered: false)
        }
        let name = Self.linkName(relationship, owner)
        links.append(
            LinkType(
                name: name, source: owner._$name, target: relationship.target._$name,
                isOrdered: relationship.isOrdered))
        return relationship.relationship(
            members: .targets(ofLinks: name), isOrdered: relationship.isOrdered)
    }

    /// Returns the relationship of the target that is the inverse: named by this one, or naming it.
    private func otherEnd(
        of relationship: _ModelRelationship, _ owner: any Model.Type
    ) throws -> _ModelRelationship? {
        let isOfItself = relationship.target == owner
        let candidates = (models[relationship.target._$name] ?? relationship.target)
            ._$relationships
            .filter { $0.target == owner && !(isOfItself && $0.name == relationship.name) }
        let label = Self.linkName(relationship, owner)
        guard case .toMany(let name) = relationship.inverse else {
            let naming = candidates.filter { $0.inverse == .toMany(relationship.name) }
            if naming.count > 1 {
                throw Self.misfit("\(label) is named as the inverse of several relationships")
            }
            return try checked(naming.first, relationship, label)
        }
        let other = candidates.first { $0.name == name }
        if let other, let back = other.inverse, back != .toMany(relationship.name) {
            throw Self.misfit("\(label) names an inverse that names another one")
        }
        return try checked(other, relationship, label)
    }

    private func checked(
        _ other: _ModelRelationship?, _ relationship: _ModelRelationship, _ label: String
    ) throws -> _ModelRelationship? {
        if let other, other.isOrdered, relationship.isOrdered {
            throw Self.misfit("\(label) and its inverse are both ordered: one of them can be")
        }
        return other
    }

    /// Returns whether the other end owns the links: the ordered end does, otherwise the one that
    /// names its inverse, otherwise the first by name.
    private func ownsLinks(
        _ other: _ModelRelationship, over relationship: _ModelRelationship,
        of owner: any Model.Type
    ) -> Bool {
        if other.isOrdered != relationship.isOrdered { return other.isOrdered }
        if (other.inverse == nil) != (relationship.inverse == nil) { return other.inverse != nil }
        return Self.linkName(other, relationship.target) < Self.linkName(relationship, owner)
    }

    private static func misfit(
        _ problem: String, advice: String = "Change the models."
    ) -> StoreError {
        StoreError(
            .invalidSchema, message: "The models do not fit together: \(problem).", advice: advice)
    }
}

extension Model {
    static var _$entity: Entity { _$description.entity }
    static var _$relationships: [_ModelRelationship] { _$description.relationships }
    static var _$originalName: String? { _$description.originalName }
    static var _$origins: [PropertyOrigin] { _$description.origins }
}
