import Stet
import Testing

private struct Color: CodableAttribute, Hashable {
    var red = 0
    var name: String?
}

@Model private final class Sample {
    var scores: [String: Int] = [:]
    var color: Color = Color()
    var other: Color?
    var colors: [Color] = []
    init() {}
}

/// Conditions for values that have no order: dictionaries, Codable values, arrays of these.
@Suite struct UnorderedValueTests {
    private let context: ManagedContext
    private let sample = Sample()

    init() throws {
        context = try Store.inMemory(for: Sample.self).context()
        sample.scores = ["a": 1]
        sample.color.red = 7
        sample.colors = [Color(red: 1)]
        context.insert(sample)
        context.insert(Sample())
        try context.save()
    }

    private func count(
        @QueryBuilder _ condition: (Sample.Fields) -> QueryExpression<Bool>
    ) throws -> Int { try context.fetch(Sample.self, where: condition).count() }

    @Test func valuesAreEqual() throws {
        #expect(try count { $0.scores == ["a": 1] } == 1)
        #expect(try count { $0.scores != ["a": 1] } == 1)
        #expect(try count { $0.scores == ["a": 2] } == 0)
        #expect(try count { $0.color == Color(red: 7) } == 1)
        #expect(try count { $0.color == Color(red: 7, name: "red") } == 0)
        #expect(try count { $0.colors == [Color(red: 1)] } == 1)
        #expect(try count { $0.colors == [] } == 1)
        #expect(try count { $0.other == nil } == 2)
        #expect(try count { $0.other != nil } == 0)
    }

    @Test func valuesAreAmongOthers() throws {
        let colors = [Color(red: 3), Color(red: 7)]
        #expect(try count { colors.contains($0.color) } == 1)
        #expect(try count { !colors.contains($0.color) } == 1)
        #expect(try count { [[Color(red: 1)], []].contains($0.colors) } == 2)
        #expect(try count { [["a": 1]].contains($0.scores) } == 1)
        #expect(try count { colors.contains($0.other) } == 0)
    }
}
