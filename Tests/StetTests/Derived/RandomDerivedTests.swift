import Stet
import StetTestSupport
import Testing

/// Random edits, saves, merges, undos, redos, reverts and applied change sets of people and
/// companies, after each of which every derived attribute has the value of its expression.
@Suite struct RandomDerivedTests {
    private final class Driver {
        let staff: Staff
        var contexts: [ManagedContext]
        var random: SeededGenerator
        var commitCount: UInt64 = 0

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            staff = try Staff()
            let store = staff.store
            contexts = (0..<3).map { store.context(author: "author \($0)") }
            for context in contexts { context.mergePolicy = .mergeContextWins }
        }

        private func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        private func word() -> String { ["", "a", "b", "é", "Zoë", "longer word"][number(6)] }
        private func any<T>(_ objects: [T]) -> T? {
            objects.isEmpty ? nil : objects[number(objects.count)]
        }

        func step() throws {
            let context = contexts[number(3)]
            switch number(10) {
            case 0...5: try edit(context)
            case 6...7: try save(context)
            case 8: try restore()
            default: try apply(context)
            }
        }

        private func edit(_ context: ManagedContext) throws {
            let people = try context.fetch(Employee.self).all()
            let companies = try context.fetch(Firm.self).all()
            switch number(12) {
            case 0...1:
                context.insert(Employee(first: word(), last: word(), employer: any(companies)))
            case 2:
                context.insert(
                    Firm(name: word(), country: any(try context.fetch(Land.self).all())))
            case 3: context.insert(Land(name: word()))
            case 4: any(people)?.first = word()
            case 5: any(people)?.nickname = number(2) == 0 ? nil : word()
            case 6: any(people)?.employer = number(4) == 0 ? nil : any(companies)
            case 7...8: any(companies)?.name = word()
            case 9: any(companies)?.country = any(try context.fetch(Land.self).all())
            case 10: any(try context.fetch(Land.self).all())?.name = word()
            default:
                if number(2) == 0 {
                    if let company = any(companies) { context.delete(company) }
                } else if let person = any(people) {
                    context.delete(person)
                }
            }
        }

        private func save(_ context: ManagedContext) throws {
            do {
                try context.save()
            } catch let error as ConflictError where error.reason == .changed {
                // The target of a pending reference was deleted by others.
                context.rollback()
            }
            try check()
        }

        private func restore() throws {
            let author = "author \(number(3))"
            switch number(3) {
            case 0: try staff.store.undo(author: author, policy: .skip)
            case 1: try staff.store.redo(author: author, policy: .skip)
            default:
                let last = try staff.store.revision().number
                guard last > 0 else { return }
                let revision = Revision(UInt64(number(Int(last))) + 1)
                try staff.store.revert(revision, author: author, policy: .skip)
            }
            try check()
        }

        private func apply(_ context: ManagedContext) throws {
            let other = staff.store.context()
            other.mergePolicy = .mergeContextWins
            for _ in 0..<3 { try edit(other) }
            let changes = other.changes
            do {
                try context.apply(changes)
            } catch is ChangeSetError {
                return
            } catch is ConflictError {
                return
            }
            try save(context)
        }

        /// Compares what is stored with the expressions, written once more in Swift.
        private func check() throws {
            let context = staff.store.context()
            let countries = Dictionary(
                uniqueKeysWithValues: try context.fetch(Land.self).snapshots().map { ($0.id, $0) })
            let companies = Dictionary(
                uniqueKeysWithValues: try context.fetch(Firm.self).snapshots().map { ($0.id, $0) })
            for company in companies.values { #expect(company.title == company.name + " Ltd") }
            for person in try context.fetch(Employee.self).snapshots() {
                let employer = person.employer.flatMap { companies[$0] }
                #expect(person.fullName == "\(person.first) \(person.last)")
                #expect(person.shownName == person.nickname ?? person.first)
                #expect(person.employerName == employer?.name)
                #expect(person.isEmployed == (employer != nil))
                #expect(
                    person.countryName
                        == employer?.country.flatMap { countries[$0] }?.name)
                let title = employer?.title ?? person.nickname ?? "nobody"
                #expect(person.card == "\(person.fullName), \(title)")
                let object = try #require(try context.object(Employee.self, id: person.id))
                #expect(object.card == person.card)
                #expect(object.countryName == person.countryName)
            }
        }

        func finish() throws {
            for context in contexts { try save(context) }
            #expect(try staff.store.verify().problems == [])
            #expect(try staff.store.revision() > .zero)
        }
    }

    @Test(arguments: 0..<20)
    func everyValueIsThatOfItsExpression(seed: Int) throws {
        let driver = try Driver(seed: UInt64(seed))
        for _ in 0..<repetitions(400) { try driver.step() }
        try driver.finish()
    }
}
