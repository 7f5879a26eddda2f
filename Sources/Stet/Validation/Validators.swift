public import StetStore

/// The validation rules in code for the objects of a model; see `Model.validators`.
public struct Validators<M: Model> {
    let properties: [PropertyValidator<M>]
    let objects: [ObjectValidator<M>]

    /// Creates a list of validators; those of properties run first, then those of objects, each in
    /// this order.
    public init(_ validators: Validator<M>...) {
        // Closures instead of key paths: every save runs this, and key paths of generic types are
        // created on each use.
        properties = validators.compactMap { $0.property }
        objects = validators.compactMap { $0.object }
    }

    /// Creates one validator that runs for each object that is inserted, updated or deleted.
    ///
    /// It does not run for an object whose properties are invalid by themselves.
    public init(_ body: @escaping (_ validation: inout Validation<M>) -> Void) {
        self.init(.object(body))
    }

    var isEmpty: Bool { properties.isEmpty && objects.isEmpty }
}

/// A validation rule in code.
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

    /// Returns a validator of one property, which runs for each object that is inserted or updated,
    /// after the rules, whatever their result.
    ///
    /// - Precondition: the key path is a property of the model.
    public static func property<Value: StoredValue>(
        _ keyPath: KeyPath<M.Snapshot, Value>,
        _ body: @escaping (_ validation: inout PropertyValidation<Value>) -> Void
    ) -> Validator {
        Validator(property: PropertyValidator(keyPath, body))
    }

    /// Returns a validator of whole objects; without operations it runs for all of them.
    ///
    /// It does not run for an object whose properties are invalid by themselves, unless
    /// `evenIfInvalid` is true.
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
    /// Checks the property of a snapshot.
    let check: (M.Snapshot, ChangeKind) -> [Report]
    /// Checks a value by itself; returns nothing for a value of another type.
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

/// A report of a validator.
struct Report {
    let sentence: Sentence
    let code: Violation.Code
    let reason: String?
    var slot: Slot?
}

/// The value of one property as a validator sees it, and the reports that it makes.
public struct PropertyValidation<Value: Sendable> {
    /// The name of the property.
    public let property: String
    /// The value, normalised.
    public let value: Value
    /// The operation on the object; nil when a value is checked by itself, or before a save.
    public let operation: ChangeKind?
    fileprivate var reports: [Report] = []

    fileprivate init(property: String, value: Value, operation: ChangeKind?) {
        self.property = property
        self.value = value
        self.operation = operation
    }

    /// Reports that the value is not valid.
    ///
    /// - Parameters:
    ///   - message: a sentence for people that says what is wrong; "{property}" in it is replaced
    ///     with the property's name.
    ///   - code: a code of your own.
    ///   - reason: the reason why it is wrong.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil
    ) {
        reports.append(Report(sentence: Sentence(message), code: code, reason: reason))
    }
}

/// The change of one object as a validator sees it, and the reports that it makes.
///
/// It contains values, which cannot be edited.
///
/// ```swift
/// extension Article {
///     static var validators: Validators<Article> {
///         Validators { validation in
///             guard let new = validation.new, new.rating == 5, new.notebook == nil else { return }
///             validation.report(\.rating, "an article rated 5 needs a notebook")
///         }
///     }
/// }
/// ```
public struct Validation<M: Model> {
    /// The operation on the object.
    public let operation: ChangeKind
    /// The values before; nil for an insert.
    public let old: M.Snapshot?
    /// The values after, normalised and stamped; nil for a delete.
    public let new: M.Snapshot?
    /// The id of the object.
    public let id: ObjectID
    /// The store as it will be after the save, for rules over several objects.
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

    /// Reports that the object is not valid as a whole.
    ///
    /// - Parameters:
    ///   - message: a sentence for people that says what is wrong; "{entity}" in it is replaced
    ///     with the model's name.
    ///   - code: a code of your own.
    ///   - reason: the reason why it is wrong.
    public mutating func report(
        _ message: String, code: Violation.Code = .custom, reason: String? = nil
    ) {
        reports.append(Report(sentence: Sentence(message), code: code, reason: reason))
    }

    /// Reports that one property is not valid.
    ///
    /// - Parameters:
    ///   - keyPath: the property, as a field of the model's snapshot.
    ///   - message: a sentence for people that says what is wrong; "{property}" in it is replaced
    ///     with the property's name.
    ///   - code: a code of your own.
    ///   - reason: the reason why it is wrong.
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
