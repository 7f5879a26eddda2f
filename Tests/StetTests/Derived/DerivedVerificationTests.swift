import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// The problems that `verify` reports when stored values are not those of their expressions.
@Suite struct DerivedVerificationTests {
    @Test func aValueThatIsNotThatOfItsExpressionIsReported() throws {
        let staff = try Staff()
        let (_, company, person) = try staff.saved()
        try write(person, ["fullName": .string("Bob Byron")], in: staff.store)
        // The card is computed from the full name as it is stored.
        #expect(
            try staff.store.verify().problems.sorted() == [
                "Employee \(person.id) has another card than its expression.",
                "Employee \(person.id) has another fullName than its expression.",
            ])
        // The next save that changes an input mends it.
        let context = staff.store.context()
        let found = try #require(try context.object(Employee.self, id: person.id))
        found.last = "Lovelace"
        try context.save()
        #expect(try staff.stored(found)?.fullName == "Ada Lovelace")
        #expect(try staff.store.verify().problems == [])
        // A value that an object at the end of a reference decides.
        try write(company, ["name": .string("Engines")], in: staff.store)
        let sentences = try staff.store.verify().problems.sorted()
        #expect(
            sentences == [
                "Employee \(person.id) has another employerName than its expression.",
                "Firm \(company.id) has another title than its expression.",
            ])
    }

    /// Commits values as a program would that does not compute derived ones.
    private func write<M: Model>(_ object: M, _ changed: [String: Value], in store: Store) throws {
        let number = try #require(store.file.schema.number(ofEntity: M._$name))
        let properties = store.file.schema.entities[number].properties
        try store.commitUnchecked(object) { values in
            for (slot, property) in properties.enumerated() {
                if let value = changed[property.name] { values[slot] = value }
            }
        }
    }
}
