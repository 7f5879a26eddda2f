public import StetStore

/// Rules in code for the objects of a model; see `Model.validators`.
public struct Validators<M: Model> {
    let validators: [(inout Validation<M>) -> Void]

    /// These validators, run in this order on each object that is inserted, updated or deleted.
    ///
    /// An object whose attributes break their rules is left out, so that a validator sees only
    /// values that are right by themselves.
    public init(_ validators: ((_ validation: inout Validation<M>) -> Void)...) {
        self.validators = validators
    }
}

/// What a validator sees of one object's change, and where it reports.
///
/// It sees values and cannot edit.
public struct Validation<M: Model> {
    /// What happens to the object.
    public let operation: ChangeKind
    /// The values before; nil for an insert.
    public let old: M.Snapshot?
    /// The values after, normalised and stamped; nil for a delete.
    public let new: M.Snapshot?
    /// The object.
    public let id: ObjectID

    private(set) var violations: [Violation] = []

    init(operation: ChangeKind, old: M.Snapshot?, new: M.Snapshot?, id: ObjectID) {
        self.operation = operation
        self.old = old
        self.new = new
        self.id = id
    }

    /// Says that the object is not valid as a whole.
    ///
    /// - Parameters:
    ///   - message: what is wrong, as a sentence for people.
    ///   - code: a code of your own.
    public mutating func report(_ message: String, code: Violation.Code = .custom) {
        append(message, code, slot: nil)
    }

    /// Says that one property is not valid.
    ///
    /// - Parameters:
    ///   - keyPath: the property, as a field of the model's snapshot.
    ///   - message: what is wrong, as a sentence for people.
    ///   - code: a code of your own.
    public mutating func report<Value>(
        _ keyPath: KeyPath<M.Snapshot, Value>, _ message: String, code: Violation.Code = .custom
    ) {
        append(message, code, slot: M._$description.slot(of: keyPath))
    }

    private mutating func append(_ message: String, _ code: Violation.Code, slot: Int?) {
        violations.append(
            Violation(
                code: code, entity: M._$name, object: id,
                property: slot.map { M._$description.entity.properties[$0].name }, slot: slot,
                message: message))
    }
}
