import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Files and names that cannot be opened: each gives an error that says what to do, and nothing on
/// the disk changes.
struct OpenErrorTests {
    let directory: StoreDirectory
    private var path: String { directory.file() }

    init() throws { directory = try StoreDirectory() }

    private func error(
        _ code: StoreError.Code, _ reason: String, _ advice: String, _ systemCode: Int32? = nil,
        path: String? = nil
    ) -> StoreError {
        let path = path ?? self.path
        return StoreError(
            code, path: path, message: "The store \(path) can't be opened: \(reason).",
            advice: advice, systemCode: systemCode)
    }

    private static let notAStoreAdvice = "The file is not a store, or its first pages are damaged."
    private static let rightsAdvice =
        "Give this process the right to read and write the file and its directory."

    /// Returns the error of opening a store, which must leave the directory as it was.
    private func refused(
        at path: String? = nil, schema: Schema = .library, inspectsPages: Bool = false
    ) throws -> StoreError? {
        let before = try DirectoryContents(directory.path)
        var configuration = StoreFile.Configuration.small()
        configuration.inspectsPages = inspectsPages
        let error = thrown(StoreError.self) {
            try StoreFile.open(at: path ?? self.path, schema: schema, configuration).close()
        }
        #expect(try DirectoryContents(directory.path) == before)
        return error
    }

    /// A closed store of some pages; without its lock file, as a copy is.
    private func makeStore(withLockFile: Bool = false) throws {
        let file = try directory.open()
        let edits = (1...200).map {
            Edit(ObjectKey(Number.tag, $0), from: nil, to: [.data(Data(count: 200))])
        }
        _ = try file.commit(edits)
        file.close()
        if !withLockFile { try FileManager.default.removeItem(atPath: path + "-lock") }
    }

    // MARK: Files of another kind

    @Test(arguments: [1, 151, 4_096, 4_097, 50_000])
    func aTextFileIsNotAStore(byteCount: Int) throws {
        try directory.write(Data(repeating: 0x54, count: byteCount))
        #expect(
            try refused()
                == error(
                    .notAStore, "MDB_INVALID: File is not an LMDB file", Self.notAStoreAdvice,
                    LMDBError.invalidFile))
    }

    @Test func anEmptyFileIsNotAStore() throws {
        try directory.write(Data())
        #expect(
            try refused()
                == StoreError(
                    .notAStore, path: path, message: "The file is empty; it is not a Stet store.",
                    advice: "Correct the path, or remove the file; nothing was changed."))
    }

    @Test(arguments: [true, false])
    func anLMDBFileOfAnotherProgramIsNotAStore(hasLockFile: Bool) throws {
        let environment = try Environment.open(at: path)
        try environment.write { transaction in
            for name in ["users", "stet"] { _ = try transaction.table(name) }
            try [UInt8]([1]).withUnsafeBytes { try transaction.put($0, for: $0, in: .unnamed) }
        }
        environment.close()
        if !hasLockFile { try FileManager.default.removeItem(atPath: path + "-lock") }
        #expect(
            try refused()
                == StoreError(
                    .notAStore, path: path,
                    message: "The file is an LMDB environment, but not a Stet store.",
                    advice: "Correct the path; nothing was changed."))
    }

    @Test func anLMDBFileOfALaterFormatIsRefused() throws {
        try makeStore()
        var bytes = try directory.bytes()
        for page in [0, 4_096] { bytes[page + 20] = 2 }
        try directory.write(bytes)
        #expect(
            try refused()
                == error(
                    .newerFormat,
                    "MDB_VERSION_MISMATCH: Database environment version mismatch",
                    "The file has another format of LMDB: open it with the program that wrote it.",
                    LMDBError.versionMismatch))
    }

    /// A later format, in each of its bytes, and a flag that this version does not know.
    @Test(arguments: [4, 5, 6], [true, false])
    func aStoreOfALaterFormatIsRefused(offset: Int, hasLockFile: Bool) throws {
        try makeStore()
        let file = try directory.open()
        let key = Array("stet".utf8)
        var identity = try #require(try file.dump()[""]?[key])
        identity[offset] = 3
        try file.tamper(nil, key, identity)
        file.close()
        if !hasLockFile { try FileManager.default.removeItem(atPath: path + "-lock") }
        let messages = [
            4: "The store has format 3; this version reads format 1.",
            5: "The store has format 769; this version reads format 1.",
            6: "The store has flags (3) that this version does not know.",
        ]
        #expect(
            try refused()
                == StoreError(
                    .newerFormat, path: path, message: messages[offset] ?? "",
                    advice: "Open it with the version of Stet that wrote it, or a later one."))
    }

    // MARK: Truncated files

    @Test func aFileThatIsCutAnywhereIsDamagedOrNoStore() throws {
        try makeStore()
        let whole = try directory.bytes()
        try #require(whole.count > 20 * 4_096)
        let metaEnd = 4_096 + 152
        let sizes =
            Array(stride(from: 4_096, to: whole.count, by: 4_096))
            + [1, 151, 152, 4_095, metaEnd - 1, metaEnd, 5_000, 8_191, 30_001, whole.count - 1]
        for size in sizes {
            try directory.write(whole.prefix(size))
            let found = try refused()
            let sentences: [String]
            switch size {
            case ..<152:
                #expect(found?.code == .notAStore, "\(size) bytes")
                #expect(found?.path == path, "\(size) bytes")
                continue
            case ..<metaEnd: sentences = ["page 1: the meta page is damaged"]
            default:
                // The first missing page that is not free, or the page of the free list.
                sentences = (size / 4_096..<whole.count / 4_096).flatMap { page in
                    [
                        "page \(page): the file ends before this page, which is not free",
                        "page \(page): something refers to this page, which is out of range",
                    ]
                }
            }
            let possible = sentences.map { sentence in
                StoreError(
                    .damaged, path: path, message: "The store is damaged: \(sentence).",
                    advice: "Run verify on a copy, and restore from a backup.")
            }
            #expect(
                found.map(possible.contains) == true,
                "\(size) of \(whole.count) bytes: \(String(describing: found))")
        }
        try directory.write(whole)
        #expect(try directory.open().verify().isClean)
    }

    // MARK: Names

    @Test func aNameThatCannotBeIsRefused() throws {
        for path in ["", directory.file("a\0b"), "\0"] {
            let expected = StoreError(
                .invalidPath, path: path,
                message: "The store can't be opened: its path is empty or contains a NUL.",
                advice: "Correct the path.")
            #expect(try refused(at: path) == expected)
            #expect(thrown { try StoreInspection.inspect(path) } == expected)
        }
    }

    @Test func aNameThatIsTooLongIsRefused() throws {
        // Until it is complete, a new store has a longer name; the name of its lock file has 5 more
        // bytes.
        func name(_ byteCount: Int) -> String { String(repeating: "n", count: byteCount) }
        func tooLong(_ path: String) -> StoreError {
            error(
                .invalidPath, "File name too long", "Choose a shorter path.", ENAMETOOLONG,
                path: path)
        }
        let longest = 255 - 26
        for count in [longest + 1, 250, 251, 255, 256, 5_000] {
            let path = directory.file(name(count))
            #expect(try refused(at: path) == tooLong(path), "\(count) bytes")
        }
        try directory.open(name(longest)).close()
        try FileManager.default.moveItem(
            atPath: directory.file(name(longest)), toPath: directory.file(name(250)))
        try directory.open(name(250)).close()
        try FileManager.default.moveItem(
            atPath: directory.file(name(250)), toPath: directory.file(name(251)))
        let path = directory.file(name(251))
        #expect(try refused(at: path) == tooLong(path))
        let deep = directory.path + String(repeating: "/.", count: 2_048) + "/test.stet"
        #expect(try refused(at: deep) == tooLong(deep))
    }

    @Test func aMissingDirectoryIsNamed() throws {
        for name in ["missing/test.stet", "missing/", "missing/deep/test.stet"] {
            let path = directory.file(name)
            #expect(
                try refused(at: path)
                    == error(
                        .notFound, "No such file or directory",
                        "Create the directory first, or correct the path.", ENOENT, path: path))
        }
    }

    @Test func aFileInPlaceOfADirectoryIsNamed() throws {
        try makeStore()
        for path in [path + "/test.stet", path + "/"] {
            #expect(
                try refused(at: path)
                    == error(
                        .invalidPath, "Not a directory",
                        "Correct the path: a part of it is not a directory.", ENOTDIR, path: path))
        }
    }

    @Test func directoriesThatLeadInACircleAreRefused() throws {
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("circle"), withDestinationPath: directory.file("circle"))
        let path = directory.file("circle/test.stet")
        #expect(
            try refused(at: path)
                == error(
                    .invalidPath, "Too many levels of symbolic links",
                    "Name a file: not a directory, and not a link.", ELOOP, path: path))
    }

    @Test func aDirectoryIsRefusedUnderEachOfItsNames() throws {
        for path in [directory.path, directory.path + "/", directory.path + "/.", "/"] {
            #expect(
                try refused(at: path)
                    == error(
                        .invalidPath, "it is a directory", "Name a file in it.", EISDIR,
                        path: path))
        }
    }

    // MARK: Models

    @Test(arguments: [true, false])
    func aStoreOfOtherModelsNamesTheDifferences(hasLockFile: Bool) throws {
        try makeStore(withLockFile: hasLockFile)
        let mark = Property(name: "mark", type: .data)
        let color = Property(name: "color", type: .string)
        for (tag, difference) in [
            (
                [mark, color],
                "the model has Tag.color, the store does not, and there is no default value"
            ),
            (
                [Property(name: "mark", type: .string)],
                "Tag.mark is data in the store and string in the model"
            ),
        ] as [([Property], String)] {
            let schema = try Schema(
                entities: [.article, .notebook, Entity(name: "Tag", properties: tag)])
            #expect(
                try refused(schema: schema)
                    == StoreError(
                        .modelMismatch, path: path,
                        message: "The store was made for other models: \(difference).",
                        advice: "Open it with the models it was made for, or with a plan that "
                            + "migrates it."))
        }
    }

    @Test func aStoredSchemaThatIsNotUsableIsDamage() throws {
        let file = try directory.open()
        let key = Array("schema".utf8)
        let stored = try #require(try file.dump()[""]?[key])
        // A reference to an unknown entity.
        let found = try #require(
            Data(stored).range(of: Data("Notebook".utf8), in: stored.indices))
        var bytes = stored
        bytes.replaceSubrange(found, with: Array("Notebouk".utf8))
        try file.tamper(nil, key, bytes)
        let checksum = bytes.withUnsafeBytes { Checksum.hash($0, seed: 0) }
        try file.tamper(
            nil, Array("schema.checksum".utf8), withUnsafeBytes(of: checksum) { Array($0) })
        file.close()
        let error = try refused()
        #expect(error?.code == .damaged)
        #expect(error?.path == path)
        #expect(error?.message.contains("refers to Notebouk") == true)
    }

    @Test func aDamagedSchemaIsNotMigrated() throws {
        let file = try directory.open()
        let key = Array("schema".utf8)
        var bytes = try #require(try file.dump()[""]?[key])
        let found = try #require(Data(bytes).range(of: Data("mark".utf8), in: bytes.indices))
        bytes.replaceSubrange(found, with: Array("nark".utf8))
        try file.tamper(nil, key, bytes)
        file.close()
        #expect(try refused()?.code == .damaged)
    }

    // MARK: Rights

    @Test func withoutRightsNothingIsOpenedOrMade() throws {
        let path = path
        let refusal = error(.noPermission, "Permission denied", Self.rightsAdvice, EACCES)
        func attempt() throws -> StoreError? {
            let before = try DirectoryContents(directory.path)
            let error = try withRightsOfNobody {
                thrown(StoreError.self) {
                    try StoreFile.open(at: path, schema: .library, .small()).close()
                }
            }
            #expect(try DirectoryContents(directory.path) == before)
            return error
        }
        // A directory in which no file can be created.
        try #require(chmod(directory.path, 0o555) == 0)
        #expect(try attempt() == refusal)
        try #require(chmod(directory.path, 0o755) == 0)
        try makeStore()
        // A read-only file, and an unreadable one.
        for permissions in [0o444, 0o000] as [mode_t] {
            try #require(chmod(path, permissions) == 0)
            #expect(try attempt() == refusal)
        }
        // A writable file in a directory in which its lock file cannot be created.
        try #require(chmod(path, 0o666) == 0)
        try #require(chmod(directory.path, 0o555) == 0)
        #expect(try attempt() == refusal)
        // A directory that cannot be entered.
        try #require(chmod(directory.path, 0o666) == 0)
        let closed = try withRightsOfNobody {
            thrown(StoreError.self) {
                try StoreFile.open(at: path, schema: .library, .small()).close()
            }
        }
        #expect(closed == refusal)
        try #require(chmod(directory.path, 0o755) == 0)
    }

    @Test func aReadOnlyFileSystemIsNamed() throws {
        let refusal = error(.noPermission, "Read-only file system", Self.rightsAdvice, EROFS)
        var place = StorePlace(path: path)
        place.accessCode = EROFS
        #expect(thrown { try place.check(allowsUnsafe: false) } == refusal)
        // With a real read-only mount, where permitted: a new store and an existing one.
        for hasStore in [false, true] {
            if hasStore { try makeStore() }
            let before = try DirectoryContents(directory.path)
            let path = path
            let error = try withReadOnlyMount(of: directory.path) {
                thrown(StoreError.self) {
                    try StoreFile.open(at: path, schema: .library, .small()).close()
                }
            }
            if let error { #expect(error == refusal) }
            #expect(try DirectoryContents(directory.path) == before)
        }
    }
}
