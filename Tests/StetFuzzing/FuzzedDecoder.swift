import StetStore

/// The decoders of a store, as the fuzzer calls them and as a test calls them again with what the
/// fuzzer has found.
///
/// Hostile bytes must be decoded or refused with a typed error; what is decoded must mean the same
/// when it is encoded again.
package enum FuzzedDecoder: String, CaseIterable, Sendable {
    /// Header, checksum and body of a record, and what is made of bodies: rules, change sets, the
    /// fold.
    case record
    /// The chunks of a journal entry, up to a commit.
    case entry
    /// Keys, ids as text, schemas, subscriptions.
    case key
    /// Change sets in JSON.
    case json
    /// The values and keys of a whole store, opened, read, verified and committed to.
    case store

    /// The result of decoding an input.
    package enum Outcome: Hashable, Sendable {
        case decoded
        case refused
    }
}

/// A decoder, with what it needs between inputs.
package struct Fuzz: Sendable {
    private let decoder: FuzzedDecoder
    private let store: HostileStore?

    /// Makes the scratch store of the decoder that needs one.
    package init(_ decoder: FuzzedDecoder) throws {
        self.decoder = decoder
        store = decoder == .store ? try HostileStore() : nil
    }

    /// Decodes an input.
    ///
    /// - Throws: `FuzzFinding` when the decoder broke a promise.
    package func decode(_ input: UnsafeRawBufferPointer) throws(FuzzFinding)
        -> FuzzedDecoder.Outcome
    {
        var input = HostileInput(input)
        do {
            switch decoder {
            case .record: try FuzzedRecord.decode(&input)
            case .entry: try FuzzedEntry.decode(&input)
            case .key: try FuzzedKey.decode(&input)
            case .json: try FuzzedJSON.decode(&input)
            case .store: try store?.decode(&input)
            }
            return .decoded
        } catch let finding as FuzzFinding {
            throw finding
        } catch is DecodingFailure, is StoreError, is DecodingError {
            return .refused
        } catch {
            throw FuzzFinding("an error that nobody expects: \(error)")
        }
    }
}

/// A promise that a decoder has broken.
package struct FuzzFinding: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// - Throws: `FuzzFinding` unless `condition` holds.
func promise(_ condition: Bool, _ description: @autoclosure () -> String) throws(FuzzFinding) {
    if !condition { throw FuzzFinding(description()) }
}

/// The fuzzer's bytes, cut into the parts that a decoder takes; at their end it is empty parts.
struct HostileInput {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isEmpty: Bool { rest.isEmpty }

    /// So many bytes, or as many as there are, in memory of exactly that size.
    mutating func bytes(_ count: Int) -> [UInt8] {
        let taken = Array(rest.prefix(count))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count))
        return taken
    }

    mutating func byte() -> UInt8 { bytes(1).first ?? 0 }

    mutating func number() -> Int { Int(byte()) | Int(byte()) << 8 }

    /// A part that begins with its length.
    mutating func frame() -> [UInt8] { bytes(number()) }

    mutating func remainder() -> [UInt8] { bytes(rest.count) }
}

extension [UInt8] {
    /// A part as `HostileInput.frame` reads it.
    init(frame: [UInt8]) { self = UInt16(frame.count).littleEndianBytes + frame }

    /// Writes over the bytes at an offset, as far as there are any.
    mutating func patch(_ bytes: [UInt8], at offset: Int) {
        for (index, byte) in bytes.enumerated() where indices.contains(offset + index) {
            self[offset + index] = byte
        }
    }
}

extension FixedWidthInteger {
    var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension Digest {
    init(_ bytes: some Collection<UInt8>) {
        self = Array(bytes).withUnsafeBytes { Digest(of: $0) }
    }

    var bytes: [UInt8] {
        var buffer = ByteBuffer(capacity: Digest.byteCount)
        append(to: &buffer)
        return Array(buffer.bytes)
    }
}
