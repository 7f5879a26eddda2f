import Foundation
import StetStore
import StetTestSupport
import Testing

/// Large data that is exported to a folder, and imported from it, while the disk fails or is full
/// at each call in turn, and processes that are killed there.
struct FailingLargeDataTests {
    private let directory = TemporaryDirectory()
    private let first: StoreFile
    /// The contents, of several chunks and of one, by the names of their files.
    private var contents: [String: [UInt8]] = [:]
    /// The export of the objects.
    private let lines: String

    init() throws {
        first = try Self.store(directory.file("first.stet"))
        lines = directory.file("lines.jsonl")
        var rows = ""
        for (number, byteCount) in [1_300_000, 70_000, 3].enumerated() {
            let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
            let writer = try LargeValueWriter(first)
            try bytes.withUnsafeBytes(writer.append)
            let value = try writer.finish()
            contents[value.digest.hexadecimal] = bytes
            let text = Data(value.stored).base64EncodedString()
            rows += "{\"id\":\"\(Self.id(number))\",\"photo\":\"\(text)\"}\n"
        }
        try rows.write(toFile: lines, atomically: true, encoding: .utf8)
        let outcome = try importing(into: first.path)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private static func id(_ number: Int) -> String {
        "01900000-0000-7000-8000-00000000000\(number)"
    }

    private static func store(_ path: String) throws -> StoreFile {
        let person = Entity(
            name: "Person",
            properties: [Property(name: "photo", type: .data, isOptional: true, isLarge: true)])
        return try StoreFile.open(at: path, schema: try Schema(entities: [person]))
    }

    /// A call that fails, and how.
    struct Failure: Sendable, CustomTestStringConvertible {
        let call: String
        let error: String
        /// Whether every later call of that name fails, too.
        let isSticky: Bool

        init(_ call: String, _ error: String, isSticky: Bool = false) {
            (self.call, self.error, self.isSticky) = (call, error, isSticky)
        }

        /// Whether the tool carries on.
        var isHarmless: Bool { ["short", "EINTR"].contains(error) }
        var testDescription: String { "\(call) \(error)\(isSticky ? " from then on" : "")" }

        func environment(_ path: String, _ log: String, at number: Int) -> [String: String] {
            [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_FAIL_FILE": path, "STET_FAIL_LOG": log, "STET_FAIL_CALL": call,
                "STET_FAIL_AT": "\(number)", "STET_FAIL_ERROR": error,
                "STET_FAIL_STICKY": isSticky ? "1" : "0",
            ]
        }
    }

    /// Runs the tool, in which a call on files that begin with a path fails; returns its outcome,
    /// and whether the call was made.
    private func run(
        _ arguments: [String], _ failure: Failure, _ path: String, at number: Int
    ) throws -> (outcome: Tool.Outcome, hasFailed: Bool) {
        let log = directory.file("calls")
        try? FileManager.default.removeItem(atPath: log)
        let environment = failure.environment(path, log, at: number)
        let outcome = try Tool.Running(arguments, environment: environment).outcome()
        let calls = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return (outcome, calls.split(separator: "\n").contains { !$0.hasSuffix(" passed") })
    }

    private func importing(into path: String, _ options: String...) throws -> Tool.Outcome {
        try Tool.Running(["import", path, "Person", lines, "--without-validators"] + options)
            .outcome()
    }

    // MARK: Export

    /// Checks that the files of a folder are whole; returns how many there are.
    private func wholeFileCount(_ folder: String, allowsDrafts: Bool) throws -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let whole = names.filter { !$0.contains(".new-") }
        #expect(allowsDrafts || whole == names, "\(names)")
        for name in whole {
            let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
            #expect(Array(bytes) == contents[name], "\(name)")
        }
        return whole.count
    }

    @Test(arguments: [
        Failure("write", "ENOSPC"), Failure("write", "EIO"), Failure("write", "short"),
        Failure("write", "killed"), Failure("fdatasync", "EIO"), Failure("fdatasync", "ENOSPC"),
        Failure("fdatasync", "persisted"), Failure("fdatasync", "killed"),
        Failure("open", "ENOSPC"), Failure("open", "EMFILE"),
    ])
    func anExportLeavesWholeFilesOnly(_ failure: Failure) throws {
        var failureCount = 0
        for number in 1... {
            let folder = directory.file("photos-\(number)")
            let arguments = ["export", first.path, "Person", "--large-data", folder]
            let (outcome, hasFailed) = try run(arguments, failure, folder, at: number)
            let isKilled = failure.error == "killed"
            _ = try wholeFileCount(folder, allowsDrafts: isKilled && hasFailed)
            if hasFailed, !failure.isHarmless {
                failureCount += 1
                if !isKilled {
                    #expect(outcome.status == 74, "\(outcome)")
                    let hint = "\(folder)/"
                    #expect(outcome.errors.contains(hint), "\(outcome.errors)")
                    #expect(!outcome.errors.contains("The store"), "\(outcome.errors)")
                    #expect(!outcome.errors.contains(".new-"), "\(outcome.errors)")
                }
            } else {
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            let again = try Tool.Running(arguments).outcome()
            #expect(again.status == 0, "\(again.errors)")
            #expect(try wholeFileCount(folder, allowsDrafts: false) == contents.count)
            if !hasFailed { break }
            if failure.isHarmless { failureCount += 1 }
        }
        #expect(failureCount > 0)
    }

    // MARK: Import

    @Test(arguments: [
        Failure("pwrite", "ENOSPC"), Failure("pwrite", "EIO"), Failure("pwrite", "short"),
        Failure("pwrite", "killed"), Failure("fdatasync", "EIO"), Failure("fdatasync", "killed"),
        Failure("ftruncate", "ENOSPC"), Failure("pwrite", "ENOSPC", isSticky: true),
        Failure("fdatasync", "EIO", isSticky: true),
    ])
    func anImportIsMadeAsAWholeOrNotAtAll(_ failure: Failure) throws {
        let folder = directory.file("photos")
        #expect(try Tool.run("export", first.path, "--large-data", folder).status == 0)
        for number in 1... {
            let path = directory.file("store-\(number).stet")
            try Self.store(path).close()
            let arguments = [
                "import", path, "Person", lines, "--without-validators", "--large-data", folder,
            ]
            let (outcome, hasFailed) = try run(arguments, failure, path, at: number)
            let revision = try check(path)
            #expect(outcome.status != 0 || revision == 1, "\(outcome.errors)")
            if hasFailed, outcome.status != 0, failure.error != "killed" {
                #expect(outcome.status == 74, "\(outcome)")
                #expect(outcome.errors.contains(path), "\(outcome.errors)")
            }
            if revision == .zero {
                let again = try importing(into: path, "--large-data", folder)
                #expect(again.status == 0, "\(again.errors)")
                #expect(try check(path) == 1)
            }
            if !hasFailed { break }
        }
    }

    @Test(arguments: [Failure("open", "EIO"), Failure("open", "EMFILE")])
    func anImportOfBytesThatCannotBeReadWritesNothing(_ failure: Failure) throws {
        let folder = directory.file("photos")
        #expect(try Tool.run("export", first.path, "--large-data", folder).status == 0)
        let path = directory.file("second.stet")
        try Self.store(path).close()
        for number in 1...contents.count {
            let arguments = [
                "import", path, "Person", lines, "--without-validators", "--large-data", folder,
            ]
            let (outcome, hasFailed) = try run(arguments, failure, folder, at: number)
            // What an earlier attempt has written is not read again.
            if !hasFailed { break }
            #expect(outcome.status == 74, "\(outcome)")
            #expect(outcome.errors.contains("The file \(folder)/"), "\(outcome.errors)")
            #expect(outcome.errors.contains("can't be read"), "\(outcome.errors)")
            #expect(try check(path) == .zero)
        }
        #expect(try importing(into: path, "--large-data", folder).status == 0)
        #expect(try check(path) == 1)
    }

    /// Checks that a store has all objects with their large data, or none; returns its revision.
    private func check(_ path: String) throws -> Revision {
        let file = try StoreFile.open(at: path)
        defer { file.close() }
        #expect(try file.verify().problems == [])
        let revision = try file.head().revision
        var found: Set<[UInt8]> = []
        var values: [LargeValue] = []
        try file.read { reader in
            try reader.forEachRecord(ofEntity: 1, asOf: .max) { _, record in
                let body = try RecordBody(record.body, of: file.schema.entities[0])
                if case .data(let data) = try body.value(0),
                    let value = data.withUnsafeBytes({ LargeValue(stored: $0) })
                {
                    values.append(value)
                }
                return true
            }
        }
        for value in values {
            var bytes: [UInt8] = []
            try LargeValueReader(file).read(value, 0..<value.byteCount) { bytes += $0 }
            found.insert(bytes)
        }
        #expect(found == (revision == .zero ? [] : Set(contents.values)))
        return revision
    }
}
