import StetStore

/// The values of one object of a query that are asked for, read one after another.
@usableFromInline
struct FoundValues {
    let model: any Model.Type
    let id: ObjectID
    @usableFromInline let record: UnsafeRawBufferPointer
    @usableFromInline let propertyCount: Int
    /// The slots of the record with the values; nil for a value among `values`.
    @usableFromInline let slots: UnsafeBufferPointer<Slot?>
    @usableFromInline let values: UnsafeBufferPointer<Value>
    /// The place of the next value.
    @usableFromInline var place = 0

    /// A reader of the record, which gives each value once: two of the values may be the same one.
    @inlinable var reader: RecordReader {
        RecordReader(checked: record, propertyCount: propertyCount)
    }

    @inlinable
    mutating func next<T: StoredValue>() throws -> T {
        defer { place += 1 }
        if let slot = slots[place] { return try stored(in: slot) }
        guard let value = T(_value: values[place]) else { throw unreadable("\(T.self)") }
        return value
    }

    mutating func nextOrNil<T: StoredValue>() throws -> T? {
        let isNil = slots[place].map(reader.isNull) ?? (values[place] == .null)
        return isNil ? nil : try next() as T
    }

    @inlinable
    func stored<T: StoredValue>(in slot: Slot) throws -> T {
        var reader = reader
        if T._isOptional || !reader.isNull(slot: slot) {
            if let value = try? T._read(&reader, slot: slot), !reader.isDamaged { return value }
        }
        throw unreadable(in: slot)
    }

    @usableFromInline
    func unreadable(in slot: Slot) -> any Error {
        model._$unreadable(_UnreadableValue(slot: slot), id, record)
    }

    @usableFromInline
    func unreadable(_ type: String) -> any Error {
        StoreError(
            .unreadableValue,
            message: "A value of the object \(id) of \(model._$name) does not fit \(type).",
            advice: "Newer code has written it, or it is the result of a calculation that does not "
                + "fit its type: '??' replaces it.")
    }
}

/// The values that are asked for of each object of a query.
@usableFromInline
struct FoundRequest<M: Model> {
    private(set) var values: [(node: QueryNode, type: ValueType)] = []

    @usableFromInline
    init() {}

    /// Adds a value.
    ///
    /// Closures of a parameter pack are added one by one: programs that Swift 6.3.1 compiles
    /// without optimisation crash when a pack of closures is passed on to another function.
    @usableFromInline
    mutating func add<T: StoredValue>(_ value: (M.Fields) -> QueryExpression<T>) {
        add(value(M.fields).node, T.self)
    }

    mutating func add<T: StoredValue>(_ node: QueryNode, _ type: T.Type) {
        values.append((node, T._valueType))
    }
}
