/// The objects and memberships that delete rules look at and change: those of a context with its
/// pending changes, or those of an undo that is being prepared.
package protocol DeletionGraph: ~Copyable {
    var schema: Schema { get }
    /// True for an object that is deleted, or that does not exist.
    func isDeleted(_ object: ObjectKey) throws -> Bool
    /// The members of an owner at an end that are not deleted.
    func members(of owner: ObjectKey, at end: MemberEnd) throws -> [ObjectID]
    /// The object that a reference refers to.
    func target(of object: ObjectKey, slot: Slot) throws -> ObjectID?

    /// Deletes an object that the rule of a relationship, `path`, deletes along with another one.
    mutating func delete(_ object: ObjectKey, path: String) throws
    /// Removes a member from the list of a deleted owner.
    mutating func remove(_ membership: MembershipKey, path: String?) throws
}

/// What becomes of the objects around deleted ones.
package enum DeleteRules {
    /// Carries out the delete rules of deleted objects, and of those that are deleted by them.
    ///
    /// What a rule forbids is left as it is: `denials` finds it.
    ///
    /// - Throws: what the graph throws.
    /// - Complexity: O(members of deleted objects), a look at each list of theirs.
    package static func propagate(
        _ deleted: [ObjectKey], in graph: inout some DeletionGraph & ~Copyable
    ) throws {
        var queue = deleted
        var next = 0
        while next < queue.count {
            let owner = queue[next]
            next += 1
            try cascadeReferences(of: owner, &queue, in: &graph)
            for end in graph.schema.ends(ofOwner: owner.entity) {
                try apply(ruleOf: end, of: owner, &queue, in: &graph)
            }
        }
    }

    /// The rules of an object's own references.
    private static func cascadeReferences(
        of object: ObjectKey, _ queue: inout [ObjectKey],
        in graph: inout some DeletionGraph & ~Copyable
    ) throws {
        let entity = graph.schema.entities[object.entity]
        for slot in graph.schema.ruledSlots(ofEntity: object.entity) {
            let property = entity.properties[slot]
            guard property.deleteRule == .cascade, let name = property.target,
                let number = graph.schema.number(ofEntity: name),
                let id = try graph.target(of: object, slot: slot)
            else { continue }
            let target = ObjectKey(number, id)
            try delete(target, "\(entity.name).\(property.name)", &queue, in: &graph)
        }
    }

    private static func apply(
        ruleOf end: MemberEnd, of owner: ObjectKey, _ queue: inout [ObjectKey],
        in graph: inout some DeletionGraph & ~Copyable
    ) throws {
        let members = try graph.members(of: owner, at: end)
        if members.isEmpty { return }
        let relationship = graph.schema.relationship(at: end)
        let path = relationship.map {
            "\(graph.schema.entities[owner.entity].name).\($0.name)"
        }
        for member in members {
            switch relationship?.deleteRule ?? .nullify {
            case .nullify: try graph.remove(MembershipKey(end, owner.id, member), path: path)
            case .cascade:
                // A link goes with the object at its other end.
                try delete(ObjectKey(end.member, member), path ?? "", &queue, in: &graph)
                if !end.isReference {
                    try graph.remove(MembershipKey(end, owner.id, member), path: path)
                }
            case .deny, .none: break
            }
        }
    }

    private static func delete(
        _ object: ObjectKey, _ path: String, _ queue: inout [ObjectKey],
        in graph: inout some DeletionGraph & ~Copyable
    ) throws {
        if try graph.isDeleted(object) { return }
        try graph.delete(object, path: path)
        if try graph.isDeleted(object) { queue.append(object) }
    }

    // MARK: What is forbidden

    /// A deletion that a rule forbids.
    package struct Denial: Sendable, Hashable {
        package let object: ObjectKey
        /// The relationship whose rule it is: that of an own reference, or one to many.
        package let property: String
        /// Its place among the properties, for the order of violations.
        package let slot: Slot
        /// The objects on account of which it is forbidden; at most 100.
        package let blocking: [ObjectID]
        /// True where the rule is that of an own reference.
        package let isOfReference: Bool
    }

    /// The objects that a denial names, at most.
    private static let blockingLimit = 100

    /// The deletions that a rule forbids, judged by what the changes come to in the end.
    package static func denials(
        of deleted: some Sequence<ObjectKey>, in graph: borrowing some DeletionGraph & ~Copyable
    ) throws -> [Denial] {
        var denials: [Denial] = []
        for object in deleted {
            let entity = graph.schema.entities[object.entity]
            for (index, relationship) in entity.relationships.enumerated()
            where [.deny, .none].contains(relationship.deleteRule) {
                guard let end = graph.schema.membersEnd(of: relationship) else { continue }
                let blocking = try graph.members(of: object, at: end).prefix(blockingLimit)
                if blocking.isEmpty { continue }
                denials.append(
                    Denial(
                        object: object, property: relationship.name,
                        slot: Slot(entity.properties.count + index), blocking: Array(blocking),
                        isOfReference: false))
            }
            for slot in graph.schema.ruledSlots(ofEntity: object.entity) {
                let property = entity.properties[slot]
                guard property.deleteRule == .deny, let name = property.target,
                    let number = graph.schema.number(ofEntity: name),
                    let id = try graph.target(of: object, slot: slot),
                    try !graph.isDeleted(ObjectKey(number, id))
                else { continue }
                denials.append(
                    Denial(
                        object: object, property: property.name, slot: slot, blocking: [id],
                        isOfReference: true))
            }
        }
        return denials
    }
}

extension Schema {
    /// The relationship whose members are listed at an end; nil when the owners declare none.
    package func relationship(at end: MemberEnd) -> Relationship? {
        relationshipsByEnd[end.number]
    }

    /// The slots of an entity's references with a delete rule of their own.
    package func ruledSlots(ofEntity entity: EntityNumber) -> [Slot] {
        entities[entity].ruledSlots
    }
}
