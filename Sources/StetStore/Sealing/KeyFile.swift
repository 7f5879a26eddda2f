import Crypto
import FoundationEssentials
import Glibc
import StetLMDB

/// The keys of the owners of sealed values, in a file of its own beside the store.
///
/// ```swift
/// let keys = try await KeyFile.open(at: "clinic.keys", provider: .environment("CLINIC_KEY"))
/// var configuration = Store.Configuration()
/// configuration.keys = keys
/// let store = try Store.open(at: path, for: Patient.self, configuration: configuration)
/// // …
/// try keys.destroyKey(of: patient.id)      // erases every value sealed by it, in backups too
/// ```
///
/// Each object by which values are sealed has a key, made when the first of them is saved. They are
/// encrypted by a key of the file, and that by the key of a ``KeyProvider``.
///
/// Copies of the store do not contain the file: copy it separately, to places where a destroyed key
/// can be destroyed, too. Several processes may have it open, and see at once what another has made
/// or destroyed. A child that was forked from a process that has it open must open it itself.
///
/// State: `contents`, guarded by its monitor; the file, guarded by a lock that all processes take.
public final class KeyFile: Sendable {
    static let keyByteCount = 32

    /// The path of the file.
    public let path: String
    /// The number that sealed values have of it.
    let number: UInt64
    private let file: KeyFileStorage
    /// The key by which the keys of owners are encrypted.
    private let wrappingKey: SymmetricKey
    private let contents: Monitor<Contents>

    /// The part of the file that this process has read.
    private struct Contents {
        /// The place of the key of each owner.
        var slots: [ObjectID: Int] = [:]
        /// The number of places that were read.
        var count = 0
        /// The keys that were used.
        var keys: [ObjectID: SealingKey] = [:]
    }

    // MARK: Opening

    /// Opens a key file, or makes one where there is none.
    ///
    /// The keys stay usable for all stores of the process as long as the object exists.
    ///
    /// - Throws: `SealingError`, among them `.wrongKey`, `.providerFailed` and `.notAKeyFile`.
    /// - Complexity: O(keys).
    public static func open(
        at path: String, provider: some KeyProvider
    ) async throws -> KeyFile {
        let file = try await opened(path, provider)
        let header = try file.header()
        let key: Data
        do {
            key = try await provider.unwrap(Data(header.wrappedKey))
        } catch let error as SealingError {
            throw error
        } catch is CryptoKitError {
            throw SealingError.wrongKey(path)
        } catch {
            throw SealingError.providerFailed(error)
        }
        guard header.belongs(to: key) else { throw SealingError.wrongKey(path) }
        let keys = KeyFile(file, header.number, SymmetricKey(data: key))
        try keys.contents.withLock { contents throws(SealingError) in
            try keys.change(&contents) { _ in }
        }
        return registry.withLock { $0.add(keys) }
    }

    private static func opened(
        _ path: String, _ provider: some KeyProvider
    ) async throws -> KeyFileStorage {
        if let file = try KeyFileStorage(existing: path) { return file }
        let key = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        let header = KeyFileHeader(
            number: .random(in: .min ... .max), sequence: 1,
            wrappedKey: try await wrap(key, provider), of: key)
        try KeyFileStorage.make(at: path, header)
        guard let file = try KeyFileStorage(existing: path) else {
            throw SealingError.inputOutput(path, "opened", ENOENT)
        }
        return file
    }

    private static func wrap(
        _ key: Data, _ provider: some KeyProvider
    ) async throws(SealingError) -> [UInt8] {
        do {
            let wrapped = Array(try await provider.wrap(key))
            guard wrapped.count <= KeyFileHeader.wrappedByteCount else {
                throw SealingError(
                    .providerFailed, message: "The provider made \(wrapped.count) bytes of a key.",
                    advice: "At most \(KeyFileHeader.wrappedByteCount) are possible.")
            }
            return wrapped
        } catch let error as SealingError {
            throw error
        } catch {
            throw SealingError.providerFailed(error)
        }
    }

    private init(_ file: KeyFileStorage, _ number: UInt64, _ wrappingKey: SymmetricKey) {
        path = file.path
        self.file = file
        self.number = number
        self.wrappingKey = wrappingKey
        contents = Monitor(Contents())
    }

    /// Opens the file of an open one once more, as another process does.
    static func unregistered(like keys: KeyFile) throws -> KeyFile {
        guard let file = try KeyFileStorage(existing: keys.path) else {
            throw SealingError.inputOutput(keys.path, "opened", ENOENT)
        }
        return KeyFile(file, keys.number, keys.wrappingKey)
    }

    // MARK: Files that are open

    /// The files that this process has open, by their numbers.
    private struct Registry {
        private struct Entry {
            weak var keys: KeyFile?
        }
        private var entries: [UInt64: Entry] = [:]

        /// Adds a file unless it is open already; returns the one that is.
        mutating func add(_ keys: KeyFile) -> KeyFile {
            if let present = entries[keys.number]?.keys, present.file.isSame(as: keys.file) {
                return present
            }
            entries[keys.number] = Entry(keys: keys)
            return keys
        }

        func file(_ number: UInt64) -> KeyFile? { entries[number]?.keys }
    }
    // Nothing of a key file that ends takes this lock.
    private static let registry = Monitor(Registry())

    /// Returns the open file with a number.
    static func open(numbered number: UInt64) -> KeyFile? {
        registry.withLock { $0.file(number) }
    }

    // MARK: Keys

    /// Returns the key of an owner.
    ///
    /// - Throws: `SealingError`: `.erased`, `.keyMissing`, `.damaged`, `.inputOutput`.
    func key(of owner: ObjectID) throws(SealingError) -> SealingKey {
        try contents.withLock { contents throws(SealingError) in
            if contents.slots[owner] == nil { try change(&contents) { _ in } }
            guard let slot = contents.slots[owner] else { throw .keyMissing(owner) }
            guard let place = try place(slot, &contents), place.owner == owner else {
                throw .notAKeyFile(path, "the key of object \(owner) is damaged")
            }
            guard let wrapped = place.wrappedKey else {
                contents.keys[owner] = nil
                throw .erased(owner)
            }
            if let key = contents.keys[owner] { return key }
            guard let key = try? unwrap(wrapped, owner) else {
                throw .notAKeyFile(path, "the key of object \(owner) is damaged")
            }
            contents.keys[owner] = key
            return key
        }
    }

    /// Reads a place, each time, because another process may have destroyed the key; nil when it is
    /// damaged.
    private func place(
        _ slot: Int, _ contents: inout Contents
    ) throws(SealingError) -> KeySlot? {
        if let place = KeySlot(try file.slot(slot)) { return place }
        // Another process may be writing it at this moment.
        var place: KeySlot?
        try change(&contents) { _ throws(SealingError) in place = KeySlot(try file.slot(slot)) }
        return place
    }

    /// Makes keys for the owners that have none, durably.
    ///
    /// - Throws: `SealingError` (`.inputOutput`).
    package func makeKeys(for owners: some Sequence<ObjectID>) throws(SealingError) {
        try contents.withLock { contents throws(SealingError) in
            let missing = Set(owners).filter { contents.slots[$0] == nil }
            if missing.isEmpty { return }
            try change(&contents) { contents throws(SealingError) in
                let missing = missing.filter { contents.slots[$0] == nil }.sorted()
                let slots = missing.map { KeySlot(owner: $0, wrappedKey: wrap(.make(), $0)) }
                try append(slots, &contents)
            }
        }
    }

    /// Destroys the key of an object: no value sealed by it can be read any more, in the store, its
    /// history, its backups and its exports.
    ///
    /// The object gets no other key: a save that would seal a value by it is refused. The place of
    /// the key in the file is overwritten; copies of the key file, and file systems and disks that
    /// keep overwritten blocks, may still contain it, encrypted by the key of the provider. Does
    /// nothing when the key was destroyed before.
    ///
    /// - Throws: `SealingError` (`.inputOutput`).
    /// - Complexity: O(1), and a sync of the file.
    public func destroyKey(of owner: ObjectID) throws {
        try contents.withLock { contents throws(SealingError) in
            try change(&contents) { contents throws(SealingError) in
                let destroyed = KeySlot(owner: owner, wrappedKey: nil)
                contents.keys[owner] = nil
                guard let slot = contents.slots[owner] else {
                    return try append([destroyed], &contents)
                }
                try file.write([destroyed], at: slot)
            }
        }
    }

    /// Encrypts the file by the key of another provider, or by the present key of the same one.
    ///
    /// Sealed values stay as they are. What the earlier key of the provider opens is overwritten,
    /// but in copies of the file.
    ///
    /// - Throws: `SealingError`: `.providerFailed`, `.inputOutput`.
    public func move(to provider: some KeyProvider) async throws {
        let key = wrappingKey.withUnsafeBytes { Data($0) }
        let wrapped = try await Self.wrap(key, provider)
        try contents.withLock { contents throws(SealingError) in
            try change(&contents) { _ throws(SealingError) in
                let next = try file.header().sequence + 1
                try file.write(
                    KeyFileHeader(number: number, sequence: next, wrappedKey: wrapped, of: key))
            }
        }
    }

    // MARK: The file

    /// Runs `body` while no other process changes the file, after reading what others have added.
    private func change(
        _ contents: inout Contents,
        _ body: (inout Contents) throws(SealingError) -> Void
    ) throws(SealingError) {
        try file.lock()
        defer { file.unlock() }
        try follow(&contents)
        try body(&contents)
    }

    /// Reads the places that others have added, and makes them durable: a process that was killed
    /// may have written keys without a sync, and what they seal must not outlive them.
    private func follow(_ contents: inout Contents) throws(SealingError) {
        let added = try file.slots(from: contents.count)
        if !added.isEmpty { try file.sync() }
        for bytes in added {
            if let slot = KeySlot(bytes) { contents.slots[slot.owner] = contents.count }
            contents.count += 1
        }
    }

    private func append(
        _ slots: [KeySlot], _ contents: inout Contents
    ) throws(SealingError) {
        if slots.isEmpty { return }
        do throws(SealingError) {
            try file.write(slots, at: contents.count)
        } catch {
            // Nobody may use keys that are perhaps not on the disk.
            file.removeSlots(from: contents.count)
            throw error
        }
        for slot in slots {
            contents.slots[slot.owner] = contents.count
            contents.count += 1
        }
    }

    private func wrap(_ key: SymmetricKey, _ owner: ObjectID) -> [UInt8] {
        let key = key.withUnsafeBytes { Data($0) }
        guard
            let box = try? AES.GCM.seal(
                key, using: wrappingKey, authenticating: context(of: owner)),
            let combined = box.combined
        else { trap("a key of 32 bytes cannot be encrypted") }
        return Array(combined)
    }

    private func unwrap(_ wrapped: [UInt8], _ owner: ObjectID) throws -> SealingKey {
        SealingKey(
            SymmetricKey(
                data: try AES.GCM.open(
                    try AES.GCM.SealedBox(combined: wrapped), using: wrappingKey,
                    authenticating: context(of: owner))))
    }

    /// The bytes to which a key is bound: the number of the file, and its owner.
    private func context(of owner: ObjectID) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 24)
        buffer.append(number)
        buffer.append(owner)
        return Array(buffer.bytes)
    }
}

extension SymmetricKey {
    fileprivate static func make() -> SymmetricKey { SymmetricKey(size: .bits256) }
}
