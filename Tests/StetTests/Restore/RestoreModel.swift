import Foundation

/// The expected state of a context, kept by hand in plain Swift values: the oracle of the restore
/// driver.
///
/// It does not use the code under test.
struct RestoreModel: Equatable {
    enum Kind { case notebook, article }

    /// The values of an object; references by label.
    struct Values: Equatable {
        var kind: Kind
        var text: String
        var body: String?
        var rating = 0
        var notebook: Int?
        var next: Int?
        var created = Date(timeIntervalSinceReferenceDate: 0)
        var updated: Date?
    }

    struct Object: Equatable {
        var values: Values
        var isInContext = false
        var isInserted = false
        var isDeleted = false
        var hasChanges = false
        /// The values that are restored when its insertion is reverted.
        var valuesAtInsert: Values
    }

    var objects: [Int: Object] = [:]
    /// The values on the disk.
    var saved: [Int: Values] = [:]

    // MARK: Edits

    mutating func make(_ label: Int, _ values: Values) {
        objects[label] = Object(values: values, valuesAtInsert: values)
    }

    mutating func insert(_ label: Int) {
        var queue = [label]
        while let next = queue.popLast() {
            guard var object = objects[next], !object.isInContext else { continue }
            object.isInContext = true
            object.isInserted = true
            object.isDeleted = false
            object.hasChanges = true
            object.valuesAtInsert = object.values
            objects[next] = object
            queue += targets(of: object.values)
        }
    }

    func targets(of values: Values) -> [Int] { [values.notebook, values.next].compactMap { $0 } }

    mutating func edit(_ label: Int, _ change: (inout Values) -> Void) {
        guard var object = objects[label], !object.isDeleted || !object.isInContext else { return }
        change(&object.values)
        if object.isInContext { object.hasChanges = true }
        objects[label] = object
    }

    /// Reverts a pending deletion, as inserting the object again does.
    mutating func takeDeletionBack(_ label: Int) {
        objects[label]?.isDeleted = false
    }

    mutating func delete(_ label: Int) {
        guard objects[label]?.isInContext == true, objects[label]?.isDeleted == false else {
            return
        }
        objects[label]?.isDeleted = true
        objects[label]?.hasChanges = true
    }

    // MARK: Restoring

    /// Pending changes as they were in `earlier`.
    ///
    /// What was in no context then is in none now.
    mutating func restore(_ earlier: RestoreModel) {
        for (label, object) in objects {
            if let then = earlier.objects[label], then.isInContext {
                objects[label] = then
            } else if object.isInContext {
                var free = Object(
                    values: object.valuesAtInsert, valuesAtInsert: object.valuesAtInsert)
                free.isInContext = false
                objects[label] = free
            }
        }
    }

    /// The last saved state.
    mutating func rollBack() {
        for (label, object) in objects where object.isInContext && object.hasChanges {
            if let values = saved[label] {
                objects[label] = Object(values: values, isInContext: true, valuesAtInsert: values)
            } else {
                objects[label] = Object(
                    values: object.valuesAtInsert, valuesAtInsert: object.valuesAtInsert)
            }
        }
    }

    // MARK: Saving

    /// The objects that a save inserts, updates or deletes, before its delete rules.
    var netChanges: Set<Int> {
        Set(
            objects.filter { label, object in
                guard object.isInContext, object.hasChanges else { return false }
                if object.isDeleted { return !object.isInserted }
                return object.isInserted || saved[label] != object.values
            }.keys)
    }

    /// A save that succeeds; true when it writes anything.
    mutating func save(at time: Date) -> Bool {
        for label in objects.keys where objects[label]?.hasChanges == true {
            if objects[label]?.isDeleted == false {
                targets(of: objects[label]!.values).forEach { insert($0) }
            }
        }
        let deleted = Set(objects.filter { $0.value.isInContext && $0.value.isDeleted }.keys)
        for label in objects.keys where objects[label]?.isInContext == true {
            nullify(label, deleted)
        }
        let changed = netChanges
        for label in changed { stamp(label, time) }
        for (label, object) in objects where object.isInContext && object.hasChanges {
            settle(label, object, isChanged: changed.contains(label))
        }
        return !changed.isEmpty
    }

    private mutating func nullify(_ label: Int, _ deleted: Set<Int>) {
        guard let object = objects[label], !object.isDeleted else { return }
        let values = object.values
        if deleted.contains(values.notebook ?? -1) { edit(label) { $0.notebook = nil } }
        if deleted.contains(values.next ?? -1) { edit(label) { $0.next = nil } }
    }

    private mutating func stamp(_ label: Int, _ time: Date) {
        guard let object = objects[label], object.values.kind == .notebook, !object.isDeleted else {
            return
        }
        if object.isInserted { objects[label]?.values.created = time }
        objects[label]?.values.updated = time
    }

    private mutating func settle(_ label: Int, _ object: Object, isChanged: Bool) {
        if object.isDeleted {
            saved[label] = nil
            objects[label]?.isInserted = false
            objects[label]?.hasChanges = false
            return
        }
        if isChanged { saved[label] = object.values }
        objects[label] = Object(
            values: object.values, isInContext: true, valuesAtInsert: object.values)
    }
}
