import Foundation
import StetStore

/// Sealed values of the simulation, as undo moves them: nobody has the keys.
enum SimulatedSeal {
    /// Returns a number that is sealed by the key of a box, for an item.
    static func value(_ number: UInt8, of item: ObjectID, by box: ObjectID) -> Value {
        let label = SealedBytes.Place.label(ofProperty: "secret")
        let token = [UInt8](repeating: number, count: 16)
        var buffer = ByteBuffer(capacity: 128)
        // The form, the number of the key file, the place, the version and the token.
        buffer.append(UInt8(1))
        buffer.append(UInt64(7))
        buffer.append(box)
        buffer.append(item)
        buffer.append(label)
        buffer.append(UInt32(0))
        buffer.append(UInt8(token.count))
        token.withUnsafeBytes { buffer.append($0) }
        // The nonce, the bytes and the tag.
        [UInt8](repeating: number, count: 12 + 1 + 16).withUnsafeBytes { buffer.append($0) }
        return .data(Data(buffer.bytes))
    }

    /// Returns the number of a sealed value, and the box by whose key it is sealed.
    static func parts(of value: Value) -> (number: UInt8, box: ObjectID)? {
        guard case .data(let data) = value, let number = data.last,
            let place = SealedBytes(bytes: Array(data)).place
        else { return nil }
        return (number, place.owner)
    }
}
