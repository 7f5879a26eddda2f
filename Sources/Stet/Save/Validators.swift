public import StetStore

/// Rules in code for the objects of a model; see `Model.validators`.
public struct Validators<M: Model> {
    let properties: [PropertyValidator<M>]
    let objects: [ObjectValidator<M>]

    /// These validators: those of properties first, then those of objects, each in this order.
    public init(_ validators: Validator<M>...) {
        // Every save makes these, and a key path of a generic type is made anew each time.
        properties = validators.compactMap { $0.property }
        objects = validators.compactMap { $0.object }
    }

    /// One validator, run on each object that is inserted, updated or deleted.
    ///
    /// An object whose properties are not valid by themselves is left out.
    public init(_ body: @escaping (_ validation: inout Validation<M>) -> Void) {
        self.init(.object(body))
    }

    var isEmpty: Bool { properties.isEmpty && objects.isEmpty }
}

/// One rule in code.
///
/// ```swift
/// static var validators: Validators<Person> {
///     Validators(
///         .property(\.name) { name in
///             if name.value.contains("@") { name.report("{property} can't contain @") }
///         },
///         .object(on: .insert, .update) { person in
///             guard let new = person.new, new.hasLicence, new.age < 16 else { return }
///             person.report(\.hasLicence, "a driver is at least 16")
///         })
/// }
/// ```
public struct Validator<M: Model> {
    fileprivate var property: PropertyValidator<M>?
    fileprivate var object: ObjectValidator<M>?

    /// A validator of one property, asked about each object that is inserted or updated, when the
    /// rules have been asked, whatever they said.
    ///
    /// - Precondition: the key path is a property of the model.
    public static func property<Value: StoredValue>(
        _ keyPath: KeyPath<M.Snapshot, Value>,
        _ body: @escaping (_ validation: inout PropertyValidation<Value>) -> Void
    ) -> Validator {
        Validator(property: PropertyValidator(keyPath, body))
    }

    /// A validator of whole objects; without operations it is run for each of them.
    ///
    /// An object whose properties are not valid by themselves is left out, so that the validator is
    /// not misled by them, unless `evenIfInvalid` is true.
    public static func object(
        on operations: ChangeKind..., evenIfInvalid: Bool = false,
        _ body: @escaping (_ validation: inout Validation<M>) -> Void
    ) -> Validator {
        Validator(
            object: ObjectValidator(
                operations: Set(operations), runsOnInvalid: evenIfInvalid, body: body))
    }
}

struct ObjectValidator<M: Model> {
    let operations: Set<ChangeKind>
    let runsOnInvalid: Bool
    let body: (inout Validation<M>) -> Void

    func concerns(_ operation: ChangeKind, isInvalid: Bool) -> Bool {
        (operations.isEmpty || operations.contains(operation))
            && (!isInvalid || runsOnInvalid)
    }
}

struct PropertyValidator<M: Model> {
    let slot: Slot
    /// Asks about the property of a snapshot.
    let check: (M.Snapshot, ChangeKind) -> [Report]
    /// Asks about a value by itself; nothing for one of another type.
    let checkValue: (Value) -> [Report]

    init<T: StoredValue>(
        _ keyPath: KeyPath<M.Snapshot, T>, _ body: @escaping (inout PropertyValidation<T>) -> Void
    ) {
        guard let slot = M._$description.slot(of: keyPath) else {
            trap("a validator of \(keyPath), which is no property of \(M._$name)")
        }
        self.slot = slot
        let name = M._$description.entity.properties[slot].name
        func check(_ value: T, _ operation: ChangeKind?) -> [Report] {
            var validation = PropertyValidation(
                property: name, value: value, operation: operation)
            body(&validation)
            return validation.reports
        }
        self.check = { check($0[keyPath: keyPath], $1) }
        checkValue = { value in T(_value: value).map { check($0, nil) } ?? [] }
    }
}

/// What a validator has said.
struct Report {
    let sentence: Sentence
    let code: Violation.Code
    let reason: String?
    var slot: Slot?
}

/// What a validator sees of one property, and where it reports.
public struct PropertyValidation<Value: Sendable> {
    /// The name of the property.
    public let property: String
    /// The value, normalised.
    public let value: Value
    /// What happens to the object; nil when a value is checked by itself, or before a save.
    public let operation: ChangeKind?
    fileprivate var reports: [Report] = []

    fileprivate init(property: String, value: Value, operation: ChangeKind?) {
        self.property = property
        self.value = value
        self.operation = operation
    }

    /// Says that the value is not valid.
    ///
    /// - Parameters:
    ///   - message: what is wrong, as a sentence for people, in which "{property}" stands for the
    ///     property's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil
    ) {
        reports.append(Report(sentence: Sentence(message), code: code, reason: reason))
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
    /// The store as it will be: other objects, for rules over several of them.
    public let store: PendingStore

    private(set) var reports: [Report] = []

    init(
        operation: ChangeKind, old: M.Snapshot?, new: M.Snapshot?, id: ObjectID,
        store: PendingStore
    ) {
        self.operation = operation
        self.old = old
        self.new = new
        self.id = id
        self.store = store
    }

    /// Says that the object is not valid as a whole.
    ///
    /// - Parameters:
    ///   - message: what is wrong, as a sentence for people, in which "{entity}" stands for the
    ///     model's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil
    ) {
        reports.append(Report(sentence: Sentence(message), code: code, reason: reason))
    }

    /// Says that one property is not valid.
    ///
    /// - Parameters:
    ///   - keyPath: the property, as a field of the model's snapshot.
    ///   - message: what is wrong, as a sentence for people, in which "{property}" stands for the
    ///     property's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public mutating func report<Value>(
        _ keyPath: KeyPath<M.Snapshot, Value>, _ message: String, code: Violation.Code = .custom,
        reason: String? = nil
    ) {
        reports.append(
            Report(
                sentence: Sentence(message), code: code, reason: reason,
                slot: M._$description.slot(of: keyPath)))
    }
}
