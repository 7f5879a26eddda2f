import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Embedded private struct Spot: EmbeddedValue, Hashable {
    @Attribute(.unique) var code: String?
    var city: String = ""
}

@Embedded private struct Mark: EmbeddedValue, Hashable {
    var text: String
}

@Model private final class Sample {
    @Attribute(.unique) var name: String
    @Attribute(.counter) var count: Int = 1
    var spot: Spot?
    var marks: [Mark] = []
    var secret: Sealed<String>?
    var file: LargeData?
    var alias: String?
    @Derived var title: String { (alias ?? name) + "!" }
    @Attribute(.unique) @Derived var key: String { alias ?? name }

    init(_ name: String) { self.name = name }
}

/// Insertion of streams of objects with values of each kind, some of which exist already.
@Suite struct InsertStreamValueTests {
    private let directory = TemporaryDirectory()
    private let keys: KeyFile
    private let store: Store

    init() async throws {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
        var configuration = Store.Configuration()
        configuration.keys = keys
        store = try Store.open(
            at: directory.file(), for: Sample.self, configuration: configuration)
        let context = store.context()
        let sample = Sample("a")
        fill(sample, 0)
        context.insert(sample)
        try await context.save()
    }

    private func fill(_ sample: Sample, _ number: Int) {
        sample.spot = Spot(code: "\(sample.name)\(number)", city: "city \(number)")
        sample.marks.append(Mark(text: "\(number)"))
        sample.secret = Sealed("secret \(number)")
        sample.file = try? LargeData(Gallery.bytes(70_000, number), in: store)
    }

    private func stream(_ lines: [String]) -> AsyncStream<(number: Int, name: String)> {
        AsyncStream { continuation in
            for (index, line) in lines.enumerated() { continuation.yield((index + 1, line)) }
            continuation.finish()
        }
    }

    /// Takes every value over.
    private static func take(_ existing: Sample, _ new: Sample) {
        existing.count += new.count
        existing.spot = new.spot
        existing.marks += new.marks
        existing.secret = new.secret
        existing.file = new.file
    }

    /// All samples in the order of their names, as text; the last number of each value.
    private var samples: [String] {
        get throws {
            try store.fetch(Sample.self).sorted(by: \.name).all().map { sample in
                let number = try sample.secret?.value.split(separator: " ").last ?? "-"
                let bytes = try sample.file?.data(in: store)
                #expect(bytes == Gallery.bytes(70_000, Int(number) ?? 0))
                #expect(sample.title == sample.key + "!")
                let marks = sample.marks.map(\.text).joined(separator: ",")
                return [
                    sample.name, "\(sample.count)", sample.spot?.code ?? "-",
                    sample.spot?.city ?? "-", marks, "\(number)", sample.title,
                ].joined(separator: " ")
            }
        }
    }

    @Test(
        "Service 4 update takes over embedded, sealed and large values, and adds to counters",
        arguments: [1, 2, 10])
    func allValues(batch: Int) async throws {
        let first = try samples
        let count = try await store.insert(
            stream: stream(["b", "a", "b", "c", "a", "b"]), author: "me", batch: batch,
            onConflict: .update(Self.take)
        ) { element in
            let sample = Sample(element.name)
            fill(sample, element.number)
            return sample
        }
        #expect(count == 2)
        let expected = [
            "a 3 a5 city 5 0,2,5 5 a!", "b 3 b6 city 6 1,3,6 6 b!", "c 1 c4 city 4 4 4 c!",
        ]
        #expect(try samples == expected)
        #expect(try store.verify().problems == [])
        try await store.undo(author: "me")
        #expect(try samples == first)
        #expect(try store.verify().problems == [])
        try await store.redo(author: "me")
        #expect(try samples == expected)
        #expect(try store.verify().problems == [])
    }

    @Test(
        "Service 4 a counter has the increments of the stream and those of others, also after undo",
        arguments: [1, 2, 10])
    func counters(batch: Int) async throws {
        let store = store
        func count() throws -> [Int] {
            try store.fetch(Sample.self).sorted(by: \.name).all().map(\.count)
        }
        try await store.insert(
            stream: stream(["a", "b", "a", "b", "a"]), author: "me", batch: batch,
            onConflict: .update { existing, new in existing.count += new.count }
        ) { element in
            try store.edit(author: "other") { context in
                try context.object(Sample.self, where: \.name, is: "a")?.count += 100
            }
            let sample = Sample(element.name)
            sample.count = 1 << element.number
            return sample
        }
        // The stream adds 2, 8 and 32 to "a", and 16 to the 4 of "b".
        #expect(try count() == [1 + 500 + 42, 20])
        try await store.undo(author: "me")
        #expect(try count() == [501])
        try await store.redo(author: "me")
        #expect(try count() == [543, 20])
        #expect(try store.verify().problems == [])
    }

    @Test(
        "Service 4 unique derived attributes and members of embedded values count, too",
        arguments: [1, 2, 10])
    func otherUniqueValues(batch: Int) async throws {
        let count = try await store.insert(
            stream: stream(["x:a", "y:q", "z:q", "w#a0", "v#n", "u#n"]), batch: batch,
            onConflict: .update { existing, new in existing.marks += new.marks }
        ) { element in
            let sample = Sample(String(element.name.prefix(1)))
            let value = String(element.name.dropFirst(2))
            if element.name.contains(":") { sample.alias = value }
            if element.name.contains("#") { sample.spot = Spot(code: value) }
            sample.marks = [Mark(text: sample.name)]
            return sample
        }
        #expect(count == 2)
        let found = try store.fetch(Sample.self).sorted(by: \.name).all()
        #expect(found.map(\.name) == ["a", "v", "y"])
        #expect(
            found.map { $0.marks.map(\.text) } == [["0", "x", "w"], ["v", "u"], ["y", "z"]])
        #expect(found.map(\.key) == ["a", "v", "q"])
        #expect(try store.verify().problems == [])
    }
}
