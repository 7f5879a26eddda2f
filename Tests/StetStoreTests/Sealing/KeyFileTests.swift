import Crypto
import Foundation
import Glibc
import StetTestSupport
import Testing

@testable import StetStore

/// A key provider whose key is a byte in memory.
private struct PadProvider: KeyProvider {
    struct Unreachable: Error {}

    var pad: UInt8
    var fails = false
    var byteCount = 32

    func wrap(_ key: Data) async throws -> Data {
        if fails { throw Unreachable() }
        return Data(key.map { $0 ^ pad }) + Data(count: byteCount - 32)
    }

    func unwrap(_ wrapped: Data) async throws -> Data {
        if fails { throw Unreachable() }
        return Data(wrapped.prefix(32).map { $0 ^ pad })
    }
}

/// The file with the keys of sealed values, and the bytes of these.
@Suite struct KeyFileTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("keys") }

    private func open(_ pad: UInt8 = 1) async throws -> KeyFile {
        try await KeyFile.open(at: path, provider: PadProvider(pad: pad))
    }

    private func code(_ body: () async throws -> Void) async -> SealingError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? SealingError)?.code
        }
    }

    private func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }
    private func write(_ bytes: Data) throws { try bytes.write(to: URL(filePath: path)) }

    // MARK: Keys

    @Test func keysAreTheSameAfterTheFileIsOpenedAgain() async throws {
        let owners = (0..<2_500).map { _ in ObjectID() }
        var sealed: [SealedBytes] = []
        do {
            let keys = try await open()
            try keys.makeKeys(for: owners)
            try keys.makeKeys(for: owners)
            for owner in owners {
                sealed.append(
                    try SealedBytes(
                        [1, 2, 3], at: .init(owner: owner, object: ObjectID(), label: 5), by: keys))
            }
            #expect(try sealed.allSatisfy { try $0.opened() == [1, 2, 3] })
        }
        #expect(sealed[0].opening() == .failure(.keyFileNotOpen))
        let again = try await open()
        #expect(try sealed.allSatisfy { try $0.opened() == [1, 2, 3] })
        #expect(try bytes().count == 4_096 + 128 * owners.count)
        try withExtendedLifetime(again) { try again.destroyKey(of: owners[7]) }
        #expect(sealed[7].opening() == .failure(.erased(owners[7])))
        #expect(try sealed[8].opened() == [1, 2, 3])
    }

    @Test func theFileIsOnlyForItsOwner() async throws {
        let keys = try await open()
        let rights = try FileManager.default.attributesOfItem(atPath: keys.path)[.posixPermissions]
        #expect(rights as? Int == 0o600)
    }

    @Test func aDestroyedKeyIsNoLongerInTheFile() async throws {
        let keys = try await open()
        let owner = ObjectID()
        try keys.makeKeys(for: [owner])
        let before = try bytes().suffix(128)
        let key = before.dropFirst(21).prefix(60)
        #expect(try bytes().range(of: key) != nil)
        try keys.destroyKey(of: owner)
        #expect(try bytes().range(of: key) == nil)
        #expect(try bytes().count == 4_096 + 128)
        try keys.makeKeys(for: [owner])
        #expect(await code { _ = try keys.presentKey(of: owner) } == .erased)
    }

    @Test func severalOpenFilesSeeEachOthersChanges() async throws {
        let keys = try await open()
        let same = try await open()
        #expect(keys === same)
        // A hard link would be the same file: a copy of the object as another process has it.
        let other = try KeyFile.unregistered(like: keys)
        let (one, two) = (ObjectID(), ObjectID())
        try keys.makeKeys(for: [one])
        try other.makeKeys(for: [two, one])
        #expect(try bytes().count == 4_096 + 2 * 128)
        let sealed = try SealedBytes(
            [9], at: .init(owner: two, object: two, label: 1), by: keys)
        #expect(try sealed.opened() == [9])
        try other.destroyKey(of: two)
        #expect(sealed.opening() == .failure(.erased(two)))
    }

    @Test func aPlaceThatAnotherProcessIsWritingIsReadWhenItIsComplete() async throws {
        let keys = try await open()
        let owner = ObjectID()
        try keys.makeKeys(for: [owner])
        let whole = try bytes()
        let reader = try KeyFile.unregistered(like: keys)
        // The other process has the lock, and has written half of the place.
        let descriptor = Glibc.open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        let half = [UInt8](repeating: 0, count: 64)
        #expect(pwrite(descriptor, half, 64, whole.count - 64) == 64)
        let (began, continuation) = AsyncStream<Void>.makeStream()
        let reading = blocking {
            continuation.finish()
            return try reader.presentKey(of: owner).values
                == (try keys.presentKey(of: owner).values)
        }
        for await _ in began {}
        let rest = Array(whole.suffix(64))
        #expect(pwrite(descriptor, rest, 64, whole.count - 64) == 64)
        #expect(flock(descriptor, LOCK_UN) == 0)
        #expect(try await reading.value)
    }

    // MARK: Providers

    @Test func anotherKeyOfTheProviderIsRefused() async throws {
        _ = try await open()
        #expect(await code { _ = try await open(2) } == .wrongKey)
        let before = try bytes()
        var failing = PadProvider(pad: 1)
        failing.fails = true
        #expect(
            await code { _ = try await KeyFile.open(at: path, provider: failing) }
                == .providerFailed)
        #expect(try bytes() == before)
        #expect(
            await code {
                _ = try await KeyFile.open(at: directory.file("none"), provider: failing)
            } == .providerFailed)
        #expect(!FileManager.default.fileExists(atPath: directory.file("none")))
        var wide = PadProvider(pad: 1)
        wide.byteCount = 1_025
        #expect(
            await code { _ = try await KeyFile.open(at: directory.file("wide"), provider: wide) }
                == .providerFailed)
    }

    @Test func theFileMovesToAnotherProvider() async throws {
        let owner = ObjectID()
        do {
            let keys = try await open(1)
            try keys.makeKeys(for: [owner])
            try await keys.move(to: PadProvider(pad: 2))
            try await keys.move(to: PadProvider(pad: 3))
            #expect(await code { _ = try keys.presentKey(of: owner) } == nil)
        }
        #expect(await code { _ = try await open(1) } == .wrongKey)
        #expect(await code { _ = try await open(2) } == .wrongKey)
        let keys = try await open(3)
        #expect(await code { _ = try keys.presentKey(of: owner) } == nil)
    }

    @Test func aLocalKeyIsReadInThreeForms() async throws {
        let raw = Data((0..<32).map { UInt8($0) })
        let hexadecimal = raw.map { String(format: "%02X", $0) }.joined() + "\n"
        let file = directory.file("key")
        try raw.write(to: URL(filePath: file))
        do { _ = try await KeyFile.open(at: path, provider: .file(file)) }
        for text in [hexadecimal, raw.base64EncodedString(), hexadecimal.lowercased()] {
            try Data(text.utf8).write(to: URL(filePath: file))
            let keys = try await KeyFile.open(at: path, provider: .file(file))
            #expect(keys.path == path)
        }
        for text in ["", "00", String(repeating: "zz", count: 32)] {
            try Data(text.utf8).write(to: URL(filePath: file))
            #expect(
                await code { _ = try await KeyFile.open(at: path, provider: .file(file)) }
                    == .providerFailed)
        }
        try Data(repeating: 7, count: 32).write(to: URL(filePath: file))
        #expect(
            await code { _ = try await KeyFile.open(at: path, provider: .file(file)) } == .wrongKey)
        #expect(
            await code {
                _ = try await KeyFile.open(at: path, provider: .environment("STET_NO_SUCH_KEY"))
            } == .providerFailed)
    }

    // MARK: Damage

    @Test func aFileThatEndsInTheMiddleOfAKeyGoesOn() async throws {
        let owners = (0..<3).map { _ in ObjectID() }
        do { try await open().makeKeys(for: owners) }
        let whole = try bytes()
        for cut in [1, 64, 127] {
            try write(whole.dropLast(cut))
            let keys = try await open()
            #expect(await code { _ = try keys.presentKey(of: owners[1]) } == nil)
            #expect(await code { _ = try keys.presentKey(of: owners[2]) } == .keyMissing)
            let next = ObjectID()
            try keys.makeKeys(for: [next])
            #expect(await code { _ = try keys.presentKey(of: next) } == nil)
            #expect(try bytes().count == whole.count)
        }
    }

    @Test func damageIsAnErrorAndNeverATrap() async throws {
        let owner = ObjectID()
        do { try await open().makeKeys(for: [owner]) }
        let whole = try bytes()
        // One copy of the header is enough.
        for copy in 0..<2 {
            var damaged = whole
            damaged[copy * 2_048 + 40] ^= 1
            try write(damaged)
            #expect(await code { _ = try await open() } == nil)
        }
        var random = SeededGenerator(seed: 5)
        for _ in 0..<300 {
            var damaged = whole
            for copy in 0..<2 {
                damaged[copy * 2_048 + Int.random(in: 0..<2_048, using: &random)] ^= 1
            }
            try write(damaged)
            #expect(await code { _ = try await open() } == .notAKeyFile)
        }
        for index in stride(from: 4_096, to: whole.count, by: 3) {
            var damaged = whole
            damaged[index] ^= 0x10
            try write(damaged)
            let keys = try await open()
            #expect(await code { _ = try keys.presentKey(of: owner) } == .keyMissing)
        }
        for count in [0, 1, 100, 2_048, 4_095] {
            try write(whole.prefix(count))
            let expected: SealingError.Code? = count < 2_048 ? .notAKeyFile : nil
            #expect(await code { _ = try await open() } == expected)
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(await code { _ = try await open() } == .inputOutput)
    }

    // MARK: Sealed bytes

    @Test func bytesThatWereChangedOrCutOffDoNotOpen() async throws {
        let keys = try await open()
        let owner = ObjectID()
        try keys.makeKeys(for: [owner])
        let place = SealedBytes.Place(owner: owner, object: ObjectID(), label: 3)
        let sealed = try SealedBytes(Array("diagnosis".utf8), at: place, by: keys)
        #expect(sealed.place == place)
        #expect(try SealedBytes(Array("diagnosis".utf8), at: place, by: keys) == sealed)
        let unsaved = SealedBytes(unsaved: [1])
        #expect(try unsaved.opened() == [1])
        #expect(unsaved != SealedBytes(unsaved: [1]))
        for value in [sealed, unsaved] {
            for index in value.bytes.indices {
                var bytes = value.bytes
                bytes[index] ^= 0x40
                let result = SealedBytes(bytes: bytes).opening()
                guard case .failure(let error) = result else {
                    Issue.record("byte \(index) is not authenticated")
                    continue
                }
                let expected: Set<SealingError.Code> = [
                    .damaged, .keyFileNotOpen, .keyMissing, .neverSaved,
                ]
                #expect(expected.contains(error.code))
            }
            for count in value.bytes.indices {
                let cut = SealedBytes(bytes: Array(value.bytes[..<count]))
                #expect(throws: SealingError.self) { try cut.opened() }
            }
        }
    }

    @Test func valuesOfAnotherPlaceHaveOtherBytes() async throws {
        let keys = try await open()
        let owner = ObjectID()
        try keys.makeKeys(for: [owner])
        let object = ObjectID()
        let places = [
            SealedBytes.Place(owner: owner, object: object, label: 1),
            SealedBytes.Place(owner: owner, object: object, label: 2),
            SealedBytes.Place(owner: owner, object: ObjectID(), label: 1),
        ]
        let sealed = try places.map { try SealedBytes([5, 5, 5], at: $0, by: keys) }
        // What follows the header has nothing in common, so that equal values are not seen.
        let bodies = sealed.map { Array($0.bytes.dropFirst(50)) }
        #expect(Set(bodies).count == 3)
        // The body of one place under the header of another does not open.
        let swapped = SealedBytes(bytes: Array(sealed[1].bytes.prefix(50)) + bodies[0])
        #expect(swapped.opening() == .failure(.damaged))
    }
}
