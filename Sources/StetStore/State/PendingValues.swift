/// The objects with pending changes, by the keys of their values in a unique index.
package struct PendingValues {
    private var objects: [[UInt8]: ObjectID] = [:]
    /// The further objects of the keys that several have.
    private var others: [[UInt8]: Set<ObjectID>] = [:]

    package init() {}

    /// Adds an object; the keys that it was added with before stay.
    package mutating func insert(_ object: ObjectID, at key: [UInt8]) {
        guard let first = objects[key] else { return objects[key] = object }
        if first != object { others[key, default: []].insert(object) }
    }

    /// Returns the objects that were added with a key: the first one first, the others in ascending
    /// order.
    package func objects(at key: [UInt8]) -> [ObjectID] {
        guard let first = objects[key] else { return [] }
        return [first] + (others[key]?.sorted() ?? [])
    }
}
