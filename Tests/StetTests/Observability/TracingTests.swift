import InMemoryTracing
import Stet
import StetTestModels
import StetTestSupport
import Testing
import Tracing

@Model private final class Old {
    var name: String = ""
    init() {}
}

/// The spans of a store.
@Suite struct TracingTests {
    private let tracer = InMemoryTracer()
    private let directory = TemporaryDirectory()

    private func configuration(_ durability: Durability = .synced) -> Store.Configuration {
        var configuration = Store.Configuration()
        configuration.tracer = tracer
        configuration.durability = durability
        return configuration
    }

    /// The names of the spans that have ended, each with that of its parent, in the order of their
    /// ends.
    private func spans() -> [String] {
        let spans = tracer.popFinishedSpans()
        return spans.map { span in
            let parent = spans.first { $0.spanID == span.parentSpanID }
            let name = span.operationName
            return parent.map { "\($0.operationName) > \(name)" } ?? name
        }
    }

    @Test("Service 11 a save is a span with its phases, however it is made")
    func saves() async throws {
        let store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration())
        _ = tracer.popFinishedSpans()
        let phases = [
            "stet.save.prepare > stet.save.settle", "stet.save.prepare > stet.save.validate",
            "stet.save > stet.save.prepare", "stet.save > stet.save.commit", "stet.save",
        ]
        let context = store.context()
        context.insert(Article(title: "a"))
        _ = try { try context.save() }()
        #expect(spans() == phases)
        context.insert(Article(title: "b"))
        _ = try await context.save()
        #expect(spans() == phases)
        context.insert(Article(title: ""))
        #expect(throws: ValidationError.self) { () throws in _ = try { try context.save() }() }
        let refused = tracer.finishedSpans
        #expect(refused.last?.operationName == "stet.save")
        #expect(refused.last?.errors.count == 1)
        #expect(
            spans() == [
                "stet.save.prepare > stet.save.settle", "stet.save.prepare > stet.save.validate",
                "stet.save > stet.save.prepare", "stet.save",
            ])
        let nothing = try { try context.save() }()
        #expect(nothing == nil)
        #expect(spans().last == "stet.save")
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("Service 11 a query is a span with its model, below the span of the caller")
    func queries() throws {
        let store = try Store.inMemory(
            for: Notebook.self, Article.self, configuration: configuration())
        _ = tracer.popFinishedSpans()
        try tracer.withSpan("request") { _ in
            _ = try store.fetch(Article.self) { $0.rating > 1 }.all()
            _ = try store.context().fetch(Notebook.self).count()
        }
        #expect(
            tracer.finishedSpans.map { $0.attributes.get("stet.entity") } == [
                .string("Article"), .string("Notebook"), nil,
            ])
        #expect(spans() == ["request > stet.query", "request > stet.query", "request"])
    }

    @Test("Service 11 migrations and checkpoints are spans")
    func migrationsAndCheckpoints() throws {
        try Store.open(at: directory.file(), for: Old.self, configuration: configuration()).close()
        #expect(spans() == [])
        var changed = configuration()
        changed.removedModels = ["Old"]
        try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: changed
        ).close()
        #expect(Set(spans()) == ["stet.migrate"])
        let store = try Store.open(
            at: directory.file("logged"), for: Notebook.self, Article.self,
            configuration: configuration(.logged))
        for number in 0..<1_100 {
            try store.edit { $0.insert(Article(title: "\(number)")) }
        }
        store.close()
        #expect(spans().contains("stet.checkpoint"))
    }
}
