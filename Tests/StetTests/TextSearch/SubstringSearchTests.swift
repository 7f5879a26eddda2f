import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Embedded struct SubstringAddress {
    @Attribute(.indexed(.substring)) var city: String = ""
}

@Model final class SubstringOwner {
    @Attribute(.indexed(.substring)) var name: String
    @Relationship(inverse: \SubstringPart.owner) var parts: ToMany<SubstringPart>
    init(name: String) { self.name = name }
}

@Model final class SubstringPart {
    @Attribute(.unique, .indexed(.substring)) var number: String
    @Attribute(.indexed(.substring), .hidden) var note: String?
    @Attribute(.indexed) var size: Int
    var address: SubstringAddress?
    var owner: SubstringOwner?

    init(_ number: String, size: Int) {
        self.number = number
        self.size = size
    }
}

/// Queries that an index of substrings answers, and what else the store does with the index.
@Suite struct SubstringSearchTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(
            at: directory.file(), for: SubstringPart.self, SubstringOwner.self)
        context = store.context(author: "author")
        for number in 0..<500 {
            context.insert(SubstringPart("part \(number) of 500", size: number % 10))
        }
        try context.save()
    }

    private func part(_ number: Int) throws -> SubstringPart {
        try #require(
            try context.object(SubstringPart.self, where: \.number, is: "part \(number) of 500"))
    }

    private func plan(
        _ condition: (SubstringPart.Fields) -> QueryExpression<Bool>
    ) throws -> String {
        let plan = try store.fetch(SubstringPart.self, where: condition).explain()
        return plan.split(separator: "\n").first.map(String.init) ?? ""
    }

    private func count(
        _ condition: (SubstringPart.Fields) -> QueryExpression<Bool>
    ) throws -> Int {
        try store.fetch(SubstringPart.self, where: condition).count()
    }

    @Test func theThreeSearchesUseTheIndex() throws {
        let name = "substrings (number): "
        #expect(
            try plan { $0.number.contains("t 42 o") } == name
                + "4 trigrams of \"t 42 o\": 1 of SubstringPart")
        #expect(
            try plan { $0.number.hasSuffix("99 of 500") } == name
                + "7 trigrams of \"99 of 500\": 5 of SubstringPart")
        #expect(
            try plan { $0.number.folded(.caseInsensitive).contains("T 42 O") } == name
                + "4 trigrams of \"T 42 O\": 1 of SubstringPart")
        let diacritics = try plan {
            $0.number.folded(.diacriticInsensitive).contains("t 4\u{301}2 ")
        }
        #expect(diacritics == name + "3 trigrams of \"t 4\u{301}2 \": 1 of SubstringPart")
        #expect(try count { $0.number.contains("t 42 o") } == 1)
        #expect(try count { $0.number.contains("T 42 O") } == 0)
        #expect(try count { $0.number.hasSuffix("99 of 500") } == 5)
        #expect(try count { $0.number.hasSuffix("99 of 50") } == 0)
        #expect(try count { $0.number.hasPrefix("art 42") } == 0)
        #expect(try count { $0.number.folded(.caseInsensitive).contains("T 42 O") } == 1)
    }

    @Test func theShorterPathIsTaken() throws {
        #expect(try plan { $0.number.hasPrefix("part 42") }.hasPrefix("unique (number): "))
        #expect(
            try plan { $0.number.contains("t 42 o") && $0.size == 2 }
                .hasPrefix("substrings (number)"))
        #expect(
            try plan { $0.number.contains("art") && $0.size == 2 } == "index (size): size is 2: "
                + "50 of SubstringPart")
        #expect(
            try plan { $0.number.contains("art") } == "look at all 500 records of SubstringPart")
        #expect(
            try plan { !$0.number.contains("t 42 o") }
                == "look at all 500 records of SubstringPart")
        #expect(try count { $0.number.contains("art") && $0.size == 2 } == 50)
        #expect(try count { !$0.number.contains("t 42 o") } == 499)
        let either = try plan { $0.number.contains("t 42 o") || $0.number.contains("t 43 o") }
        #expect(
            either == "substrings (number): 4 trigrams of \"t 42 o\"; or substrings (number): "
                + "4 trigrams of \"t 43 o\": 2 of SubstringPart")
        #expect(try count { $0.number.contains("t 42 o") || $0.number.contains("3 of") } == 51)
    }

    @Test func conditionsOfOtherObjectsUseTheirIndex() throws {
        let owner = SubstringOwner(name: "Ada Lovelace")
        try part(7).owner = owner
        try context.save()
        #expect(try count { $0.owner?.name.contains("Lovel") ?? false } == 1)
        let owners = store.fetch(SubstringOwner.self) { owner in
            owner.parts.any { $0.number.contains("rt 7 ") }
        }
        #expect(try owners.count() == 1)
        #expect(try owners.explain().contains("parts has a SubstringPart with number contains"))
    }

    @Test func optionalHiddenAndEmbeddedAttributesAreIndexed() throws {
        let part = try part(3)
        part.note = "kookaburra"
        part.address = SubstringAddress(city: "Winterthur")
        try context.save()
        #expect(
            try plan { $0.note.contains("kabur") }
                == "substrings (note): 3 trigrams of \"kabur\": 1 of SubstringPart")
        #expect(try count { $0.note.contains("kabur") } == 1)
        #expect(try count { $0.address?.city.hasSuffix("thur") ?? false } == 1)
        part.note = nil
        part.address = nil
        try context.save()
        #expect(try count { $0.note.contains("kabur") } == 0)
        #expect(try count { $0.address?.city.hasSuffix("thur") ?? false } == 0)
        #expect(try store.verify().problems == [])
    }

    @Test func searchesFollowUndoAndSeeThePast() throws {
        let before = context.revision
        try part(42).number = "another"
        try context.save()
        #expect(try count { $0.number.contains("t 42 o") } == 0)
        #expect(try count { $0.number.contains("nothe") } == 1)
        let view = try store.view(asOf: before)
        #expect(try view.fetch(SubstringPart.self) { $0.number.contains("t 42 o") }.count() == 1)
        #expect(try view.fetch(SubstringPart.self) { $0.number.contains("nothe") }.count() == 0)
        try store.undo(author: "author")
        #expect(try count { $0.number.contains("t 42 o") } == 1)
        try store.redo(author: "author")
        #expect(try count { $0.number.contains("nothe") } == 1)
        #expect(try store.verify().problems == [])
    }

    @Test func aRedactedTextIsNotFound() throws {
        let part = try part(8)
        part.note = "kookaburra"
        try context.save()
        let before = context.revision
        part.note = nil
        try context.save()
        let view = try store.view(asOf: before)
        #expect(try view.fetch(SubstringPart.self) { $0.note.contains("kabur") }.count() == 1)
        try store.requestRedaction(of: SubstringPart.self, id: part.id, \.note).confirm()
        #expect(try view.fetch(SubstringPart.self) { $0.note.contains("kabur") }.count() == 0)
        #expect(try store.verify().problems == [])
    }

    @Test func compactionKeepsTheIndex() throws {
        let copy = directory.file("copy.stet")
        try store.compact(to: copy)
        let compact = try Store.open(at: copy, for: SubstringPart.self, SubstringOwner.self)
        #expect(try compact.verify().problems == [])
        let parts = compact.fetch(SubstringPart.self) { $0.number.contains("t 42 o") }
        #expect(try parts.explain().hasPrefix("substrings (number)"))
        #expect(try parts.count() == 1)
    }

    @Test func aLiveQueryFollowsCommits() throws {
        let query = store.fetch(SubstringPart.self) { $0.number.contains("t 42 o") }
        var live = store.observe(query).makeAsyncIterator()
        #expect(try live.poll()?.result.map(\.number) == ["part 42 of 500"])
        context.insert(SubstringPart("part 42 or 43", size: 1))
        try context.save()
        #expect(try live.poll()?.result.map(\.number) == ["part 42 of 500", "part 42 or 43"])
    }
}
