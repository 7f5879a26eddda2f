import Crypto
import FoundationEssentials

/// The bytes of a sealed value: what a record contains of it.
///
/// A value that was saved has a header, which says by which key of which key file it was sealed,
/// and to which object and property it belongs; it is authenticated along with the plaintext. The
/// header of an indexed value ends in a token: equal values of one owner and property have equal
/// tokens. Before a value is saved, it is encrypted by a key that only this process has, so that
/// drafts, texts and encodings of pending changes never contain it. docs/FileFormat.md describes
/// the bytes.
///
/// The nonce follows from the plaintext and the header: the same value in the same place has the
/// same bytes, and saving it again is no change. It is a hash by a key of the owner, and shows
/// nothing else about the plaintext.
package struct SealedBytes: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    private enum Form {
        static let unsaved: UInt8 = 0
        static let saved: UInt8 = 1
    }

    private static let nonceByteCount = 12
    private static let tagByteCount = 16
    /// The form and the number of the process.
    private static let unsavedHeaderByteCount = 9
    /// The form, the number of the key file, the ids of the owner and of the object, the label of
    /// the property, the version of the key, and the number of bytes of the token that follows.
    private static let savedHeaderByteCount = 1 + 8 + 16 + 16 + 4 + 4 + 1

    // MARK: Unsaved values

    /// The key of this process, which is never written anywhere.
    private static let processKey = SymmetricKey(size: .bits256)
    private static let processNumber = UInt64.random(in: .min ... .max)

    /// Creates the bytes of a value that was not saved yet.
    package init(unsaved plaintext: [UInt8]) {
        var header = ByteBuffer(capacity: Self.unsavedHeaderByteCount)
        header.append(Form.unsaved)
        header.append(Self.processNumber)
        bytes = Self.encrypt(
            plaintext, Array(header.bytes), AES.GCM.Nonce(), Self.processKey)
    }

    /// True once the value was sealed by the key of an owner.
    package var isSaved: Bool { place != nil }

    // MARK: Saved values

    /// The owner of the key of a saved value, and where the value belongs.
    package struct Place: Hashable, Sendable {
        package let owner: ObjectID
        package let object: ObjectID
        /// The label of the property: a hash of its name.
        package let label: UInt32

        package init(owner: ObjectID, object: ObjectID, label: UInt32) {
            self.owner = owner
            self.object = object
            self.label = label
        }

        /// Returns the label of the property with a name.
        package static func label(ofProperty name: String) -> UInt32 {
            SHA256.hash(data: Data(name.utf8)).withUnsafeBytes {
                UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self))
            }
        }
    }

    /// The place of a saved value; nil for one that was not saved, and for bytes that are no sealed
    /// value.
    package var place: Place? {
        guard headerByteCount != nil else { return nil }
        return bytes.withUnsafeBytes { bytes in
            Place(
                owner: ObjectID(bytes: UnsafeRawBufferPointer(rebasing: bytes[9..<25])),
                object: ObjectID(bytes: UnsafeRawBufferPointer(rebasing: bytes[25..<41])),
                label: UInt32(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: 41, as: UInt32.self)))
        }
    }

    /// The number of bytes of the header of a saved value; nil for one that was not saved, and for
    /// bytes that are no sealed value.
    private var headerByteCount: Int? {
        let shortest = Self.savedHeaderByteCount + Self.nonceByteCount + Self.tagByteCount
        guard bytes.first == Form.saved, bytes.count >= shortest else { return nil }
        let tokenByteCount = Int(bytes[Self.savedHeaderByteCount - 1])
        guard tokenByteCount == 0 || tokenByteCount == SealedToken.byteCount,
            bytes.count >= shortest + tokenByteCount
        else { return nil }
        return Self.savedHeaderByteCount + tokenByteCount
    }

    /// The version of the owner's key by which a saved value was sealed.
    package var keyVersion: UInt32 {
        guard headerByteCount != nil else { return 0 }
        return bytes.withUnsafeBytes {
            UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 45, as: UInt32.self))
        }
    }

    /// The rank of that version among those of the owner's key, from 0 to 4,095; 0 for each one of
    /// earlier versions of Stet.
    package var keyRank: Int { Int(keyVersion >> KeySlot.randomBitCount) }

    /// The token of a saved value; nil for one that was sealed without.
    package var token: SealedToken? {
        guard let headerByteCount, headerByteCount > Self.savedHeaderByteCount else { return nil }
        return SealedToken(bytes: Array(bytes[Self.savedHeaderByteCount..<headerByteCount]))
    }

    /// The number of the key file by which a saved value was sealed.
    var keyFileNumber: UInt64 {
        bytes.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        }
    }

    /// Creates the bytes of a plaintext that is sealed by the present key of an owner, with a token
    /// if the property is indexed.
    ///
    /// - Throws: `SealingError` when there is no key, or the key file cannot be read.
    package init(
        _ plaintext: [UInt8], at place: Place, isIndexed: Bool = false, by keys: KeyFile
    ) throws(SealingError) {
        let key = try keys.presentKey(of: place.owner)
        let token = isIndexed ? SealedToken(of: plaintext, label: place.label, key) : nil
        var buffer = ByteBuffer(capacity: Self.savedHeaderByteCount + SealedToken.byteCount)
        buffer.append(Form.saved)
        buffer.append(keys.number)
        buffer.append(place.owner)
        buffer.append(place.object)
        buffer.append(place.label)
        buffer.append(key.version)
        buffer.append(UInt8(token?.bytes.count ?? 0))
        token?.bytes.withUnsafeBytes { buffer.append($0) }
        let header = Array(buffer.bytes)
        var code = HMAC<SHA256>(key: key.nonces)
        code.update(data: header)
        code.update(data: plaintext)
        let hash = Array(code.finalize().prefix(Self.nonceByteCount))
        guard let nonce = try? AES.GCM.Nonce(data: hash) else {
            trap("a hash is shorter than the nonce that is made of it")
        }
        bytes = Self.encrypt(plaintext, header, nonce, key.values)
    }

    /// Returns the plaintext of the value.
    ///
    /// - Throws: `SealingError`.
    package func opened() throws(SealingError) -> [UInt8] {
        switch bytes.first {
        case Form.saved?:
            guard let place, let headerByteCount else { throw .damaged }
            guard let keys = KeyFile.open(numbered: keyFileNumber) else { throw .keyFileNotOpen }
            let key = try keys.key(of: place.owner, version: keyVersion)
            return try decrypted(headerByteCount, key.values)
        case Form.unsaved? where bytes.count >= Self.unsavedHeaderByteCount:
            guard keyFileNumber == Self.processNumber else { throw .neverSaved }
            return try decrypted(Self.unsavedHeaderByteCount, Self.processKey)
        case nil: throw .neverSealed
        default: throw .damaged
        }
    }

    /// Returns the plaintext of the value, or the reason why it cannot be opened.
    package func opening() -> Result<[UInt8], SealingError> {
        Result { () throws(SealingError) in try opened() }
    }

    /// Returns the bytes of a sealed plaintext, or the reason why it cannot be sealed.
    package static func sealing(
        _ plaintext: [UInt8], at place: Place, isIndexed: Bool, by keys: KeyFile
    ) -> Result<SealedBytes, SealingError> {
        Result { () throws(SealingError) in
            try SealedBytes(plaintext, at: place, isIndexed: isIndexed, by: keys)
        }
    }

    // MARK: Encryption

    private static func encrypt(
        _ plaintext: [UInt8], _ header: [UInt8], _ nonce: AES.GCM.Nonce, _ key: SymmetricKey
    ) -> [UInt8] {
        guard
            let box = try? AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: header)
        else { trap("a value is too large to be encrypted") }
        return header + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    private func decrypted(
        _ headerByteCount: Int, _ key: SymmetricKey
    ) throws(SealingError) -> [UInt8] {
        let start = headerByteCount + Self.nonceByteCount
        let end = bytes.count - Self.tagByteCount
        guard start <= end else { throw .damaged }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: bytes[headerByteCount..<start]),
                ciphertext: bytes[start..<end], tag: bytes[end...])
            return Array(
                try AES.GCM.open(box, using: key, authenticating: bytes[..<headerByteCount]))
        } catch {
            throw .damaged
        }
    }
}
