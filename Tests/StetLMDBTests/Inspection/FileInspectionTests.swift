import Glibc
import StetLMDB
import StetTestSupport
import Testing

@Suite struct FileInspectionTests {
    // MARK: Healthy files

    @Test func aNewFileHoldsTwoMetaPages() throws {
        let directory = try InspectionDirectory()
        try Environment.open(at: directory.file).close()
        let inspection = try directory.inspect()
        #expect(inspection.damages == [])
        #expect(inspection.usedPageCount == 2)
        #expect(inspection.freePageCount == 0)
        #expect(inspection.lastPageNumber == 1)
        #expect(inspection.lastTransaction == 0)
        #expect(!inspection.isEmptyFile)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func aFileOfManyCommitsIsHealthyAndEveryPageIsUsedOrFree(seed: UInt64) throws {
        let directory = try InspectionDirectory()
        let environment = try Environment.open(at: directory.file)
        try churnForInspection(environment, seed: seed, commits: 12)
        let statistics = try environment.statistics()
        environment.close()

        let inspection = try directory.inspect()
        #expect(inspection.damages == [])
        let free = try #require(inspection.freePageCount)
        #expect(free > 0)
        #expect(try #require(inspection.usedPageCount) + free == inspection.lastPageNumber + 1)
        #expect(inspection.lastPageNumber + 1 == statistics.usedPageCount)
        #expect(inspection.lastTransaction == statistics.lastTransaction)
        #expect(inspection.pageByteCount == statistics.pageByteCount)
        #expect(inspection.fileByteCount == directory.bytes.count)
    }

    @Test func withoutAWalkOnlyTheMetaPagesAreJudged() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileOfOneCommit()
        for page in 2..<twin.pageCount { twin.zeroPage(page) }
        let inspection = try directory.inspect(twin, walkingPages: false)
        #expect(inspection.damages == [])
        #expect(inspection.usedPageCount == nil)
        #expect(inspection.freePageCount == nil)
        #expect(inspection.lastTransaction == 1)
        #expect(inspection.lastPageNumber == twin.pageCount - 1)
    }

    @Test func aFileThatEndsBeforeItsFreePagesIsHealthy() throws {
        let directory = try InspectionDirectory()
        let environment = try Environment.open(at: directory.file)
        try environment.write { try $0.putEntries(count: 2_000, in: "notes") }
        try environment.write { transaction in
            let table = try transaction.table("notes")
            for index in 0..<1_000 { try transaction.remove(inspectionKey(index), in: table) }
        }
        try environment.write { try $0.putEntries(count: 10, in: "tags") }
        try environment.write { transaction in
            // These pages are allocated after the last page and freed before they are written.
            let table = try transaction.table("tags")
            for index in 0..<4 {
                try transaction.putLetters(inspectionKey(index), 3_000_000, in: table)
            }
            for index in 0..<4 { try transaction.remove(inspectionKey(index), in: table) }
        }
        environment.close()

        for walkingPages in [true, false] {
            let inspection = try directory.inspect(walkingPages: walkingPages)
            let neededByteCount = (inspection.lastPageNumber + 1) * inspection.pageByteCount
            #expect(inspection.fileByteCount < neededByteCount, "the premise of this test")
            #expect(inspection.damages == [])
        }
        // A shorter file lacks pages that are in use.
        var twin = DataFileImage(directory.bytes)
        twin.bytes.removeLast(twin.bytes.count / 2)
        for walkingPages in [true, false] {
            let damages = try directory.inspect(twin, walkingPages: walkingPages).damages
            #expect(damages.contains { $0.kind == .shortFile && $0.page >= twin.pageCount })
        }
    }

    // MARK: What is no data file

    @Test func anEmptyFileIsReportedAsEmpty() throws {
        let directory = try InspectionDirectory()
        for walkingPages in [true, false] {
            let inspection = try directory.inspect(DataFileImage([]), walkingPages: walkingPages)
            #expect(inspection.isEmptyFile)
            #expect(inspection.damages == [])
            #expect(inspection.pageByteCount == 0)
        }
    }

    @Test func aFileOfAnotherFormatIsInvalid() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let text = Array(repeating: UInt8(ascii: "x"), count: 20_000)
        let tooShort = Array(healthy.bytes.prefix(151))
        for bytes in [text, tooShort, [0], Array(repeating: 0, count: 8_192)] {
            #expect(throws: directory.failure(LMDBError.invalidFile)) {
                try directory.inspect(DataFileImage(bytes))
            }
        }
    }

    @Test func anotherVersionOfTheFormatIsNamed() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileOfOneCommit()
        for page in 0...1 { twin.set(UInt32(2), in: page, at: 20) }
        #expect(throws: directory.failure(LMDBError.versionMismatch)) {
            try directory.inspect(twin)
        }
    }

    @Test func whatCannotBeOpenedThrowsTheSystemsCode() throws {
        let directory = try InspectionDirectory()
        #expect(throws: directory.failure(ENOENT)) { try directory.inspect() }
        try directory.fileOfOneCommit().write(to: directory.path + "/target")
        #expect(symlink("target", directory.file) == 0)
        #expect(throws: directory.failure(ELOOP)) { try directory.inspect() }
        #expect(unlink(directory.file) == 0)
        #expect(mkdir(directory.file, 0o700) == 0)
        #expect(throws: directory.failure(EISDIR)) { try directory.inspect() }
        #expect(rmdir(directory.file) == 0)
        #expect(mkfifo(directory.file, 0o600) == 0)
        #expect(throws: directory.failure(LMDBError.invalidFile)) { try directory.inspect() }
    }

    @Test func moreThanTheLimitOfPagesIsRefused() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileOfOneCommit()
        for (pageCount, isRefused) in [
            (FileInspection.pageCountLimit, false), (FileInspection.pageCountLimit + 1, true),
        ] {
            for page in 0...1 { twin.set(UInt64(pageCount - 1), in: page, at: 136) }
            try twin.write(to: directory.file)
            // The file is sparse, and occupies a few blocks only.
            try #require(truncate(directory.file, pageCount * twin.pageByteCount) == 0)
            if isRefused {
                #expect(throws: directory.failure(EFBIG)) { try directory.inspect() }
            } else {
                let inspection = try directory.inspect()
                #expect(Set(inspection.damages.map(\.kind)) == [.pageLeaked])
                #expect(inspection.damages.count == FileInspection.damageLimit)
                #expect(inspection.hasMoreDamages)
            }
        }
    }

    // MARK: Meta pages

    @Test(arguments: [0, 1])
    func oneBadMetaPageIsReportedAndTheOtherUsed(bad: Int) throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let offsets = [0, 10, 16, 20, 40, 143, 144]
        for offset in offsets {
            var twin = healthy
            twin.bytes[bad * twin.pageByteCount + offset] ^= 0xff
            let inspection = try directory.inspect(twin, walkingPages: false)
            #expect(inspection.damages == [.init(.invalidMeta, page: bad)], "offset \(offset)")
            #expect(inspection.lastTransaction == (bad == 0 ? 1 : 0))
        }
    }

    @Test func theMetaPageOfTheLaterCommitIsUsed() throws {
        let directory = try InspectionDirectory()
        let environment = try Environment.open(at: directory.file)
        for commit in 1...4 {
            try environment.write { try $0.putEntries(count: 10 * commit, in: "notes") }
            #expect(try directory.inspect(walkingPages: false).lastTransaction == commit)
            #expect(try directory.inspect().damages == [])
        }
        environment.close()
    }

    // MARK: Hostile bytes

    @Test func noCorruptionOfThreeHundredMakesItTrap() throws {
        let directory = try InspectionDirectory()
        let originals = try [directory.fileOfOneCommit(), directory.fileWithFreePages()]
        var foundCount = 0
        for stream in 0..<300 {
            var random = SeededGenerator(seed: 20_240_607, stream: stream)
            var twin = originals[stream % 2]
            twin.corrupt(using: &random)
            do {
                let inspection = try directory.inspect(twin)
                #expect(inspection.damages.count <= FileInspection.damageLimit)
                if !inspection.damages.isEmpty { foundCount += 1 }
            } catch {
                #expect([LMDBError.invalidFile, LMDBError.versionMismatch].contains(error.code))
                foundCount += 1
            }
            _ = try? directory.inspect(twin, walkingPages: false)
        }
        // Some changes affect only bytes of values, free pages or the older meta page.
        #expect(foundCount > 150)
        #expect(foundCount < 300)
    }

    @Test func everyDamageHasAReadableDescription() {
        let descriptions = FileInspection.Damage.Kind.allCases.map {
            FileInspection.Damage($0, page: 17).description
        }
        #expect(Set(descriptions).count == descriptions.count)
        #expect(descriptions.allSatisfy { $0.hasPrefix("page 17: ") && $0.count > 20 })
    }
}
