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
/// Each object by which values are sealed has a key, made when the first of them is saved, and a
/// further one after each rotation. They are encrypted by a key of the file, and that by the key of
/// a ``KeyProvider``.
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
        var places: KeyPlaces
        /// The keys that were used, by version.
        var keys: [ObjectID: [UInt32: SealingKey]] = [:]
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
        } catch {
            throw failure(error, path)
        }
        return try opened(file, header, key)
    }

    /// Opens a key file that exists, without a task, by a key that this process reads.
    ///
    /// - Throws: as the asynchronous form; `.inputOutput` when there is no file.
    package static func open(
        existing path: String, _ provider: LocalKeyProvider
    ) throws(SealingError) -> KeyFile {
        let file = try KeyFileStorage.opening(path)
        let header = try file.header()
        let key: Data
        do {
            key = try provider.unwrap(Data(header.wrappedKey))
        } catch {
            throw failure(error, path)
        }
        return try opened(file, header, key)
    }

    /// Returns the error for one of a provider that has not decrypted a key.
    private static func failure(_ error: any Error, _ path: String) -> SealingError {
        if error is CryptoKitError { return .wrongKey(path) }
        return error as? SealingError ?? .providerFailed(error)
    }

    private static func opened(
        _ file: KeyFileStorage, _ header: KeyFileHeader, _ key: Data
    ) throws(SealingError) -> KeyFile {
        guard header.belongs(to: key) else { throw .wrongKey(file.path) }
        let keys = KeyFile(file, header.number, SymmetricKey(data: key))
        try keys.contents.withLock { contents throws(SealingError) in
            try contents.places.completeDestructions()
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
        return try KeyFileStorage.opening(path)
    }

    private static func wrap(
        _ key: Data, _ provider: some KeyProvider
    ) async throws(SealingError) -> [UInt8] {
        do {
            return try checked(try await provider.wrap(key))
        } catch {
            throw error as? SealingError ?? .providerFailed(error)
        }
    }

    private static func checked(_ wrapped: Data) throws(SealingError) -> [UInt8] {
        guard wrapped.count <= KeyFileHeader.wrappedByteCount else {
            throw SealingError(
                .providerFailed, message: "The provider made \(wrapped.count) bytes of a key.",
                advice: "At most \(KeyFileHeader.wrappedByteCount) are possible.")
        }
        return Array(wrapped)
    }

    private init(_ file: KeyFileStorage, _ number: UInt64, _ wrappingKey: SymmetricKey) {
        path = file.path
        self.file = file
        self.number = number
        self.wrappingKey = wrappingKey
        contents = Monitor(Contents(places: KeyPlaces(of: file)))
    }

    /// Opens the file of an open one once more, as another process does.
    static func unregistered(like keys: KeyFile) throws -> KeyFile {
        KeyFile(try KeyFileStorage.opening(keys.path), keys.number, keys.wrappingKey)
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
        var files: [KeyFile] { entries.values.compactMap(\.keys) }
    }
    // Nothing of a key file that ends takes this lock.
    private static let registry = Monitor(Registry())

    /// Returns the open file with a number.
    static func open(numbered number: UInt64) -> KeyFile? {
        registry.withLock { $0.file(number) }
    }

    /// Returns all keys of an owner in the files that are open, in no particular order.
    ///
    /// - Throws: `SealingError`: `.keyFileNotOpen`, `.erased`, `.notAKeyFile`, `.inputOutput`.
    static func keysOfOpenFiles(of owner: ObjectID) throws(SealingError) -> [SealingKey] {
        let files = registry.withLock { $0.files }
        if files.isEmpty { throw .keyFileNotOpen }
        var keys: [SealingKey] = []
        for file in files { keys += try file.keys(of: owner) }
        return keys
    }

    // MARK: Keys

    /// Returns a version of the key of an owner.
    ///
    /// - Throws: `SealingError`: `.erased`, `.keyMissing`, `.notAKeyFile`, `.inputOutput`.
    func key(of owner: ObjectID, version: UInt32) throws(SealingError) -> SealingKey {
        try contents.withLock { contents throws(SealingError) in
            if !contents.places.versions(of: owner).contains(where: { $0.number == version }) {
                try contents.places.followIfLonger()
            }
            return try key(of: owner, version, &contents)
        }
    }

    /// Returns the key by which the values of an owner are sealed now.
    ///
    /// - Throws: as `key(of:version:)`.
    func presentKey(of owner: ObjectID) throws(SealingError) -> SealingKey {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.followIfLonger()
            guard let present = contents.places.versions(of: owner).last else {
                throw .keyMissing(owner)
            }
            return try key(of: owner, present.number, &contents)
        }
    }

    /// Returns the version of the key by which the values of an owner are sealed now; nil when it
    /// has never had a key.
    ///
    /// - Throws: `SealingError`: `.erased`, `.notAKeyFile`, `.inputOutput`.
    package func presentVersion(of owner: ObjectID) throws(SealingError) -> UInt32? {
        try keys(of: owner).last?.version
    }

    /// Returns all versions of the key of an owner, the present one last; none when it has never
    /// had a key.
    ///
    /// - Throws: `SealingError`: `.erased`, `.notAKeyFile`, `.inputOutput`.
    private func keys(of owner: ObjectID) throws(SealingError) -> [SealingKey] {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.followIfLonger()
            var keys: [SealingKey] = []
            for version in contents.places.versions(of: owner) {
                keys.append(try key(of: owner, version.number, &contents))
            }
            return keys
        }
    }

    private func key(
        of owner: ObjectID, _ version: UInt32, _ contents: inout Contents
    ) throws(SealingError) -> SealingKey {
        let versions = contents.places.versions(of: owner)
        guard let first = versions.first else { throw .keyMissing(owner) }
        var slot = try contents.places.slot(first.place, of: owner)
        if slot.wrappedKey == nil {
            contents.keys[owner] = nil
            throw .erased(owner)
        }
        if let key = contents.keys[owner]?[version] { return key }
        guard let place = versions.first(where: { $0.number == version })?.place else {
            throw .versionMissing(owner)
        }
        if place != first.place { slot = try contents.places.slot(place, of: owner) }
        guard let wrapped = slot.wrappedKey else { throw .erased(owner) }
        guard slot.version == version, let key = try? unwrap(wrapped, owner, version) else {
            throw contents.places.damaged(owner)
        }
        contents.keys[owner, default: [:]][version] = key
        return key
    }

    /// Returns those of some owners that have never had a key in this file.
    ///
    /// - Throws: `SealingError` (`.notAKeyFile`, `.inputOutput`).
    func ownersWithoutKey(
        among owners: some Sequence<ObjectID>
    ) throws(SealingError) -> Set<ObjectID> {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.followIfLonger()
            return Set(owners).filter { !contents.places.contains($0) }
        }
    }

    /// Makes keys for the owners that have none, durably.
    ///
    /// - Throws: `SealingError` (`.inputOutput`).
    package func makeKeys(for owners: some Sequence<ObjectID>) throws(SealingError) {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.followIfLonger()
            let missing = Set(owners).filter { !contents.places.contains($0) }
            if missing.isEmpty { return }
            try contents.places.change { places throws(SealingError) in
                let missing = missing.filter { !places.contains($0) }.sorted()
                try places.append(missing.map { newKey(of: $0, places) })
            }
        }
    }

    /// Gives an object a new key, by which its values are sealed from now on.
    ///
    /// Values that were sealed by an earlier key stay readable; `Store.sealAnew(by:)` seals the
    /// present ones by the new key. The earlier keys stay in the file until `destroyKey(of:)`
    /// destroys all keys of the object, because the history has values that they open. Does nothing
    /// when the object has no key: its first value makes one.
    ///
    /// - Throws: `SealingError`: `.erased` when the key was destroyed, `.notAKeyFile`,
    ///   `.inputOutput`. The object then keeps the key that it has.
    /// - Complexity: O(1), and a sync of the file.
    public func rotateKey(of owner: ObjectID) throws {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.change { places throws(SealingError) in
                guard let first = places.versions(of: owner).first else { return }
                if try places.settledSlot(first.place, of: owner).wrappedKey == nil {
                    throw .erased(owner)
                }
                try places.append([newKey(of: owner, places)])
            }
        }
    }

    /// Destroys the keys of an object: no value sealed by them can be read any more, in the store,
    /// its history, its backups and its exports.
    ///
    /// The object gets no other key: a save that would seal a value by it is refused. The places of
    /// the keys in the file are overwritten; copies of the key file, and file systems and disks
    /// that keep overwritten blocks, may still contain them, encrypted by the key of the provider.
    /// Does nothing when the keys were destroyed before.
    ///
    /// - Throws: `SealingError` (`.inputOutput`): call it again, it completes what it has begun.
    /// - Complexity: O(keys of the object), and a sync of the file for each.
    public func destroyKey(of owner: ObjectID) throws {
        try contents.withLock { contents throws(SealingError) in
            contents.keys[owner] = nil
            try contents.places.destroyKeys(of: owner)
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
        try replaceHeader(wrapping: key, as: try await Self.wrap(key, provider))
    }

    /// Encrypts the file by another key that this process reads, without a task.
    ///
    /// - Throws: as the asynchronous form.
    package func move(toLocal provider: LocalKeyProvider) throws(SealingError) {
        let key = wrappingKey.withUnsafeBytes { Data($0) }
        let wrapped: Data
        do {
            wrapped = try provider.wrap(key)
        } catch {
            throw error as? SealingError ?? .providerFailed(error)
        }
        try replaceHeader(wrapping: key, as: try Self.checked(wrapped))
    }

    private func replaceHeader(
        wrapping key: Data, as wrapped: [UInt8]
    ) throws(SealingError) {
        try contents.withLock { contents throws(SealingError) in
            try contents.places.change { _ throws(SealingError) in
                let next = try file.header().sequence + 1
                try file.write(
                    KeyFileHeader(number: number, sequence: next, wrappedKey: wrapped, of: key))
            }
        }
    }

    // MARK: Encryption of keys

    /// Makes a random key of an owner, and encrypts it.
    private func newKey(of owner: ObjectID, _ places: KeyPlaces) -> KeySlot {
        let version = places.nextVersion(of: owner)
        let key = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        guard
            let box = try? AES.GCM.seal(
                key, using: wrappingKey, authenticating: context(of: owner, version)),
            let combined = box.combined
        else { trap("a key of 32 bytes cannot be encrypted") }
        return KeySlot(owner: owner, version: version, wrappedKey: Array(combined))
    }

    private func unwrap(
        _ wrapped: [UInt8], _ owner: ObjectID, _ version: UInt32
    ) throws -> SealingKey {
        let key = SymmetricKey(
            data: try AES.GCM.open(
                try AES.GCM.SealedBox(combined: wrapped), using: wrappingKey,
                authenticating: context(of: owner, version)))
        return SealingKey(key, version: version)
    }

    /// The bytes to which a key is bound: the number of the file, its owner and its version.
    private func context(of owner: ObjectID, _ version: UInt32) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 28)
        buffer.append(number)
        buffer.append(owner)
        buffer.append(version)
        return Array(buffer.bytes)
    }
}
