import Stet
import StetTestSupport
import Testing

private enum First {
    @Model final class Row {
        @Attribute(.unique) var number: Int

        init(number: Int) { self.number = number }
    }
}

private enum Second {
    @Model final class Row {
        @Attribute(.unique) var number: Int
        var note: String = ""

        init(number: Int) { self.number = number }
    }
}

/// Steps of migrations that move unique values from object to object.
@Suite struct MovedValuesMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }
    /// More than `forEach` saves at once.
    private static let count = 1_500

    private func makeRows() throws {
        let store = try Store.open(at: path, for: First.Row.self)
        defer { store.close() }
        try store.edit { context in
            for number in 1...Self.count { context.insert(First.Row(number: number)) }
        }
    }

    private func migrate(_ step: @escaping @Sendable (MigrationPlan.Step) throws -> Void) throws
        -> [Int]
    {
        let plan = MigrationPlan(.version(First.Row.self), .version(Second.Row.self, step: step))
        let store = try Store.open(at: path, migrating: plan)
        #expect(try store.verify().problems == [])
        return try store.fetch(Second.Row.self).all().map(\.number)
    }

    @Test func oneSaveMovesThem() throws {
        try makeRows()
        let numbers = try migrate { step in
            try step.edit { _, new in
                for row in try new.fetch(Second.Row.self).all() { row.number += 1 }
            }
        }
        #expect(numbers == Array(2...Self.count + 1))
    }

    @Test func severalSavesAreRefusedAndChangeNothing() throws {
        try makeRows()
        let error = #expect(throws: ValidationError.self) {
            try migrate { step in
                try step.forEach(First.Row.self, Second.Row.self) { old, new in
                    new.number = old.number + 1
                }
            }
        }
        #expect(error?.violations.first?.code == .notUnique)
        let store = try Store.open(at: path, for: First.Row.self)
        #expect(try store.fetch(First.Row.self).all().map(\.number) == Array(1...Self.count))
    }
}
