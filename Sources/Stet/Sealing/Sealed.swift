// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

import FoundationEssentials
public import StetStore

/// A value that is stored encrypted, and can be erased everywhere by destroying one key.
///
/// ```swift
/// @Model final class Patient {
///     var name: Sealed<String>
///     init(name: String) { self.name = Sealed(name) }
/// }
/// @Model final class Visit {
///     var patient: Patient?
///     @Attribute(.sealed(by: \.patient)) var diagnosis: Sealed<String>?
///     init() {}
/// }
///
/// visit.diagnosis = Sealed("influenza")
/// try context.save()
/// let diagnosis = try visit.diagnosis?.value
/// try keys.destroyKey(of: patient.id)      // `value` throws SealingError (.erased) from now on
/// ```
///
/// A save seals the value by the key of the object itself, or of the one that `.sealed(by:)` names,
/// with AES-GCM. The store contains it in no other form: records, journal, backups, shipped
/// journals and exports have the sealed bytes; undo, redo, merges and time travel move them without
/// a key. The keys are in a ``KeyFile``. See <doc:SealedAttributes>.
///
/// Two sealed values are equal when their bytes are: compare ``value`` instead. Queries find a
/// value by the object whose key has sealed it: `$0.name.isEqual(to: "Ada", sealedBy: patient)`.
public struct Sealed<Value: AttributeValue>: Sendable {
    let bytes: SealedBytes
    /// True when the value was read from the record of another object or property.
    private let isMisplaced: Bool

    /// Creates a value that the next save seals.
    ///
    /// Until then it is encrypted by a key that only this process has.
    public init(_ value: Value) {
        var plaintext = [Value._valueType.rawValue]
        do throws(EncodingFailure) {
            let body = try EncodedBody(propertyCount: 1) { value._write(&$0, slot: 0) }
            plaintext += body.bytes
        } catch {
            // Without a body: the save reports that the value can't be stored.
        }
        self.init(SealedBytes(unsaved: plaintext))
    }

    init(_ bytes: SealedBytes, isMisplaced: Bool = false) {
        self.bytes = bytes
        self.isMisplaced = isMisplaced
    }

    /// The value.
    ///
    /// The key file by which it was sealed must be open in this process.
    ///
    /// - Throws: `SealingError`: `.erased` once the key was destroyed, `.keyFileNotOpen`, and for
    ///   bytes that were tampered with `.damaged` and `.misplaced`.
    /// - Complexity: O(size), and a read of the key file.
    public var value: Value {
        get throws(SealingError) {
            if isMisplaced { throw .misplaced }
            let plaintext = try bytes.opened()
            guard plaintext.first == Value._valueType.rawValue,
                let value = Self.decoded(plaintext.dropFirst())
            else { throw .wrongType }
            return value
        }
    }

    /// True when the key of the value was destroyed.
    public var isErased: Bool {
        do throws(SealingError) {
            _ = try bytes.opened()
            return false
        } catch {
            return error.code == .erased
        }
    }

    private static func decoded(_ body: ArraySlice<UInt8>) -> Value? {
        body.withUnsafeBytes { body in
            guard var reader = try? RecordReader(body: body, propertyCount: 1),
                let value = try? Value._read(&reader, slot: 0), !reader.isDamaged
            else { return nil }
            return value
        }
    }
}

extension Sealed: Equatable {
    /// Returns whether both have the same sealed bytes.
    public static func == (one: Sealed, other: Sealed) -> Bool { one.bytes == other.bytes }
}

extension Sealed: CustomStringConvertible, CustomReflectable {
    /// "sealed".
    public var description: String { "sealed" }
    /// A mirror without the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Sealed: Codable {
    /// Decodes the sealed bytes from Base64.
    ///
    /// - Throws: the error of the decoder.
    public init(from decoder: any Decoder) throws {
        let bytes = try decoder.singleValueContainer().decode(Data.self)
        self.init(SealedBytes(bytes: Array(bytes)))
    }

    /// Encodes the sealed bytes in Base64.
    ///
    /// - Throws: the error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes.bytes))
    }
}

// MARK: - As an attribute

extension Sealed: StoredValue {
    public static var _valueType: ValueType { .data }
    public static var _isSealed: Bool { true }
    public static var _isLarge: Bool { Value._isLarge }

    public static func _read(_ reader: inout RecordReader, slot: Slot) -> Sealed {
        let bytes = SealedBytes(bytes: Array(reader.bytes(slot: slot)))
        return Sealed(bytes, isMisplaced: !reader.isPlaced(bytes, slot: slot))
    }

    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        bytes.bytes.withUnsafeBytes { writer.write(bytes: $0, slot: slot) }
    }

    public var _value: StetStore.Value { .data(Data(bytes.bytes)) }

    public init?(_value: StetStore.Value) {
        guard case .data(let data) = _value else { return nil }
        self.init(SealedBytes(bytes: Array(data)))
    }
}

extension Sealed: _Storable {
    public typealias _Storage = Self
    public typealias _SnapshotValue = Self

    public static func _field(_ object: _QueryObject, slot: Slot) -> _SealedField<Value> {
        _SealedField(object, slot: slot)
    }
}

extension Sealed: _OptionalStorable, `RawAttribute, CodableAttribute, @Embedded or @Model` {
    public typealias _OptionalStorage = Self?
    public typealias _OptionalSnapshotValue = Self?

    public static func _field(
        optionalOf object: _QueryObject, slot: Slot
    ) -> _OptionalSealedField<Value> {
        _OptionalSealedField(_SealedField(object, slot: slot))
    }
    public typealias _Attribute = Self
    public typealias _OptionalAttribute = Self?
    public typealias _OptionalRuledAttribute = Self?
    public typealias _IndexedAttribute = Self
    public typealias _OptionalIndexedAttribute = Self?
}

// What a sealed value can't be.
extension Sealed {
    @available(
        *, unavailable,
        message: """
            a sealed value can be indexed, but has no rules, unique indexes or normalisers: check \
            it before it is sealed
            """
    )
    public typealias _RuledAttribute = _RefusedProperty<Self>

    @available(
        *, unavailable,
        message: "an embedded value can't contain a sealed one: write it in the model"
    )
    public typealias _Member = _RefusedProperty<Self>

    @available(
        *, unavailable,
        message: "an embedded value can't contain a sealed one: write it in the model"
    )
    public typealias _OptionalMember = _RefusedProperty<Self?>

    @available(
        *, unavailable, message: "seal the array as a whole: write 'Sealed<[String]>'"
    )
    public typealias _List = _RefusedProperty<[Self]>

    @available(
        *, unavailable, message: "seal the array as a whole: write 'Sealed<[String]>'"
    )
    public typealias _OptionalList = _RefusedProperty<[Self]?>

    @available(
        *, unavailable, message: "seal the dictionary as a whole: write 'Sealed<[String: Int]>'"
    )
    public typealias _Element = Int
}

// MARK: - The option

/// The relationships of a model as `.sealed(by:)` names them.
@dynamicMemberLookup
public struct _SealOwner: Sendable {
    let name: String

    /// Returns the relationship with a name; the schema refuses those of other objects.
    public subscript(dynamicMember name: String) -> _SealOwner {
        _SealOwner(name: self.name.isEmpty ? name : "\(self.name).\(name)")
    }
}

extension AttributeOption {
    /// Seals a value by the key of the object to which a relationship refers, instead of that of
    /// its own object.
    ///
    /// ```swift
    /// @Attribute(.sealed(by: \.patient)) var diagnosis: Sealed<String>?
    /// ```
    ///
    /// A new value is refused (`.unsealable`) while the relationship is nil. When the relationship
    /// changes, the value is sealed anew; when it becomes nil, it stays with the last object.
    public static func sealed(by owner: KeyPath<_SealOwner, _SealOwner>) -> AttributeOption {
        var option = AttributeOption()
        let name = _SealOwner(name: "")[keyPath: owner].name
        option.seal = name.isEmpty ? .own : .reference(name)
        return option
    }
}
