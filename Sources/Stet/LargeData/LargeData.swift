// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// Data of any size as an attribute: a file, a picture, a recording.
///
/// ```swift
/// @Model final class Photo {
///     var title: String
///     var file: LargeData?
///     init(title: String) { self.title = title }
/// }
///
/// photo.file = try await LargeData(request.body, in: store)     // streams the bytes to the store
/// try await context.save()
/// for try await part in photo.file!.bytes(in: store) { try await response.write(part) }
/// ```
///
/// The value itself is small: it is the digest of the bytes, by which the store finds them, and
/// their number. Objects, the journal, undo, merges and snapshots copy only that; equal bytes are
/// stored once, whichever objects and revisions have them. See <doc:LargeAttributes>.
public struct LargeData: Hashable, Sendable {
    let value: LargeValue

    init(_ value: LargeValue) { self.value = value }

    /// The number of bytes.
    public var byteCount: Int { value.byteCount }

    /// The SHA-256 digest of the bytes, which identifies them: 64 hexadecimal digits.
    public var sha256: String { value.digest.hexadecimal }

    // MARK: Writing

    /// Writes bytes to a store.
    ///
    /// They are durable when this returns. A trim of the journal removes them if no object that
    /// refers to them is saved within a day.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - store: The store of the objects that will have them.
    /// - Throws: `StoreError`: `.modelMismatch` when no model of the store has large data, and the
    ///   errors of a save.
    /// - Complexity: O(bytes).
    public init(_ data: Data, in store: Store) throws {
        let writer = try LargeValueWriter(store.file)
        do {
            try data.withUnsafeBytes { try writer.append($0) }
            self.init(try writer.finish())
        } catch {
            writer.abandon()
            throw error
        }
    }

    /// Writes the bytes of a stream to a store, about 1 MiB at a time.
    ///
    /// - Parameters:
    ///   - parts: The bytes in order, such as the body of a request.
    ///   - store: The store of the objects that will have them.
    /// - Throws: As the initializer for data; the errors of the stream, after which nothing is left
    ///   in the store.
    /// - Complexity: O(bytes) in time, O(bytes of a part) in memory.
    public nonisolated(nonsending) init<Parts: AsyncSequence>(
        _ parts: Parts, in store: Store
    ) async throws where Parts.Element: Collection<UInt8> {
        let writer = try LargeValueWriter(store.file)
        do {
            for try await part in parts {
                let bytes = Array(part)
                if writer.hasRoom(for: bytes.count) {
                    try bytes.withUnsafeBytes(writer.append)
                } else {
                    try await BlockingWork.run { try bytes.withUnsafeBytes(writer.append) }
                }
            }
            self.init(try await BlockingWork.run { try writer.finish() })
        } catch {
            writer.abandon()
            throw error
        }
    }

    // MARK: Reading

    /// Returns all bytes.
    ///
    /// - Parameter store: The store that has them.
    /// - Returns: The bytes.
    /// - Throws: `StoreError`: `.largeDataMissing`, `.damaged`, and the errors of a read.
    /// - Complexity: O(bytes), in memory too.
    public func data(in store: Store) throws -> Data {
        try data(in: store, range: 0..<byteCount)
    }

    /// Returns a part of the bytes, such as the range that a request asks for.
    ///
    /// - Parameters:
    ///   - store: The store that has them.
    ///   - range: The part; what is outside of the bytes is left out.
    /// - Returns: The bytes of the part.
    /// - Throws: As `data(in:)`.
    /// - Complexity: O(bytes of the part).
    public func data(in store: Store, range: Range<Int>) throws -> Data {
        let range = range.clamped(to: 0..<byteCount)
        var data = Data()
        try LargeValueReader(store.file).read(value, range) { part in
            // Only now is it known that there are so many.
            if data.isEmpty { data.reserveCapacity(range.count) }
            data.append(contentsOf: part)
        }
        return data
    }

    /// The bytes as a stream of parts of at most 64 KiB, each of which is read when it is asked
    /// for.
    ///
    /// - Parameters:
    ///   - store: The store that has them.
    ///   - range: The part to read; nil for all bytes.
    /// - Returns: The stream, which throws as `data(in:)` does.
    public func bytes(in store: Store, range: Range<Int>? = nil) -> Bytes {
        Bytes(data: self, store: store, range: range ?? 0..<byteCount)
    }
}

// MARK: - As an attribute

extension LargeData: AttributeValue {
    public static var _valueType: ValueType { .data }
    public static var _isLarge: Bool { true }

    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> LargeData {
        guard let value = LargeValue(stored: reader.bytes(slot: slot)) else {
            throw _UnreadableValue(slot: slot)
        }
        return LargeData(value)
    }

    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        value.stored.withUnsafeBytes { writer.write(bytes: $0, slot: slot) }
    }

    public var _value: Value { .data(Data(value.stored)) }

    public init?(_value: Value) {
        guard case .data(let data) = _value,
            let value = data.withUnsafeBytes({ LargeValue(stored: $0) })
        else { return nil }
        self.init(value)
    }
}

extension LargeData: Codable {
    /// Decodes the digest and the number of bytes from Base64.
    ///
    /// - Throws: The error of the decoder, `DecodingError` for other data.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let data = LargeData(_value: .data(try container.decode(Data.self))) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "These are not a digest and a number of bytes.")
        }
        self = data
    }

    /// Encodes the digest and the number of bytes in Base64; the bytes themselves stay in the
    /// store.
    ///
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(value.stored))
    }
}

extension LargeData: CustomStringConvertible {
    /// The number of bytes and the beginning of the digest: "1048576 bytes 3b0c…".
    public var description: String { "\(byteCount) bytes \(sha256.prefix(16))…" }
}

// What large data can't be.
extension LargeData {
    @available(
        *, unavailable,
        message: "an array can't contain large data: write a '@Model' with one, and a relationship"
    )
    public typealias _List = _RefusedProperty<[Self]>

    @available(
        *, unavailable,
        message: "an array can't contain large data: write a '@Model' with one, and a relationship"
    )
    public typealias _OptionalList = _RefusedProperty<[Self]?>

    @available(
        *, unavailable,
        message: "a dictionary can't contain large data: write a '@Model' with one"
    )
    public typealias _Element = Int
}
