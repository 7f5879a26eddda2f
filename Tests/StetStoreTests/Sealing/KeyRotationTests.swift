import Foundation
import StetTestSupport
import Testing

@testable import StetStore

/// Later versions of the keys of owners in a key file, and the tokens of sealed values.
@Suite struct KeyRotationTests {
    private let directory = TemporaryDirectory()
    private let owner = ObjectID()
    private var path: String { directory.file("keys") }

    private func open() async throws -> KeyFile {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        return try await KeyFile.open(at: path, provider: .file(key))
    }

    private func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    private func seal(
        _ plaintext: [UInt8] = [1, 2, 3], of owner: ObjectID? = nil, label: UInt32 = 1,
        isIndexed: Bool = false, by keys: KeyFile
    ) throws -> SealedBytes {
        let owner = owner ?? self.owner
        try keys.makeKeys(for: [owner])
        return try SealedBytes(
            plaintext, at: .init(owner: owner, object: ObjectID(), label: label),
            isIndexed: isIndexed, by: keys)
    }

    private func code(_ body: () throws -> Void) -> SealingError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SealingError)?.code
        }
    }

    /// The encrypted keys in the places of the file.
    private func wrappedKeys() throws -> [Data] {
        let places = try bytes().dropFirst(4_096)
        return stride(from: places.startIndex, to: places.endIndex, by: 128).map {
            places[$0 + 21..<$0 + 81]
        }
    }

    // MARK: Rotation

    @Test func newValuesHaveTheNewKeyAndOldOnesTheirs() async throws {
        var values: [SealedBytes] = []
        do {
            let keys = try await open()
            for _ in 0..<3 {
                values.append(try seal(by: keys))
                try keys.rotateKey(of: owner)
            }
        }
        let keys = try await open()
        values.append(try seal(by: keys))
        #expect(values.map(\.keyRank) == [0, 1, 2, 3])
        #expect(try values.map { try $0.opened() } == Array(repeating: [1, 2, 3], count: 4))
        #expect(try Set(wrappedKeys()).count == 4)
        // The version is authenticated: another key does not open a value.
        var bytes = values[0].bytes
        bytes.replaceSubrange(45..<49, with: values[1].bytes[45..<49])
        #expect(code { _ = try SealedBytes(bytes: bytes).opened() } == .damaged)
        bytes[48] ^= 0x80
        #expect(code { _ = try SealedBytes(bytes: bytes).opened() } == .keyMissing)
    }

    @Test func anOwnerWithoutAKeyHasNothingToRotate() async throws {
        let keys = try await open()
        try keys.rotateKey(of: owner)
        #expect(try bytes().count == 4_096)
        #expect(try seal(by: keys).keyRank == 0)
    }

    @Test func destructionEndsAllVersions() async throws {
        let keys = try await open()
        let old = try seal(by: keys)
        try keys.rotateKey(of: owner)
        let new = try seal(by: keys)
        let wrapped = try wrappedKeys()
        try keys.destroyKey(of: owner)
        for key in wrapped { #expect(try bytes().range(of: key) == nil) }
        for value in [old, new] { #expect(code { _ = try value.opened() } == .erased) }
        #expect(code { try keys.rotateKey(of: owner) } == .erased)
        #expect(code { _ = try seal(by: keys) } == .erased)
        #expect(try bytes().count == 4_096 + 2 * 128)
        try keys.destroyKey(of: owner)
        #expect(try bytes().count == 4_096 + 2 * 128)
    }

    @Test func otherProcessesSeeRotationAndDestructionAtOnce() async throws {
        let keys = try await open()
        _ = try seal(by: keys)
        let other = try KeyFile.unregistered(like: keys)
        let first = try seal(by: keys).keyVersion
        #expect(try other.presentKey(of: owner).version == first)
        try keys.rotateKey(of: owner)
        #expect(try seal(by: other).keyRank == 1)
        try other.rotateKey(of: owner)
        let value = try seal(by: keys)
        #expect(value.keyRank == 2)
        #expect(try value.opened() == [1, 2, 3])
        try other.destroyKey(of: owner)
        #expect(code { _ = try value.opened() } == .erased)
    }

    /// A process that ends after the first of several writes.
    @Test func aDestructionThatWasInterruptedCountsAndIsCompleted() async throws {
        let wrapped: [Data]
        do {
            let keys = try await open()
            _ = try seal(by: keys)
            try keys.rotateKey(of: owner)
            let before = try bytes()
            wrapped = try wrappedKeys()
            try keys.destroyKey(of: owner)
            var torn = try bytes()
            torn.replaceSubrange(4_096 + 128..<4_096 + 256, with: before.suffix(128))
            try torn.write(to: URL(filePath: path))
        }
        #expect(try bytes().range(of: wrapped[1]) != nil)
        let keys = try await open()
        #expect(try bytes().range(of: wrapped[1]) == nil)
        #expect(code { _ = try seal(by: keys) } == .erased)
    }

    /// A process that ends before the place of the new key is written as a whole.
    @Test func aRotationThatWasInterruptedHasNotHappened() async throws {
        let old: SealedBytes
        do {
            let keys = try await open()
            old = try seal(by: keys)
            try keys.rotateKey(of: owner)
        }
        try bytes().dropLast(5).write(to: URL(filePath: path))
        let keys = try await open()
        #expect(try old.opened() == [1, 2, 3])
        #expect(try seal(by: keys).keyRank == 0)
        try keys.rotateKey(of: owner)
        #expect(try seal(by: keys).keyRank == 1)
    }

    /// Two copies of a file, each of which makes a key of an owner.
    @Test func copiesOfAFileGiveTheirKeysDifferentVersions() async throws {
        let keys = try await open()
        let copy = directory.file("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        let value = try seal(by: keys)
        let other = try await KeyFile.open(at: copy, provider: .file(directory.file("key")))
        // The registry has the copy now, as a process on another machine has.
        #expect(code { _ = try value.opened() } == .keyMissing)
        let second = try seal(by: other)
        #expect(second.keyVersion != value.keyVersion)
        #expect(try second.opened() == [1, 2, 3])
        #expect(code { _ = try value.opened() } == .keyMissing)
        withExtendedLifetime(keys) {}
    }

    @Test func aKeyIsRotatedMoreOftenThanRanksCount() async throws {
        let keys = try await open()
        let first = try seal(by: keys)
        for _ in 0..<4_100 { try keys.rotateKey(of: owner) }
        let last = try seal(by: keys)
        #expect(last.keyRank == 4_095)
        #expect(try keys.presentVersion(of: owner) == last.keyVersion)
        for value in [first, last] { #expect(try value.opened() == [1, 2, 3]) }
    }

    @Test func damageOfOneVersionLeavesTheOthers() async throws {
        var values: [SealedBytes] = []
        do {
            let keys = try await open()
            for _ in 0..<3 {
                values.append(try seal(by: keys))
                try keys.rotateKey(of: owner)
            }
        }
        let whole = try bytes()
        for damagedVersion in 0..<3 {
            var damaged = whole
            damaged[4_096 + damagedVersion * 128 + 30] ^= 1
            try damaged.write(to: URL(filePath: path))
            let keys = try await open()
            for (version, value) in values.enumerated() {
                #expect(
                    code { _ = try value.opened() }
                        == (version == damagedVersion ? .keyMissing : nil))
            }
            try keys.destroyKey(of: owner)
            for value in values { #expect(code { _ = try value.opened() } == .erased) }
        }
    }

    /// A key file of an earlier version, whose versions are 0, 1, 2 and 3.
    @Test func keysThatCountFrom0AreFollowedByOthers() async throws {
        try GoldenFile.copy(file: "early.keys", to: path)
        let keys = try await open()
        let owner = ObjectID(high: 1, low: 2)
        let header = try #require(Data(base64Encoded: Self.earlyHeader))
        let values = try Self.earlyContents.enumerated().map { version, contents in
            let contents = try #require(Data(base64Encoded: contents))
            return SealedBytes(bytes: Array(header + [UInt8(version), 0, 0, 0, 0] + contents))
        }
        #expect(values.map(\.keyVersion) == [0, 1, 2])
        #expect(try values.map { try $0.opened() } == Array(repeating: [1, 2, 3], count: 3))
        #expect(try keys.presentVersion(of: owner) == 3)
        try keys.rotateKey(of: owner)
        let next = try seal(of: owner, by: keys)
        #expect(next.keyRank == 4)
        #expect(try next.opened() == [1, 2, 3])
        try keys.destroyKey(of: owner)
        for value in values + [next] { #expect(code { _ = try value.opened() } == .erased) }
    }

    /// The bytes of values in front of the version, and those that the versions 0, 1 and 2 seal.
    private static let earlyHeader = "AdD6UG97aHWyAAAAAAAAAAEAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAQBAAAA"
    private static let earlyContents = [
        "xJEvSsEajEpYJUuOXvC848FNHalvpPqx//fucFESyA==",
        "T2kmSlX7GU/0f/0INpYBDomYo6oRdA4r7M3vQItnlA==",
        "BqtFm5t5GXJ74Iq5ELbnfW+jrN7AEluGRpumwE5WMg==",
    ]

    // MARK: Tokens

    @Test func tokensAreEqualForEqualValuesOfOneOwnerAndProperty() async throws {
        let keys = try await open()
        let value = try seal(isIndexed: true, by: keys)
        let token = try #require(value.token)
        #expect(token.bytes.count == 16)
        #expect(try value.opened() == [1, 2, 3])
        #expect(try seal(by: keys).token == nil)
        #expect(try seal(isIndexed: true, by: keys).token == token)
        #expect(try seal([1, 2, 4], isIndexed: true, by: keys).token != token)
        #expect(try seal(label: 2, isIndexed: true, by: keys).token != token)
        #expect(try seal(of: ObjectID(), isIndexed: true, by: keys).token != token)
        try keys.rotateKey(of: owner)
        #expect(try seal(isIndexed: true, by: keys).token != token)
        // The token is authenticated along with the value.
        var bytes = value.bytes
        bytes[50] ^= 1
        #expect(code { _ = try SealedBytes(bytes: bytes).opened() } == .damaged)
    }
}
