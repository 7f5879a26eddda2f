import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

private let isPythonThere = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":")
    .contains { FileManager.default.isExecutableFile(atPath: "\($0)/python3") }

/// The reader of the file format in Python, which uses neither Stet nor LMDB, beside the tool:
/// `docs/FileFormat.md` contains all that a reader needs.
@Suite(.enabled(if: isPythonThere, "python3 is missing"))
struct FormatReaderTests {
    /// The folder of the tests.
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let goldens = tests.appendingPathComponent("StetStoreTests/Resources").path
    private static let names =
        ((try? FileManager.default.contentsOfDirectory(atPath: goldens)) ?? [])
        .filter { $0.hasSuffix(".stet") }.sorted()

    private let directory = TemporaryDirectory()

    private func read(_ path: String) throws -> ChildProcess.Outcome {
        let script = Self.tests.appendingPathComponent("FormatReader/read_store.py").path
        return try ChildProcess.run(["python3", script, path], program: "/usr/bin/env")
    }

    private func copy(_ name: String) throws -> String {
        let path = directory.file(name)
        try FileManager.default.copyItem(atPath: "\(Self.goldens)/\(name)", toPath: path)
        return path
    }

    /// Expects the reader and the tool to write the same objects; returns their number.
    private func compare(_ path: String) throws -> Int {
        let read = try read(path)
        #expect(read.status == 0)
        let dumped = try Tool.run("dump", path)
        #expect(dumped.status == 0)
        let objects = dumped.output.split(separator: "\n").map { JSON(text: String($0)) }
        #expect(!objects.contains(nil))
        #expect(read.lines.map { JSON(text: $0) } == objects)
        return objects.count
    }

    @Test(arguments: names)
    func theReaderFindsTheObjectsOfAGoldenStore(name: String) throws {
        #expect(try compare(copy(name)) > 0)
    }

    @Test func theReaderFindsTheMembersOfOptionalValuesThatWereMigrated() throws {
        let properties = [
            Property(name: "name", type: .string),
            Property(name: "site", type: .bool, isOptional: true),
            Property(name: "site.city", type: .string, isOptional: true, rules: [.required]),
        ]
        let added = Property(
            name: "site.land", type: .string, isOptional: true, rules: [.required])
        func open(_ properties: [Property], _ origins: SchemaOrigins) throws -> StoreFile {
            try StoreFile.open(
                at: directory.file("people.stet"),
                schema: try Schema(entities: [Entity(name: "Person", properties: properties)]),
                origins: origins)
        }
        let first = try open(properties, SchemaOrigins())
        let path = directory.file("lines.jsonl")
        try "{\"name\":\"Ann\",\"site.city\":\"Bern\"}\n{\"name\":\"Bob\"}\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try Tool.run(
            "import", first.path, "Person", path, "--without-validators")
        #expect(outcome.status == 0, "\(outcome)")
        first.close()
        var origins = SchemaOrigins()
        origins.defaults["Person"] = ["site.land": { .string("CH") }]
        let second = try open(properties + [added], origins)
        #expect(try compare(second.path) == 2)
        let dumped = try Tool.run("dump", second.path).output
        #expect(dumped.components(separatedBy: "\"CH\"").count == 2, "\(dumped)")
    }

    @Test func theReaderPassesOverExpressions() throws {
        let (first, age) = (QueryNode.property(.root, slot: 0), QueryNode.property(.root, slot: 1))
        let greeting = QueryNode.arithmetic(
            .add, .constant(.string("Dear ")), .coalesced(first, .constant(.string("friend"))))
        let isAdult = QueryNode.comparison(.greaterOrEqual, age, .constant(.int(18)))
        let hasName = QueryNode.not(.isIn(first, [.null, .string("")]))
        let properties = [
            Property(name: "first", type: .string, isOptional: true),
            Property(name: "age", type: .int),
            Property(name: "greeting", type: .string).derived(by: greeting),
        ]
        let indexes = [
            EntityIndex([.init(slot: 0)]).only(where: .all([isAdult, hasName])),
            EntityIndex([.init(slot: 1)]),
        ]
        let person = Entity(name: "Person", properties: properties, indexes: indexes)
        let file = try StoreFile.open(
            at: directory.file("people.stet"), schema: try Schema(entities: [person]))
        let path = directory.file("lines.jsonl")
        try "{\"first\":\"Ann\",\"age\":18}\n{\"age\":3}\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try Tool.run("import", file.path, "Person", path, "--without-validators")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try compare(file.path) == 2)
        #expect(try Tool.run("dump", file.path).output.contains("Dear friend"))
    }

    @Test func thereAreGoldenStores() {
        #expect(Self.names.count >= 9)
    }

    @Test func theReaderFindsValuesOfEveryTypeAndMembersInTheirOrder() throws {
        let library = try Library()
        try library.fill()
        // The tool's JSON treats canonically equivalent keys as one member.
        try library.insertEverything(except: .dictionary)
        let dates: [Value: Value] = [
            .string("a"): .date(Date(timeIntervalSinceReferenceDate: 0.1)),
            .string("b"): .date(.distantPast),
        ]
        try library.insert([("Everything", 90, ["dictionary": .dictionary(dates)])])
        #expect(try compare(library.path) == library.bodies().count)
    }

    @Test func theReaderRefusesAnEntryThatHasChanged() throws {
        let path = try copy("golden-records.stet")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let label = try #require(bytes.range(of: Data("and once more".utf8)))
        bytes[label.lowerBound] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let outcome = try read(path)
        #expect(outcome.status == 1)
        #expect(outcome.lines == [])
    }
}
