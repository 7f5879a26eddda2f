import Stet
import StetTestSupport
import Testing

@Model private final class Part {
    #Index<Part>(\.box, \.name)

    @Attribute(.indexed) var name: String
    @Relationship(inverse: \Part.users) var needs: ToMany<Part>
    var users: ToMany<Part>
    var box: Crate?

    init(_ name: String) { self.name = name }
}

@Model private final class Crate {
    @Attribute(.indexed) var label: String
    @Relationship(inverse: \Part.box) var parts: ToMany<Part>

    init(_ label: String) { self.label = label }
}

/// Conditions over relationships begin at the end that finds few objects.
@Suite struct RelationshipPlanTests {
    private let store: Store
    private let context: ManagedContext

    /// A chain of 200 parts, each of which needs the one before it; "hub" is needed by every tenth.
    init() throws {
        store = try Store.inMemory(for: Part.self, Crate.self)
        context = store.context()
        let hub = Part("hub")
        let crates = (0..<5).map { Crate("crate \($0)") }
        let parts = (0..<200).map { Part("part \($0)") }
        context.insert(hub)
        for (number, part) in parts.enumerated() {
            context.insert(part)
            part.box = crates[number % 5]
            if number > 0 { part.needs.append(parts[number - 1]) }
            if number % 10 == 0 { part.needs.append(hub) }
        }
        try context.save()
    }

    private func names(_ fetch: Fetch<Part>) throws -> [String] {
        try fetch.sorted(by: \.name).all().map(\.name)
    }

    private var threeSteps: Fetch<Part> {
        context.fetch(Part.self) {
            $0.needs.any { $0.needs.any { $0.needs.any { $0.name == "part 50" } } }
        }
    }

    @Test func aChainOfMembersBeginsAtTheInnermostCondition() throws {
        #expect(
            try threeSteps.explain() == """
                needs has a Part with needs.any { needs.any { name == "part 50" } }: 1 of Part
                test: needs.any { needs.any { needs.any { name == "part 50" } } }
                """)
        #expect(try names(threeSteps) == ["part 53"])
    }

    @Test func anAnalysisSaysHowMuchWasRead() throws {
        func readCount(_ text: String) throws -> Int {
            let line = try #require(text.split(separator: "\n").last)
            let pattern = /found (\d+), after reading (\d+) records, .* in [\d.]+ ms/
            let found = try #require(try pattern.wholeMatch(in: line))
            #expect(found.output.1 == "1")
            return try #require(Int(found.output.2))
        }
        let plan = try threeSteps.explain()
        let analysis = try threeSteps.explain(analyze: true)
        #expect(analysis.hasPrefix(plan + "\nfound 1"))
        #expect((1..<30).contains(try readCount(analysis)))
        let scan = context.fetch(Part.self) { $0.name.hasSuffix("t 50") }
        #expect((201..<300).contains(try readCount(try scan.explain(analyze: true))))
    }

    @Test func aChainOfMembersSeesPendingChanges() throws {
        let last = try #require(try context.fetch(Part.self) { $0.name == "part 100" }.first())
        let next = try #require(try context.fetch(Part.self) { $0.name == "part 52" }.first())
        last.needs.append(next)
        #expect(try names(threeSteps) == ["part 100", "part 53"])
        context.delete(next)
        #expect(try names(threeSteps) == [])
        context.rollback()
        #expect(try names(threeSteps) == ["part 53"])
    }

    @Test func aChainOfAReferenceAndMembersBeginsAtTheMembers() throws {
        let found = context.fetch(Crate.self) {
            $0.parts.any { $0.users.any { $0.name == "part 7" } }
        }
        #expect(try found.all().map(\.label) == ["crate 1"])
        #expect(try found.explain().hasPrefix("parts has a Part with users.any"))
        let parts = context.fetch(Part.self) {
            $0.box?.parts.any { $0.name == "part 7" } ?? !.always
        }
        #expect(try parts.count() == 40)
    }

    @Test func aConditionThatComparesWithTheOutermostObjectIsTestedForEachObject() throws {
        let found = context.fetch(Part.self) { part in
            part.needs.any { $0.needs.any { $0.name == part.name } }
        }
        #expect(try found.explain().hasPrefix("look at all 201 records of Part"))
        #expect(try names(found) == [])
    }

    @Test func conditionsInConditionsAreTestedOnceForEachMember() throws {
        let found = context.fetch(Part.self) {
            $0.needs.all { $0.needs.all { $0.needs.count <= 1 } }
        }
        // Each tenth part needs two others: the second part after it does not qualify.
        let others = (0..<200).filter { $0 % 10 != 2 || $0 < 10 }
        #expect(try Set(names(found)) == Set(others.map { "part \($0)" } + ["hub"]))
    }

    @Test(arguments: ["plain", "pending", "past"])
    func numbersOfMembersAreCountedFromKeys(state: String) throws {
        var expected: [String] = ["hub"]
        if state == "pending" {
            let part = try #require(try context.fetch(Part.self) { $0.name == "part 3" }.first())
            let users = context.fetch(Part.self) { $0.name < "part 13" }
            for user in try users.all() { part.users.append(user) }
            expected.append("part 3")
        }
        let found = context.fetch(Part.self) { $0.users.count > 3 }
        let explanation = try found.explain()
        if state == "past" {
            let revision = try store.revision()
            try context.edit { for hub in try found.all() { context.delete(hub) } }
            let then = try store.view(asOf: revision).fetch(Part.self) { $0.users.count > 3 }
            #expect(try then.all().map(\.name) == expected)
            #expect(try store.fetch(Part.self) { $0.users.count > 3 }.count() == 0)
        } else {
            #expect(try names(found) == expected)
            #expect(
                explanation.hasPrefix("numbers of users: > 3: 1 of Part") == (state == "plain"))
        }
    }

    @Test func anIndexThatBeginsWithAReferenceAnswersAConditionOnItsTarget() throws {
        let found = context.fetch(Part.self) { $0.box?.label == "crate 2" }
            .sorted(by: \.name, .descending).limit(2)
        #expect(
            try found.explain() == """
                walk index (box, name) of Part in order, until the limit is reached
                test: box?.label == "crate 2"
                at most 2
                """)
        #expect(try found.values(of: \.name) == ["part 97", "part 92"])
        let third = try #require(try context.fetch(Crate.self) { $0.label == "crate 3" }.first())
        third.label = "crate 2"
        #expect(try found.values(of: \.name) == ["part 98", "part 97"])
        for crate in try context.fetch(Crate.self).all() { crate.label = "crate 9" }
        #expect(try found.all() == [])
    }

    @Test func aPageFollowsAnObjectThatDoesNotSatisfyTheCondition() throws {
        let parts = try context.fetch(Part.self).all()
        func part(_ name: String) throws -> Part {
            try #require(parts.first { $0.name == name })
        }
        let found = context.fetch(Part.self) { $0.box?.label == "crate 2" }.limit(2)
        // The index begins with the box: of a later one, and of an earlier one.
        let ascending = found.sorted(by: \.name).after(try part("part 89"))
        #expect(try ascending.values(of: \.name) == ["part 92", "part 97"])
        let descending = found.sorted(by: \.name, .descending).after(try part("part 20"))
        #expect(try descending.values(of: \.name) == ["part 2", "part 197"])
    }

    @Test func zeroIsNotCountedFromKeys() throws {
        #expect(try names(context.fetch(Part.self) { $0.users.count == 0 }) == ["part 199"])
        #expect(try names(context.fetch(Part.self) { $0.users.count < 1 }) == ["part 199"])
        #expect(try names(context.fetch(Part.self) { $0.users.isEmpty }) == ["part 199"])
        #expect(try context.fetch(Part.self) { !$0.users.isEmpty }.count() == 200)
        #expect(try context.fetch(Part.self) { $0.users.count >= 0 }.count() == 201)
    }

    @Test func objectsAreOrderedByNumbersOfMembers() throws {
        let most = context.fetch(Part.self).sorted(by: { $0.users.count }, .descending)
            .then(by: \.name).limit(2)
        #expect(try most.all().map(\.name) == ["hub", "part 0"])
    }
}
