import Crypto
import FoundationEssentials
import Glibc
import StetLMDB

/// The bytes of a key file: two copies of the header, and a place of 128 bytes for each version
/// of an owner's key.
///
/// docs/FileFormat.md describes every byte. A place never crosses a sector of the disk, and is
/// written as a whole.
final class KeyFileStorage: Sendable {
    let path: String
    private let descriptor: Int32
    private let identity: FileIdentity?

    /// Opens a file; nil when there is none.
    init?(existing path: String) throws(SealingError) {
        self.path = path
        descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        let number = errno
        identity = FileIdentity(descriptor: descriptor)
        if descriptor >= 0 { return }
        if number == ENOENT { return nil }
        throw .inputOutput(path, "opened", number)
    }

    /// Opens a file that must exist.
    static func opening(_ path: String) throws(SealingError) -> KeyFileStorage {
        guard let file = try KeyFileStorage(existing: path) else {
            throw .inputOutput(path, "opened", ENOENT)
        }
        return file
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes a file with a header, unless there is one.
    static func make(at path: String, _ header: KeyFileHeader) throws(SealingError) {
        do throws(LMDBError) {
            let draft = try Draft(of: path)
            guard let file = try? KeyFileStorage(existing: draft.path) else {
                draft.remove()
                throw LMDBError(.create, code: EIO, path: path)
            }
            do throws(SealingError) {
                try file.write(header)
            } catch {
                draft.remove()
                throw LMDBError(.create, code: EIO, path: path)
            }
            do throws(LMDBError) {
                try draft.publish()
            } catch {
                draft.remove()
                if error.code != EEXIST { throw error }
            }
        } catch {
            throw .inputOutput(path, "made", error.code)
        }
    }

    func isSame(as other: KeyFileStorage) -> Bool { identity == other.identity }

    // MARK: Header

    /// - Throws: `SealingError` when neither copy is valid.
    func header() throws(SealingError) -> KeyFileHeader {
        var latest: KeyFileHeader?
        for copy in 0..<2 {
            let bytes = try read(KeyFileHeader.byteCount, at: copy * KeyFileHeader.byteCount)
            guard let header = KeyFileHeader(decoding: bytes) else { continue }
            if header.sequence > latest?.sequence ?? 0 { latest = header }
        }
        guard let latest else { throw .notAKeyFile(path, "it has no valid header") }
        return latest
    }

    /// Replaces the first copy, then the second, durably.
    func write(_ header: KeyFileHeader) throws(SealingError) {
        let bytes = header.encoded
        for copy in 0..<2 { try write(bytes, at: copy * KeyFileHeader.byteCount) }
    }

    // MARK: Places of keys

    private static let start = 2 * KeyFileHeader.byteCount

    /// The number of places that the file has room for.
    func slotCount() throws(SealingError) -> Int {
        let end = lseek(descriptor, 0, SEEK_END)
        if end < 0 { throw .inputOutput(path, "read", errno) }
        return (Int(end) - Self.start) / KeySlot.byteCount
    }

    /// Returns the bytes of one place.
    func slot(_ number: Int) throws(SealingError) -> [UInt8] {
        try read(KeySlot.byteCount, at: Self.start + number * KeySlot.byteCount)
    }

    /// Returns the bytes of the places from a number to the end of the file.
    func slots(from first: Int) throws(SealingError) -> [[UInt8]] {
        var slots: [[UInt8]] = []
        while true {
            let offset = Self.start + (first + slots.count) * KeySlot.byteCount
            let bytes = try read(KeySlot.byteCount << 10, at: offset)
            for start in stride(from: 0, to: bytes.count, by: KeySlot.byteCount)
            where start + KeySlot.byteCount <= bytes.count {
                slots.append(Array(bytes[start..<start + KeySlot.byteCount]))
            }
            if bytes.count < KeySlot.byteCount << 10 { return slots }
        }
    }

    /// Writes places that follow each other, durably.
    func write(_ slots: [KeySlot], at number: Int) throws(SealingError) {
        try write(slots.flatMap(\.encoded), at: Self.start + number * KeySlot.byteCount)
    }

    /// Cuts the file off before a place, if possible.
    func removeSlots(from number: Int) {
        _ = ftruncate(descriptor, Self.start + number * KeySlot.byteCount)
    }

    // MARK: Bytes

    /// Waits until no other process changes the file.
    func lock() throws(SealingError) {
        while flock(descriptor, LOCK_EX) != 0 {
            if errno != EINTR { throw .inputOutput(path, "locked", errno) }
        }
    }

    func unlock() { flock(descriptor, LOCK_UN) }

    /// Returns the bytes from an offset: fewer at the end of the file.
    private func read(_ byteCount: Int, at offset: Int) throws(SealingError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var done = 0
        while done < byteCount {
            let count = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + done, byteCount - done, offset + done)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw .inputOutput(path, "read", errno) }
            if count == 0 { break }
            done += count
        }
        return Array(bytes[..<done])
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(SealingError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + done, bytes.count - done, offset + done)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw .inputOutput(path, "written", errno) }
            done += count
        }
        try sync()
    }

    func sync() throws(SealingError) {
        if fdatasync(descriptor) != 0 { throw .inputOutput(path, "synced", errno) }
    }
}

/// The header of a key file: its number, and its key, encrypted by the key of a provider.
struct KeyFileHeader {
    static let byteCount = 2_048
    /// The greatest number of bytes that a provider may make of the key.
    static let wrappedByteCount = 1_024
    private static let magic = UInt64(littleEndian: 0x5359_454b_5445_5453)
    private static let format: UInt32 = 1

    let number: UInt64
    /// Which of two headers is the later one.
    let sequence: UInt64
    let wrappedKey: [UInt8]
    /// A hash by the key, which shows whether a provider has decrypted it.
    private let check: UInt64

    init(number: UInt64, sequence: UInt64, wrappedKey: [UInt8], of key: Data) {
        self.number = number
        self.sequence = sequence
        self.wrappedKey = wrappedKey
        check = Self.check(of: key, number)
    }

    /// Returns whether a key is that of the file.
    func belongs(to key: Data) -> Bool {
        key.count == KeyFile.keyByteCount && check == Self.check(of: key, number)
    }

    private static func check(of key: Data, _ number: UInt64) -> UInt64 {
        withUnsafeBytes(of: number.littleEndian) { number in
            HMAC<SHA256>.authenticationCode(for: number, using: SymmetricKey(data: key))
                .withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        }
    }

    var encoded: [UInt8] {
        var buffer = ByteBuffer(capacity: Self.byteCount)
        buffer.append(Self.magic)
        buffer.append(Self.format)
        buffer.append(number)
        buffer.append(sequence)
        buffer.append(check)
        buffer.append(UInt16(wrappedKey.count))
        wrappedKey.withUnsafeBytes { buffer.append($0) }
        buffer.appendZeros(Self.byteCount - buffer.count - 8)
        buffer.append(Checksum.hash(buffer.bytes, seed: 0))
        return Array(buffer.bytes)
    }

    /// Decodes a header; nil when it is not valid.
    init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let fields = bytes.withUnsafeBytes { bytes -> (UInt64, UInt64, UInt64, [UInt8])? in
            let end = bytes.count - 8
            let body = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            let checksum = UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
            var reader = ByteReader(body)
            guard checksum == Checksum.hash(body, seed: 0),
                (try? reader.read(UInt64.self)) == Self.magic,
                (try? reader.read(UInt32.self)) == Self.format,
                let number: UInt64 = try? reader.read(), let sequence: UInt64 = try? reader.read(),
                let check: UInt64 = try? reader.read(), let count: UInt16 = try? reader.read(),
                count <= Self.wrappedByteCount,
                let wrapped = try? reader.read(byteCount: Int(count))
            else { return nil }
            return (number, sequence, check, Array(wrapped))
        }
        guard let fields else { return nil }
        (number, sequence, check, wrappedKey) = fields
    }
}

/// A place in a key file: a version of the key of an owner, or the mark that it was destroyed.
struct KeySlot {
    static let byteCount = 128
    static let randomBitCount: UInt32 = 20
    static let highestRank = UInt32.max >> randomBitCount
    private static let wrappedByteCount = 12 + 32 + 16

    private enum State {
        static let present: UInt8 = 1
        static let destroyed: UInt8 = 2
    }

    let owner: ObjectID
    /// The version of the key; see `KeyPlaces.nextVersion(of:)`.
    let version: UInt32
    /// The encrypted key; nil once it was destroyed.
    let wrappedKey: [UInt8]?

    init(owner: ObjectID, version: UInt32, wrappedKey: [UInt8]?) {
        self.owner = owner
        self.version = version
        self.wrappedKey = wrappedKey
    }

    var encoded: [UInt8] {
        var buffer = ByteBuffer(capacity: Self.byteCount)
        buffer.append(wrappedKey == nil ? State.destroyed : State.present)
        buffer.append(owner)
        buffer.append(version)
        if let wrappedKey { wrappedKey.withUnsafeBytes { buffer.append($0) } }
        buffer.appendZeros(Self.byteCount - buffer.count - 8)
        buffer.append(Checksum.hash(buffer.bytes, seed: 0))
        return Array(buffer.bytes)
    }

    /// Decodes a place; nil when it is damaged.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let fields = bytes.withUnsafeBytes { bytes -> (ObjectID, UInt32, [UInt8]?)? in
            let end = bytes.count - 8
            let body = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            let checksum = UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
            var reader = ByteReader(body)
            guard checksum == Checksum.hash(body, seed: 0), let state: UInt8 = try? reader.read(),
                let owner = try? reader.readObjectID(), let version: UInt32 = try? reader.read(),
                let wrapped = try? reader.read(byteCount: Self.wrappedByteCount)
            else { return nil }
            switch state {
            case State.present: return (owner, version, Array(wrapped))
            case State.destroyed: return (owner, version, nil)
            default: return nil
            }
        }
        guard let fields else { return nil }
        (owner, version, wrappedKey) = fields
    }
}
