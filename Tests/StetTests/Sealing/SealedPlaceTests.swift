import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Sealed bytes that were moved to another object or property.
@Suite struct SealedPlaceTests {
    @Test func bytesInTheRecordOfAnotherObjectOrPropertyAreNotOpened() async throws {
        let clinic = try await Clinic()
        let (context, client, visit) = try clinic.admit("Ada", "flu")
        let body = try visit._$body()
        let own = try body.bytes.withUnsafeBytes { try Treatment._$decode(visit.id, $0) }
        #expect(try own.diagnosis?.value == "flu")
        let other = try body.bytes.withUnsafeBytes { try Treatment._$decode(ObjectID(), $0) }
        #expect(try sealingCode(other.diagnosis) == .misplaced)
        // The values of two properties change places.
        let entity = try #require(visit._$state.table?.description)
        var values = try body.values(of: entity)
        values.swapAt(1, 2)
        let swapped = try EncodedBody(values, of: entity).bytes.withUnsafeBytes {
            try Treatment._$decode(visit.id, $0)
        }
        #expect(try sealingCode(swapped.diagnosis) == .misplaced)
        #expect(try sealingCode(swapped.drugs) == .misplaced)
        // A change set with the bytes of another object is sealed for this one.
        let second = Client(name: "Grace")
        context.insert(second)
        let commit = try await context.save()
        var changes = try #require(commit).changeSet
        #expect(changes.changes.count == 1)
        let bytes = client.name._value
        changes.changes[0].properties = changes.changes[0].properties.map { property in
            property.name == "name"
                ? PropertyChange(name: "name", old: .null, new: bytes) : property
        }
        let third = try Clinic.open(clinic.directory.file("third.stet"), clinic.keys)
        let target = third.context()
        try target.apply(changes)
        try await target.save()
        try clinic.destroyKey(of: client.id)
        #expect(try target.object(Client.self, id: second.id)?.name.value == "Ada")
        #expect(try third.verify().problems == [])
    }

    @Test func aSaveDoesNotMakeSwappedValuesValid() async throws {
        let clinic = try await Clinic()
        let (_, _, visit) = try clinic.admit("Ada", "flu")
        try clinic.store.commitUnchecked(visit) { $0.swapAt(1, 2) }

        let context = clinic.store.context()
        let found = try #require(try context.object(Treatment.self, id: visit.id))
        #expect(try sealingCode(found.diagnosis) == .misplaced)
        found.room = "9"
        try await context.save()
        #expect(try sealingCode(found.diagnosis) == .misplaced)
        let again = try #require(
            try clinic.store.context().object(Treatment.self, id: visit.id))
        #expect(again.room == "9")
        #expect(try sealingCode(again.diagnosis) == .misplaced)
        found.diagnosis = Sealed("cold")
        try await context.save()
        #expect(try found.diagnosis?.value == "cold")
    }

    @Test func anOwnerIsTheObjectItselfOrARelationshipOfIt() throws {
        let own = try Store.inMemory(for: Owners.Person.self).file.schema.entities[0]
        #expect(own.properties.map(\.seal) == [nil, .own, .own, .reference("other")])
        let error = #expect(throws: StoreError.self) {
            try Store.inMemory(for: Owners.Distant.self)
        }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains("is sealed by other.other, which is no") == true)
    }
}

private enum Owners {
    @Model final class Person {
        var other: Person?
        var name: Sealed<String>?
        @Attribute(.sealed(by: \.self)) var nickname: Sealed<String>?
        @Attribute(.sealed(by: \.other)) var address: Sealed<String>?
        init() {}
    }

    @Model final class Distant {
        var other: Distant?
        @Attribute(.sealed(by: \.other.other)) var name: Sealed<String>?
        init() {}
    }
}
