/// Applies the delete rules to the objects related to deleted ones.
package enum DeleteRules {
    /// Applies the delete rules of deleted objects, and of objects that the rules delete.
    ///
    /// Deletions that a rule forbids are not prevented: `denials` finds them.
    ///
    /// - Throws: the error of the graph.
    /// - Complexity: O(members of deleted objects), with a read of each of their lists.
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

    /// Returns whether the deletion of an object of an entity may change other objects.
    package static func exist(for entity: EntityNumber, in schema: Schema) -> Bool {
        !schema.ends(ofOwner: entity).isEmpty || !schema.ruledSlots(ofEntity: entity).isEmpty
    }

    /// Applies the rules of an object's own references.
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
                // A cascade also removes the link to the deleted object.
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
        /// The property with the rule: a reference of the object, or a to-many relationship.
        package let property: String
        /// The position of the property, for the order of violations.
        package let slot: Slot
        /// The objects that prevent the deletion; at most 100.
        package let blocking: [ObjectID]
        /// True when the rule belongs to a reference of the object.
        package let isOfReference: Bool
    }

    /// The greatest number of objects that a denial names.
    private static let blockingLimit = 100

    /// Returns the deletions that a rule forbids, judged by the final state of the changes.
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

/// The objects and memberships that delete rules read and change: those of a context with its
/// pending changes, or those of an undo that is being prepared.
package protocol DeletionGraph: ~Copyable {
    var schema: Schema { get }
    /// Returns whether an object is deleted, or does not exist.
    func isDeleted(_ object: ObjectKey) throws -> Bool
    /// Returns the members of an owner at an end that are not deleted.
    func members(of owner: ObjectKey, at end: MemberEnd) throws -> [ObjectID]
    /// Returns the object that a reference refers to; nil when it is nil.
    func target(of object: ObjectKey, slot: Slot) throws -> ObjectID?

    /// Deletes an object along with another one, by the rule of the relationship `path`.
    mutating func delete(_ object: ObjectKey, path: String) throws
    /// Removes a member from the list of a deleted owner.
    mutating func remove(_ membership: MembershipKey, path: String?) throws
}

extension Schema {
    /// Returns the relationship whose members are listed at an end; nil when the owners declare
    /// none.
    package func relationship(at end: MemberEnd) -> Relationship? {
        relationshipsByEnd[end.number]
    }

    /// Returns the slots of an entity's references that have a delete rule.
    package func ruledSlots(ofEntity entity: EntityNumber) -> [Slot] {
        entities[entity].ruledSlots
    }
}
