import Foundation
import StetStore
import StetTestSupport
import Testing

/// The command `keys`, on a key file that is in use.
struct KeysCommandTests {
    private let directory = TemporaryDirectory()
    private let keys: KeyFile
    private static let ann = "01900000-0000-7000-8000-000000000001"
    private static let bob = "01900000-0000-7000-8000-000000000002"
    private static let eve = "01900000-0000-7000-8000-000000000003"

    private var path: String { directory.file("keys") }

    init() async throws {
        for (name, byte) in [("key", UInt8(7)), ("other", 8)] {
            try Data(repeating: byte, count: 32)
                .write(to: URL(filePath: directory.file(name)))
        }
        keys = try await KeyFile.open(
            at: directory.file("keys"), provider: .file(directory.file("key")))
        for id in [Self.ann, Self.bob] {
            let id = try #require(ObjectID(id))
            _ = try seal(id)
        }
    }

    private func seal(_ id: ObjectID) throws -> SealedBytes {
        try keys.makeKeys(for: [id])
        return try SealedBytes([1, 2], at: .init(owner: id, object: id, label: 1), by: keys)
    }

    private func run(_ arguments: String...) throws -> Tool.Outcome { try run(arguments) }

    private func run(_ arguments: [String]) throws -> Tool.Outcome {
        try Tool.Running(["keys", path] + arguments).outcome()
    }

    @Test func ownersAreListedWithoutAKey() throws {
        #expect(
            try run() == Tool.Outcome(status: 0, output: "\(Self.ann): 1 key\n\(Self.bob): 1 key\n")
        )
        let json = """
            {"id":"\(Self.ann)","keyCount":1}
            {"id":"\(Self.bob)","keyCount":1}

            """
        #expect(try run("--json") == Tool.Outcome(status: 0, output: json))
    }

    @Test func keysAreDestroyedWithoutAKey() throws {
        let value = try seal(try #require(ObjectID(Self.ann)))
        func destroy(_ id: String, _ options: String...) throws -> String {
            try run(["--destroy", id] + options).output
        }
        #expect(try destroy(Self.ann) == "\(Self.ann): 1 key would be destroyed\n")
        let never = "can never get one"
        #expect(try destroy(Self.eve) == "\(Self.eve): has no key; with --yes it \(never)\n")
        #expect(try value.opened() != [])
        #expect(try destroy(Self.ann, "--yes") == "\(Self.ann): 1 key destroyed\n")
        #expect(throws: SealingError.self) { try value.opened() }
        #expect(try destroy(Self.ann, "--yes") == "\(Self.ann): was destroyed before\n")
        #expect(try destroy(Self.eve, "--yes") == "\(Self.eve): had no key, and \(never) now\n")
        for options in [["--json"], ["--json", "--yes"]] {
            let isDone = options.count == 2
            #expect(
                try run(["--destroy", Self.bob] + options).output
                    == "{\"id\":\"\(Self.bob)\",\"isDone\":\(isDone),\"keyCount\":1}\n")
        }
        let destroyed = [Self.ann, Self.bob, Self.eve].map { "\($0): destroyed\n" }
        #expect(try run().output == destroyed.joined())
    }

    @Test func aKeyIsRotated() throws {
        let id = try #require(ObjectID(Self.ann))
        let value = try seal(id)
        let key = directory.file("key")
        #expect(
            try run("--rotate", Self.ann, "--key-file", key)
                == Tool.Outcome(status: 0, output: "\(Self.ann): 2 keys\n"))
        #expect(try seal(id).keyRank == 1)
        #expect(try value.opened() == [1, 2])
        let missing = try run("--rotate", Self.eve, "--key-file", key)
        #expect(missing.status == 66)
        #expect(missing.errors.contains("The key file has no key of object \(Self.eve)."))
        _ = try run("--destroy", Self.ann, "--yes")
        let erased = try run("--rotate", Self.ann, "--key-file", key)
        #expect(erased.status == 1)
        #expect(erased.errors.contains("was destroyed"))
    }

    @Test func theFileMovesToAnotherKey() async throws {
        let (key, other) = (directory.file("key"), directory.file("other"))
        let wrong = try run("--key-file", other, "--new-key-file", key)
        #expect(wrong.status == 77)
        #expect(wrong.errors.contains("does not open the key file"))
        #expect(
            try run("--key-file", key, "--new-key-file", other)
                == Tool.Outcome(status: 0, output: "moved to the key in \(other)\n"))
        #expect(try run("--key-file", key, "--rotate", Self.ann).status == 77)
        #expect(try run("--key-file", other, "--rotate", Self.ann).status == 0)
        let missing = try run("--key-file", other, "--new-key-variable", "STET_NO_SUCH_KEY")
        #expect(missing.status == 74)
        #expect(missing.errors.contains("There is no key of 32 bytes in the variable"))
        #expect(
            try run("--key-file", other, "--rotate", Self.ann).output == "\(Self.ann): 3 keys\n")
    }

    @Test func whatCannotBeUsedIsRefused() throws {
        let key = directory.file("key")
        for arguments in [
            ["--rotate", Self.ann], ["--key-file", key], ["--yes"],
            ["--destroy", Self.ann, "--key-file", key],
            ["--destroy", Self.ann, "--rotate", Self.ann],
            ["--rotate", Self.ann, "--key-file", key, "--key-variable", "KEY"],
            ["--destroy", "ann"],
        ] {
            #expect(try Tool.Running(["keys", path] + arguments).outcome().status == 64)
        }
        let missing = try Tool.run("keys", directory.file("none"))
        #expect(missing.status == 66)
        #expect(missing.errors.hasPrefix("stet: There is no file "))
        let foreign = try Tool.run("keys", key, "--json")
        #expect(foreign.status == 65)
        #expect(foreign.errors.contains("\"code\":\"notAKeyFile\""))
    }
}
