import StetLMDB
import StetTestSupport
import Testing

/// Values that are read from the table without a name while nobody has the file open.
@Suite struct LookupTests {
    /// A table without a name of several levels, with values on overflow pages.
    private func makeFile(_ directory: InspectionDirectory) throws -> [[UInt8]: [UInt8]] {
        var random = SeededGenerator(seed: 11)
        var expected: [[UInt8]: [UInt8]] = [:]
        for index in 0..<2_000 {
            let byteCount = [0, 1, 40, 1_900, 2_100, 5_000].randomElement(using: &random)!
            expected[inspectionKey(2 * index)] = (0..<byteCount).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
        }
        let environment = try Environment.open(at: directory.file)
        defer { environment.close() }
        try environment.write { transaction in
            for (key, value) in expected {
                try key.withUnsafeBytes { key in
                    try value.withUnsafeBytes { try transaction.put($0, for: key, in: .unnamed) }
                }
            }
        }
        return expected
    }

    @Test func everyValueIsFoundAndNoOther() throws {
        let directory = try InspectionDirectory()
        let expected = try makeFile(directory)
        for (key, value) in expected {
            #expect(try FileInspection.value(of: key, inFileAt: directory.file) == value)
        }
        for key in (0..<50).map({ inspectionKey(79 * $0 + 1 - $0 % 2) }) + [[], [0], [255]] {
            #expect(
                try FileInspection.value(of: key, inFileAt: directory.file) == expected[key])
        }
    }

    @Test func anEmptyTableHasNoValue() throws {
        let directory = try InspectionDirectory()
        try Environment.open(at: directory.file).close()
        #expect(try FileInspection.value(of: [1], inFileAt: directory.file) == nil)
    }

    @Test func fromADamagedFileAValueOrAnErrorIsRead() throws {
        let directory = try InspectionDirectory()
        _ = try makeFile(directory)
        let healthy = DataFileImage(directory.bytes)
        var refusals = 0
        for seed in 1...100 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var twin = healthy
            for _ in 0..<10 { twin.corrupt(using: &random) }
            try twin.write(to: directory.file)
            for index in stride(from: 0, to: 4_000, by: 200) {
                do {
                    _ = try FileInspection.value(
                        of: inspectionKey(index), inFileAt: directory.file)
                } catch {
                    refusals += 1
                    let codes = [LMDBError.corrupted, LMDBError.invalidFile]
                    #expect(codes.contains(error.code), "seed \(seed): \(error)")
                }
            }
        }
        #expect(refusals > 0)
    }
}

/// The inspection of an environment that is open.
@Suite struct EnvironmentInspectionTests {
    @Test func openingAndInspectingReachNoPageThroughTheMapButTheMetaPages() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileWithFreePages()
        let lastPage = twin.pageCount - 1
        // Access to a mapped page beyond the end of the file kills the process.
        twin.bytes.removeLast(twin.bytes.count - 2 * twin.pageByteCount)
        try twin.write(to: directory.file)
        let environment = try Environment.open(at: directory.file)
        let inspection = try environment.inspectPages()
        #expect(inspection.lastPageNumber == lastPage)
        #expect(inspection.damages.contains { $0.kind == .pageOutOfRange })
        environment.close()
        #expect(directory.bytes == twin.bytes)
    }

    @Test func theInspectionOfAHealthyFileIsThatFromOutside() throws {
        let directory = try InspectionDirectory()
        try directory.fileWithFreePages().write(to: directory.file)
        let environment = try Environment.open(at: directory.file)
        let inspection = try environment.inspectPages()
        #expect(inspection.damages == [])
        #expect(inspection.usedPageCount != nil)
        #expect(try directory.inspect() == inspection)
        // The environment can still be written to and inspected.
        try environment.write { try $0.putEntries(count: 100, in: "more") }
        #expect(try environment.inspectPages().lastTransaction == inspection.lastTransaction + 1)
        environment.close()
        #expect(
            lmdbError { try environment.inspectPages() }
                == LMDBError(.begin, code: LMDBError.closed, path: directory.file))
    }

    @Test func writersWaitForTheInspection() throws {
        let directory = try InspectionDirectory()
        let environment = try Environment.open(at: directory.file)
        // Several threads commit during the walk. None of their commits looks like damage.
        onThreads(3) { index in
            for round in 0..<20 {
                do {
                    if index == 0 {
                        #expect(try environment.inspectPages().damages == [])
                    } else {
                        try churnForInspection(
                            environment, seed: UInt64(index * 100 + round), commits: 1)
                    }
                } catch { Issue.record(error) }
            }
        }
    }
}
