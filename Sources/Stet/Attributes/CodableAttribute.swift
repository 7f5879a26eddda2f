// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

import FoundationEssentials
public import StetStore

/// An attribute that is stored as JSON, such as a struct or an enum with associated values.
///
/// ```swift
/// struct Address: CodableAttribute {
///     var street: String
///     var city: String
/// }
/// ```
///
/// The value is one attribute: it is compared and shown as a whole. A change is a difference of its
/// JSON, whose keys are sorted; a `Set` has no defined order, so prefer a sorted array. A value
/// whose encoding throws is a violation (`.unstorable`) when it is saved or validated; one that no
/// longer decodes makes the object unreadable, so new fields are best optional.
public protocol CodableAttribute: _AttributeElement {}

extension CodableAttribute {
    public static var _valueType: ValueType { .codable }
    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        try readTail(&reader, slot: slot)
    }
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        do {
            writer.write(.codable(try AttributeJSON.text(of: self)), slot: slot)
        } catch {
            let reason = EncodingFailure("can't be encoded: \(AttributeJSON.reason(error))")
            writer.fail(reason, slot: slot)
        }
    }
    public var _value: Value { (try? AttributeJSON.text(of: self)).map(Value.codable) ?? .null }
    public init?(_value: Value) {
        guard case .codable(let text) = _value,
            let value = try? AttributeJSON.decoder.decode(Self.self, from: Data(text.utf8))
        else { return nil }
        self = value
    }
}

/// The JSON coders of Codable attributes; non-finite numbers are encoded as strings.
private enum AttributeJSON {
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return encoder
    }()
    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return decoder
    }()

    static func text(of value: some Encodable) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Returns the reason why a value could not be encoded; the text does not contain the value.
    static func reason(_ error: any Error) -> String {
        if case EncodingError.invalidValue(_, let context) = error {
            return context.debugDescription
        }
        return "\(error)"
    }
}
