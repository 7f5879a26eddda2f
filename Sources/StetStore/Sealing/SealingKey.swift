import Crypto
import FoundationEssentials

/// The keys that are derived from one version of the key of an owner.
struct SealingKey: Sendable {
    /// The version; see `KeyPlaces.nextVersion(of:)`.
    let version: UInt32
    /// The key of the values.
    let values: SymmetricKey
    /// The key of the hashes that are their nonces.
    let nonces: SymmetricKey
    /// The key of the hashes that are their tokens.
    let tokens: SymmetricKey

    init(_ key: SymmetricKey, version: UInt32) {
        func derived(_ use: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key, info: Data("stet \(use)".utf8),
                outputByteCount: KeyFile.keyByteCount)
        }
        self.version = version
        values = derived("values")
        nonces = derived("nonces")
        tokens = derived("tokens")
    }
}

/// The part of an indexed sealed value by which it is found: a hash by a key of the owner, equal
/// for equal values of one property.
package struct SealedToken: Hashable, Sendable {
    static let byteCount = 16

    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the token of a plaintext in the property with a label.
    init(of plaintext: [UInt8], label: UInt32, _ key: SealingKey) {
        var code = HMAC<SHA256>(key: key.tokens)
        withUnsafeBytes(of: label.littleEndian) { code.update(data: $0) }
        code.update(data: plaintext)
        bytes = Array(code.finalize().prefix(Self.byteCount))
    }
}
