import Foundation
import StetLMDB
import StetStore
import Testing

/// Stores that are refused because of their place, before anything is opened.
struct PlaceTests {
    let directory: StoreDirectory
    private var path: String { directory.file() }

    init() throws { directory = try StoreDirectory() }

    private func refusal(
        _ code: StoreError.Code, _ reason: String, _ advice: String, _ systemCode: Int32? = nil
    ) -> StoreError {
        StoreError(
            code, path: path, message: "The store \(path) can't be opened: \(reason).",
            advice: advice, systemCode: systemCode)
    }

    /// Returns the error of opening the store, which must leave the directory as it was.
    private func refused(allowsUnsafePlace: Bool = false) throws -> StoreError? {
        let before = try DirectoryContents(directory.path)
        var configuration = StoreFile.Configuration.small()
        configuration.allowsUnsafePlace = allowsUnsafePlace
        let error = thrown(StoreError.self) {
            try StoreFile.open(at: path, schema: .library, configuration).close()
        }
        if error != nil { #expect(try DirectoryContents(directory.path) == before) }
        return error
    }

    private func refusedAlways() throws -> StoreError? {
        let error = try refused()
        #expect(try refused(allowsUnsafePlace: true) == error)
        return error
    }

    private func makeStore() throws { try directory.open().close() }

    // MARK: Names

    @Test(arguments: ["other.stet", "missing"])
    func aSymbolicLinkIsRefusedWhetherItsFileExistsOrNot(destination: String) throws {
        try directory.open("other.stet").close()
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: directory.file(destination))
        #expect(
            try refusedAlways()
                == refusal(
                    .invalidPath, "it is a symbolic link",
                    "Give the path of the file itself: beside the link there would be another "
                        + "lock file, and so a second writer.", ELOOP))
    }

    @Test func aDirectoryIsRefused() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        #expect(
            try refusedAlways()
                == refusal(.invalidPath, "it is a directory", "Name a file in it.", EISDIR))
    }

    @Test func aPipeIsRefusedWithoutWaitingForItsWriter() throws {
        try #require(mkfifo(path, 0o600) == 0)
        #expect(
            try refusedAlways()
                == refusal(
                    .invalidPath, "it is a device, a pipe or a socket", "Name a regular file."))
    }

    @Test func aFileWithASecondNameIsRefusedUnderBothUntilOneIsRemoved() throws {
        try makeStore()
        try FileManager.default.linkItem(atPath: path, toPath: directory.file("other.stet"))
        #expect(
            try refusedAlways()
                == refusal(
                    .unsafePlace, "its file has 2 names",
                    "Remove the others (find -samefile shows them): beside each there would be "
                        + "another lock file, and so a second writer."))
        #expect(thrown(StoreError.self) { try directory.open("other.stet") }?.code == .unsafePlace)
        try FileManager.default.removeItem(atPath: directory.file("other.stet"))
        #expect(try refused() == nil)
    }

    @Test(arguments: ["link", "directory", "pipe", "second name"])
    func aLockFileThatIsNotOneOfItsOwnIsRefused(kind: String) throws {
        try makeStore()
        let lock = path + "-lock"
        let manager = FileManager.default
        let other = directory.file("other")
        switch kind {
        case "second name": try manager.linkItem(atPath: lock, toPath: other)
        case "link":
            try manager.moveItem(atPath: lock, toPath: other)
            try manager.createSymbolicLink(atPath: lock, withDestinationPath: other)
        case "directory":
            try manager.removeItem(atPath: lock)
            try manager.createDirectory(atPath: lock, withIntermediateDirectories: false)
        default:
            try manager.removeItem(atPath: lock)
            try #require(mkfifo(lock, 0o600) == 0)
        }
        let what = kind == "second name" ? "has 2 names" : "is not a regular file"
        #expect(
            try refusedAlways()
                == refusal(
                    .unsafePlace, "its lock file \(lock) \(what)",
                    "Remove \(lock) while no process has the store open."))
    }

    @Test(arguments: [0, 1, 100, 8_192, 1 << 20])
    func aLockFileOfAnyBytesIsTakenOver(byteCount: Int) throws {
        try makeStore()
        let garbage = Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        try directory.write(garbage, to: "test.stet-lock")
        let file = try directory.open()
        _ = try file.commit([Edit(ObjectKey(Number.tag, 1), from: nil, to: [.data(Data([7]))])])
        #expect(try file.verify().isClean)
    }

    // MARK: Directories

    @Test func aDirectoryThatAllMayWriteToIsRefusedUnlessAllowed() throws {
        try #require(chmod(directory.path, 0o777) == 0)
        #expect(
            try refused()
                == refusal(
                    .unsafePlace, "every user may exchange the files in its directory",
                    "Use a directory that only its owner may write to (chmod o-w), or set "
                        + "allowsUnsafePlace."))
        #expect(directory.names == [])
        #expect(try refused(allowsUnsafePlace: true) == nil)
        // An existing store is refused as well.
        #expect(try refused()?.code == .unsafePlace)
        try #require(chmod(directory.path, 0o770) == 0)
        #expect(try refused() == nil)
    }

    @Test func aDirectoryLikeTheOneForTemporaryFilesIsAllowed() throws {
        try #require(chmod(directory.path, 0o1777) == 0)
        #expect(try refused() == nil)
        #expect(try refused() == nil)
    }

    @Test func inADirectoryForAllTheFilesMustBelongToTheUserOrToRoot() throws {
        var place = StorePlace(path: path)
        place.isWritableByAll = true
        place.isSticky = true
        var entry = StorePlace.Entry()
        func error(allowsUnsafe: Bool = false) -> StoreError? {
            thrown(StoreError.self) { try place.check(allowsUnsafe: allowsUnsafe, user: 1_000) }
        }
        #expect(error() == nil)
        let foreign = refusal(
            .unsafePlace,
            "its directory is open to every user, and its files belong to user 1001",
            "Use a directory that only its owner may write to, or set allowsUnsafePlace.")
        for file in [\StorePlace.dataFile, \StorePlace.lockFile] {
            for (owner, expected) in [(0, nil), (1_000, nil), (1_001, foreign)] {
                entry.owner = UInt32(owner)
                place[keyPath: file] = entry
                #expect(error() == expected)
            }
            #expect(error(allowsUnsafe: true) == nil)
            place[keyPath: file] = nil
        }
        // Elsewhere the owner of the directory is responsible for its contents.
        place.isWritableByAll = false
        place.dataFile = entry
        #expect(error() == nil)
    }

    @Test func filesAreForTheirOwnerOnly() throws {
        let file = try directory.open()
        let contents = try DirectoryContents(directory.path).entries
        #expect(
            contents.mapValues(\.permissions) == ["test.stet": 0o600, "test.stet-lock": 0o600])
        file.close()
    }

    // MARK: File systems

    @Test func aFileSystemOfAnotherMachineOrProgramIsNamedAndRefusedUnlessAllowed() throws {
        for (magic, name) in [
            (0x6969, "NFS"), (0x517B, "SMB"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB2"),
            (0x6573_5546, "FUSE"), (0x0102_1997, "9p"), (0x5346_414F, "AFS"),
            (0x6B41_4653, "AFS"), (0x7375_7245, "Coda"), (0x00C3_6400, "Ceph"),
            (0x0BD0_0BD0, "Lustre"), (0x0116_1970, "GFS2"), (0x7461_636F, "OCFS2"),
        ] as [(UInt32, String)] {
            var place = StorePlace(path: path)
            // A directory of ext4 in which a file of another system is mounted.
            place.fileSystems = [FileSystem(magic: 0xEF53), FileSystem(magic: magic)]
            let error = thrown(StoreError.self) { try place.check(allowsUnsafe: false) }
            #expect(
                error
                    == refusal(
                        .unsafePlace,
                        "it is on a file system (\(name)) whose locks or memory are unreliable",
                        "Use a local file system, or set allowsUnsafePlace."))
            #expect(throws: Never.self) { try place.check(allowsUnsafe: true) }
        }
    }

    @Test func localFileSystemsAreAllowed() {
        // ext4, XFS, Btrfs, F2FS, tmpfs, overlayfs, ZFS, FAT, exFAT
        for magic in [
            0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1,
            0x4D44, 0x2011_BAB0,
        ] as [UInt32] {
            #expect(FileSystem(magic: magic).unsafeName == nil)
        }
    }

    @Test func theLookSeesTheFileSystemOfDirectoryAndFile() throws {
        #expect(try StorePlace(lookingAt: path).fileSystems.count == 1)
        try makeStore()
        let place = try StorePlace(lookingAt: path)
        #expect(place.fileSystems.count == 2)
        #expect(Set(place.fileSystems).count == 1)
        #expect(try FileSystem(of: "/proc") == FileSystem(magic: 0x9FA0))
        #expect(place.dataFile?.owner == geteuid())
        #expect(place.lockFile?.nameCount == 1)
    }

    // MARK: Sharing in the process

    @Test func everySpellingOfThePathGivesTheSameStore() throws {
        let file = try directory.open()
        let link = directory.file("directory")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: directory.path)
        let current = FileManager.default.currentDirectoryPath
        let up = current.split(separator: "/").map { _ in ".." }.joined(separator: "/")
        let relative = String("\(up)\(path)".drop { up.isEmpty && $0 == "/" })
        for spelling in [path, "\(directory.path)/.//test.stet", "\(link)/test.stet", relative] {
            let again = try StoreFile.open(at: spelling, schema: .library, .small())
            #expect(again === file, "\(spelling)")
        }
        #expect(directory.names == ["directory", "test.stet", "test.stet-lock"])
    }

    // MARK: Names that are free

    @Test func aFileIsRenamedOnlyToANameThatIsFree() throws {
        try directory.write(Data([1]), to: "one")
        try directory.write(Data([2]), to: "two")
        let (one, two) = (directory.file("one"), directory.file("two"))
        for rename in [
            { try FileSystem.rename(one, toUnused: $0) }, { try FileSystem.linkAndUnlink(one, $0) },
        ] as [(String) throws -> Void] {
            #expect(
                thrown { try rename(two) } == LMDBError(.openEnvironment, code: EEXIST, path: two))
            #expect(try directory.bytes("one") == Data([1]))
            #expect(try directory.bytes("two") == Data([2]))
            try rename(directory.file("three"))
            #expect(directory.names == ["three", "two"])
            try FileManager.default.moveItem(atPath: directory.file("three"), toPath: one)
        }
    }
}
