import Foundation
import Stet
import StetTestSupport
import Testing

/// Compares the walks of ARCHITECTURE.md with traces of the code.
struct ArchitectureWalkTests {
    /// A walk by the titles of its parts.
    enum Subject: String, CaseIterable, Codable {
        case save, read, members

        var titles: [String] {
            switch self {
            case .save: ["A save: the context", "A save: the writer"]
            case .read: ["A read: an object"]
            case .members: ["A read: members"]
            }
        }
    }

    @Test(arguments: Subject.allCases)
    func aWalkIsWhatTheCodeDoes(_ subject: Subject) async throws {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardOutputContent]
        ) { [subject = subject as Subject] in
            try print(Walk().trace(of: subject))
        }
        try compare(result, subject.titles)
    }

    /// Expects the trace to contain the functions of each walk, in its order.
    private func compare(_ result: ExitTest.Result?, _ titles: [String]) throws {
        let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
        let traces = output.components(separatedBy: "\n--\n").map {
            $0.split(separator: "\n").map(String.init)
        }
        try #require(traces.count == titles.count)
        // Writes the whole traces, for developers who change a walk.
        if let directory = ProcessInfo.processInfo.environment["STET_WALKS"] {
            for (title, trace) in zip(titles, traces) {
                try Data(trace.joined(separator: "\n").utf8)
                    .write(to: URL(fileURLWithPath: "\(directory)/\(title).txt"))
            }
        }
        for (title, trace) in zip(titles, traces) {
            let functions = try Self.functions(title)
            #expect(functions.count > 5, "\(title)")
            let places = functions.map { trace.firstIndex(of: $0) }
            for (function, place) in zip(functions, places) where place == nil {
                Issue.record("\(title): \(function) is not called")
            }
            let called = zip(functions, places).compactMap { name, place in place.map { ($0, name) }
            }
            #expect(called.map(\.1) == called.sorted { $0.0 < $1.0 }.map(\.1), "\(title)")
        }
    }

    /// Returns the functions of the code block below a title.
    private static func functions(_ title: String) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("ARCHITECTURE.md"), encoding: .utf8)
        let section = try #require(text.range(of: "**\(title)**"), "\(title)")
        let rest = text[section.upperBound...]
        let start = try #require(rest.range(of: "```text\n"))
        let end = try #require(rest[start.upperBound...].range(of: "```"))
        return rest[start.upperBound..<end.lowerBound].split(separator: "\n")
            .compactMap { $0.split(separator: " ").first.map(String.init) }
    }
}

/// A store with objects and relationships for a save and reads to be traced.
private struct Walk {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let crate: ObjectID

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Crates.Crate.self, Crates.Part.self, Crates.Mark.self,
            Crates.Petal.self)
        let context = store.context()
        let crate = Crates.Crate(name: "a")
        context.insert(crate)
        for number in 1...3 {
            let part = Crates.Part(name: "\(number)")
            part.crate = crate
            context.insert(part)
        }
        try context.save()
        self.crate = crate.id
    }

    func trace(of subject: ArchitectureWalkTests.Subject) throws -> String {
        switch subject {
        case .save: try save()
        case .read: try read()
        case .members: try members()
        }
    }

    /// Traces a blocking save: this thread first, then the one that commits, which is this one when
    /// the writer's sleeps.
    private func save() throws -> String {
        let context = store.context()
        let parts = try context.fetch(Crates.Part.self).all()
        let crate = try context.fetch(Crates.Crate.self).all()[0]
        parts[0].name = " trimmed "
        crate.shelf.append(parts[1])
        crate.pins.append(parts[1])
        context.delete(parts[2])
        let part = Crates.Part(name: "new")
        part.crate = crate
        part.key = "key"
        context.insert(part)
        let trace = try CallTrace { try context.save() }
        let isHere = trace.here.contains("WriterThread.commitBatch")
        let writer = isHere ? trace.here : trace.elsewhere
        return trace.here.joined(separator: "\n") + "\n--\n" + writer.joined(separator: "\n")
    }

    private func read() throws -> String {
        let context = store.context()
        let trace = try CallTrace { _ = try context.object(Crates.Crate.self, id: crate) }
        return trace.here.joined(separator: "\n")
    }

    private func members() throws -> String {
        let context = store.context()
        let crate = try context.object(Crates.Crate.self, id: crate)
        let trace = try CallTrace { for part in crate!.parts { _ = part.name } }
        return trace.here.joined(separator: "\n")
    }
}
