import Crypto

/// A SHA-256 digest.
package struct Digest: Hashable, Sendable {
    package static let byteCount = 32
    package private(set) var words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest before the first commit in the hash chain.
    package static let zero = Digest(words: (0, 0, 0, 0))

    private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    package init(_ bytes: UnsafeRawBufferPointer) {
        words = (
            bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
            bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
            bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
        )
    }

    package init(of bytes: UnsafeRawBufferPointer) {
        var hasher = SHA256()
        hasher.update(bufferPointer: bytes)
        self = hasher.finalize().withUnsafeBytes { Digest($0) }
    }

    package func append(to buffer: inout ByteBuffer) {
        withUnsafeBytes(of: words) { buffer.append($0) }
    }

    func overwrite(_ buffer: inout ByteBuffer, at offset: Int) {
        withUnsafeBytes(of: words) { buffer.overwrite($0, at: offset) }
    }

    package static func == (one: Digest, other: Digest) -> Bool { one.words == other.words }

    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

    /// The digest in hexadecimal digits.
    package var hexadecimal: String {
        withUnsafeBytes(of: words) { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }
}

/// Computes the digest of bytes that arrive in parts.
struct DigestHasher {
    private var hasher = SHA256()

    /// Adds the next part.
    mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bufferPointer: bytes) }

    /// Returns the digest of all parts.
    func finish() -> Digest { hasher.finalize().withUnsafeBytes { Digest($0) } }
}
