import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The ids of pages.
enum PageIDs: CaseIterable {
    /// All first halves are equal.
    case alike
    /// All first halves differ.
    case different
    /// Four pages each have the same first half, and the second half of one of these is 0.
    case mixed

    func id(_ number: Int) -> ObjectID {
        switch self {
        case .alike: .fixed(number)
        case .different: ObjectID(high: UInt64(number), low: 7)
        case .mixed: ObjectID(high: UInt64(number / 4 + 1), low: UInt64(number % 4))
        }
    }

    func number(_ id: ObjectID) -> Int {
        switch self {
        case .alike: Int(id.low & 0xffff_ffff)
        case .different: Int(id.high)
        case .mixed: Int(id.high - 1) * 4 + Int(id.low)
        }
    }
}

/// A store of pages with texts, for the tests of an index of their words or trigrams.
struct PageStore {
    let schema: Schema
    let file: StoreFile
    private let ids: PageIDs
    private let directory: StoreDirectory

    /// Creates a store; the title is in slot 0, the text in slot 1.
    init(_ indexes: EntityIndex..., ids: PageIDs = .alike) throws {
        schema = try Self.schema(indexes)
        self.ids = ids
        directory = try StoreDirectory()
        file = try StoreFile.open(at: directory.file(), schema: schema, .small())
    }

    static func schema(_ indexes: [EntityIndex]) throws -> Schema {
        try Schema(entities: [
            Entity(
                name: "Page",
                properties: [
                    Property(name: "title", type: .string),
                    Property(name: "text", type: .string, isOptional: true),
                ], indexes: indexes)
        ])
    }

    func page(_ number: Int) -> ObjectKey { ObjectKey(1, ids.id(number)) }

    func values(_ title: String, _ text: String? = nil) -> [Value] {
        [.string(title), text.map(Value.string) ?? .null]
    }

    func number(_ id: ObjectID) -> Int { ids.number(id) }

    /// Returns the pages that fulfil a condition.
    func found(_ condition: QueryNode) throws -> [Int] {
        try run(condition) { try $0.rows().map { number($0.id) } }
    }

    /// Runs a query for the pages that fulfil a condition.
    func run<Result>(
        _ condition: QueryNode, _ body: (QueryRun) throws -> Result
    ) throws -> Result {
        try file.read { reader in
            var query = StoreQuery(entity: 1)
            query.condition = condition
            let view = QueryState.View(
                WorkingState(file.schema, at: try reader.head().revision))
            return try body(QueryRun(QueryState(reader, view), query))
        }
    }

    /// Makes 60 random commits, some of which bring pages back; verifies the store, and calls
    /// `check` with all pages, after each.
    ///
    /// The titles are four pieces with `separator` between them; a text is that of `text`, or
    /// absent.
    func editPages(
        seed: UInt64, separator: String, text: (_ title: String) -> String,
        check: (_ pages: [Int: [Value]]) throws -> Void
    ) throws {
        var random = SeededGenerator(seed: seed)
        var pages: [Int: (values: [Value], base: Revision)] = [:]
        var gone: [Int: Revision] = [:]
        var step = 0
        while step < 60 {
            var edits: [Edit] = []
            var after = pages
            for number in Set((0..<4).map { _ in Int.random(in: 1...40, using: &random) }).sorted()
            {
                if gone[number] != nil, Int.random(in: 0..<3, using: &random) > 0 { continue }
                let old = pages[number]
                let isGone = old != nil && Int.random(in: 0..<8, using: &random) == 0
                let title = (0..<4).map { _ in
                    ["a", "ab", "abc", "b", "ba"].randomElement(using: &random) ?? ""
                }.joined(separator: separator)
                let present = values(title, Bool.random(using: &random) ? text(title) : nil)
                let new = isGone ? nil : present
                if let old, old.values == new { continue }
                let revision = Revision(UInt64(step + 1))
                let base = old?.base ?? gone.removeValue(forKey: number) ?? .zero
                if isGone { gone[number] = revision }
                edits.append(Edit(page(number), from: old?.values, to: new, base: base))
                after[number] = new.map { ($0, revision) }
            }
            if edits.isEmpty { continue }
            step += 1
            _ = try file.commit(edits)
            pages = after
            try #require(try file.verify().problems == [])
            try check(pages.mapValues(\.values))
        }
    }

    /// Expects that damage to any byte of the index, and a missing entry, is reported.
    func expectDamageIsReported(entryCount: Int) throws {
        let entries = try #require(try file.dump()["indexes"])
        #expect(entries.count == entryCount)
        for (key, value) in entries {
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1 << UInt8(index % 8)
                try file.tamper("indexes", key, damaged)
                #expect(try !file.verify().problems.isEmpty)
            }
            try file.tamper("indexes", key, nil)
            #expect(try !file.verify().problems.isEmpty)
            try file.tamper("indexes", key, value)
            #expect(try file.verify().problems == [])
        }
    }
}
