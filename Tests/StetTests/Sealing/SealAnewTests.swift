import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Present values that are sealed anew, after a rotation or for an index.
@Suite struct SealAnewTests {
    private func ranks(_ office: Office, of tenant: ObjectID) throws -> Set<Int> {
        let members = try office.store.fetch(Member.self) { $0.tenant == tenant }.all()
        return Set(
            members.flatMap { [$0.email.bytes, $0.phone?.bytes].compactMap(\.self) }
                .map(\.keyRank))
    }

    @Test func presentValuesGetTheNewKeyAndTheHistoryKeepsTheOld() async throws {
        let office = try await Office()
        let (one, two) = try (office.tenant("one"), office.tenant("two"))
        let before = try office.store.revision()
        try office.keys?.rotateKey(of: one.id)
        #expect(try ranks(office, of: one.id) == [0])
        #expect(try office.members(of: one, "ada@example.org") == ["ada of one", "eve of one"])

        let new = Member("new", of: one, "ada@example.org", 4)
        office.context.insert(new)
        try await office.context.save()
        #expect(new.email.bytes.keyRank == 1)
        #expect(try office.members(of: one, "ada@example.org").count == 3)

        #expect(try await office.store.sealAnew(by: one.id) == 4)
        #expect(try await office.store.sealAnew(by: one.id) == 0)
        #expect(try ranks(office, of: one.id) == [1])
        #expect(try ranks(office, of: two.id) == [0])
        try office.context.refresh()
        #expect(try office.members(of: one, "ada@example.org").count == 3)
        #expect(try one.name.value == "one")
        #expect(one.name.bytes.keyRank == 1)
        let past = try office.store.view(asOf: before).fetch(Member.self) {
            $0.email.isEqual(to: "ada@example.org", sealedBy: one)
        }
        #expect(try past.count() == 2)
        #expect(try office.store.verify().problems == [])

        try office.keys?.destroyKey(of: one.id)
        #expect(one.name.isErased)
        #expect(new.email.isErased)
        #expect(throws: SealingError.self) { try past.count() }
    }

    @Test func whatCannotBeSealedAnewThrows() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        #expect(try await office.store.sealAnew(by: ObjectID()) == 0)
        func code() async -> SealingError.Code? {
            do {
                _ = try await office.store.sealAnew(by: one.id)
                return nil
            } catch {
                return (error as? SealingError)?.code
            }
        }
        #expect(await code() == nil)
        try office.keys?.destroyKey(of: one.id)
        #expect(await code() == .erased)
        let before = try office.store.revision()
        try await office.reopen(keyFile: nil)
        #expect(await code() == .keyFileNotOpen)
        #expect(try office.store.revision() == before)
    }

    @Test func manyObjectsAreSealedAnewInSeveralCommits() async throws {
        let office = try await Office()
        let one = try office.tenant("one")
        for number in 0..<300 {
            office.context.insert(Member("\(number)", of: one, "\(number)@example.org", number))
        }
        try await office.context.save()
        let before = try office.store.revision()
        try office.keys?.rotateKey(of: one.id)
        #expect(try await office.store.sealAnew(by: one.id) == 304)
        // One of the tenant, and two of its members.
        #expect(try office.store.revision().number == before.number + 3)
        #expect(try ranks(office, of: one.id) == [1])
        #expect(try office.members(of: one, "299@example.org") == ["299"])
    }

    /// A value stays with its last owner when the relationship becomes nil.
    @Test func aValueWithoutAnOwnerIsSealedAnewByItsLast() async throws {
        let clinic = try await Clinic()
        let (context, ada, visit) = try clinic.admit("Ada", "flu")
        visit.patient = nil
        try await context.save()
        try clinic.keys?.rotateKey(of: ada.id)
        #expect(try await clinic.store.sealAnew(by: ada.id) == 2)
        #expect(try await clinic.store.sealAnew(by: ada.id) == 0)
        try context.refresh()
        #expect(try visit.diagnosis?.value == "flu")
        #expect(visit.diagnosis?.bytes.keyRank == 1)
        #expect(visit.drugs?.bytes.place?.owner == ada.id)
        #expect(try clinic.store.verify().problems == [])
    }

    /// A revert moves bytes, and needs no key.
    @Test func whatARevertLeavesWithAnEarlierOwnerIsSealedByThePresentOne() async throws {
        let clinic = try await Clinic()
        let (ada, visit, grace, other) = try await clinic.leaveBehind()
        #expect(try clinic.drugs(of: visit)?.place?.owner == ada.id)

        #expect(try await clinic.store.sealAnew(by: grace.id) == 1)
        #expect(try await clinic.store.sealAnew(by: grace.id) == 0)
        #expect(try clinic.drugs(of: visit)?.place?.owner == grace.id)
        #expect(try clinic.store.verify().problems == [])
        try clinic.destroyKey(of: grace.id)
        let erased = try #require(try clinic.store.object(Treatment.self, id: visit.id))
        #expect(erased.drugs?.isErased == true)
        #expect(erased.diagnosis?.isErased == true)
        #expect(try clinic.drugs(of: other)?.place?.owner == grace.id)
    }

    @Test func whatIsErasedStaysWithItsOwner() async throws {
        let clinic = try await Clinic()
        let (ada, visit, grace, _) = try await clinic.leaveBehind()
        try clinic.destroyKey(of: ada.id)
        #expect(try await clinic.store.sealAnew(by: grace.id) == 0)
        #expect(try clinic.drugs(of: visit)?.place?.owner == ada.id)
    }
}

extension Clinic {
    /// Leaves the first visit with the second patient, and its drugs sealed by the first one.
    fileprivate func leaveBehind() async throws -> (
        ada: Client, visit: Treatment, grace: Client, other: Treatment
    ) {
        let (context, ada, visit) = try admit("Ada", "flu")
        let (_, grace, other) = try admit("Grace", "cold")
        try context.refresh()
        visit.drugs = nil
        let revision = try #require(try await context.save()).revision
        visit.patient = try context.object(Client.self, id: grace.id)
        try await context.save()
        try await store.revert(revision, author: "doctor")
        return (ada, visit, grace, other)
    }

    /// The stored bytes of the drugs of a treatment.
    fileprivate func drugs(of visit: Treatment) throws -> SealedBytes? {
        try store.object(Treatment.self, id: visit.id)?.drugs?.bytes
    }
}
