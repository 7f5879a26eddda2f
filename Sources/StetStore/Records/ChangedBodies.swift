/// The bodies of an object before and after its change, for one object after another.
///
/// It keeps the entity from each object to the next: two cores that counted references to it for
/// each body would wait for each other.
struct ChangedBodies {
    /// The entity of the bodies before the first object.
    private static let nothing = Entity(name: "", properties: [])

    /// The number of the entity; 0 before the first object.
    private var entity: EntityNumber = 0
    /// The body before the change, to be read only if there is one.
    private(set) var before = RecordBody(emptyOf: nothing)
    /// The body after the change, to be read only if there is one.
    private(set) var after = RecordBody(emptyOf: nothing)
    /// False for an object that is inserted.
    private(set) var hasBefore = false
    /// False for an object that is deleted.
    private(set) var hasAfter = false

    /// Moves to the bodies of another object; nil stands for one that it does not have.
    ///
    /// - Throws: `DecodingFailure` when a body does not belong to the entity.
    mutating func move(
        to before: UnsafeRawBufferPointer?, _ after: UnsafeRawBufferPointer?,
        ofEntity entity: EntityNumber, in schema: Schema
    ) throws(DecodingFailure) {
        if entity != self.entity {
            let description = schema.entities[entity]
            self.before = RecordBody(emptyOf: description)
            self.after = RecordBody(emptyOf: description)
            self.entity = entity
        }
        hasBefore = before != nil
        hasAfter = after != nil
        if let before { try self.before.move(to: before) }
        if let after { try self.after.move(to: after) }
    }
}
