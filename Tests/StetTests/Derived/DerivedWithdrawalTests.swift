import StetTestSupport
import Testing

@testable import Stet

/// Derived attributes while a save that waits is withdrawn.
@MainActor @Suite struct DerivedWithdrawalTests {
    /// Edits the employer and, behind it, the person, of whom only a derived value changes with the
    /// withdrawal of the employer's edit.
    @Test(arguments: [false, true])
    func theValueOfAnEditThatIsWithdrawnIsNoLaterEdit(deletes: Bool) async throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        person.age = 36
        let hold = HeldWriter(staff.store.file.environment)
        let flight = Task { try await context.save() }
        await until { context.core.saves.inFlight != nil }
        company.name = "Engines"
        if deletes { context.delete(person) } else { person.nickname = "Countess" }
        let second = Task { try await context.save() }
        await until { !context.core.saves.waiting.isEmpty }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        hold.release()
        #expect(try await flight.value != nil)
        #expect(!context.hasChanges)
        #expect(company.name == "Acme")
        #expect(!person.isDeleted)
        #expect(person.nickname == nil)
        #expect(person.age == 36)
        #expect(try context.fetch(Employee.self) { $0.employerName == "Acme" }.all() == [person])
        #expect(try staff.store.verify().problems == [])
    }
}
