import Foundation
import StetStore
import StetTestSupport
import Testing

/// Arrays of embedded values in the tool: lists of objects.
struct EmbeddedArraysTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    init() throws {
        let lines = EmbeddedElements(
            members: [
                Property(name: "id", type: .int),
                Property(name: "article", type: .string, rules: [.notEmpty]),
                Property(name: "price", type: .double, isOptional: true),
                Property(name: "tags", type: .list, elements: [.string]),
            ], identity: 0)
        let order = Entity(
            name: "Order",
            properties: [
                Property(name: "number", type: .int),
                Property(name: "lines", type: .list, elements: [.embedded]).array(of: lines),
            ])
        file = try StoreFile.open(
            at: directory.file("orders.stet"), schema: try Schema(entities: [order]))
        let outcome = try importing(
            """
            {"number":1,"lines":[{"id":1,"article":"nut","tags":[]},
            """ + """
                {"id":2,"article":"saw","price":2.5,"tags":["a"]}]}
                {"number":2,"lines":[]}

                """)
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 2 inserted\n"))
    }

    private func importing(_ text: String) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Order", path, "--without-validators"]
        ).outcome()
    }

    private func numbers(_ condition: String) throws -> [String] {
        let outcome = try Tool.run("query", file.path, "Order", condition, "--format", "csv")
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: ",").dropFirst().first.map(String.init)
        }
    }

    @Test func conditionsTestElements() throws {
        #expect(try numbers("any lines { article == \"saw\" && price > 2 }") == ["1"])
        #expect(try numbers("any lines { article == \"nut\" && price != nil }") == [])
        #expect(try numbers("all lines { id > 5 }") == ["2"])
        #expect(try numbers("lines.count == 2") == ["1"])
        #expect(try numbers("any lines { id == 2 } || number == 2") == ["1", "2"])
        let unknown = try Tool.run("query", file.path, "Order", "any lines { size == 1 }")
        #expect(unknown.status != 0)
        #expect(unknown.errors.contains("the element has no property size"), "\(unknown)")
        let whole = try Tool.run("query", file.path, "Order", "lines.size == 1")
        #expect(
            whole.errors.contains("expected lines.count, lines.sum(…), or any lines"), "\(whole)")
    }

    @Test func arraysAreShownAndExchanged() throws {
        let dumped = try Tool.run("dump", file.path).output
        #expect(dumped.contains("\"article\":\"saw\""), "\(dumped)")
        let exported = try Tool.run("export", file.path, "Order").output
        #expect(exported.contains("\"price\":2.5"), "\(exported)")
        let again = try importing(exported)
        #expect(again == Tool.Outcome(status: 0, output: "2 unchanged\n"))
        for wrong in [
            "{\"id\":1,\"article\":\"nut\"}", "{\"id\":1,\"article\":\"\",\"tags\":[]}",
            "{\"id\":1,\"article\":\"a\",\"tags\":[],\"size\":1}", "3",
        ] {
            let refused = try importing("{\"number\":3,\"lines\":[\(wrong)]}\n")
            #expect(refused.status != 0, "\(wrong)")
            #expect(refused.output.contains("lines"), "\(refused)")
        }
    }
}
