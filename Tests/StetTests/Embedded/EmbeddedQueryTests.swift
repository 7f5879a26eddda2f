import StetTestSupport
import Testing

@testable import Stet

/// Queries that name members of embedded values.
@Suite struct EmbeddedQueryTests {
    private let town: Village
    private var context: ManagedContext { town.context }

    init() throws {
        town = try Village()
        for (name, city, zip) in [
            ("Bob", "Zürich", "8000"), ("Cid", "bern", "3001"), ("Dora", "Genf", nil),
        ] {
            let resident = Resident(name, city: city)
            resident.address.zip = zip
            resident.landlord = town.ann
            context.insert(resident)
        }
        try context.save()
    }

    private func names(
        @QueryBuilder _ condition: (Resident.Fields) -> QueryExpression<Bool>
    ) throws -> [String] {
        try context.fetch(Resident.self, where: condition).sorted(by: \.name).all().map(\.name)
    }

    @Test func aConditionNamesAMember() throws {
        #expect(try names { $0.address.city == "Bern" } == ["Ann"])
        #expect(
            try names { $0.address.city.folded(.caseInsensitive) == "BERN" } == ["Ann", "Cid"])
        #expect(try names { $0.address.zip == nil } == ["Ann", "Dora"])
        #expect(try names { $0.address.zip >= "3001" && $0.rank == .low } == ["Bob", "Cid"])
        #expect(try names { $0.contact.calls + 1 > 1 } == [])
        #expect(try names { $0.landlord?.address.city == "Bern" } == ["Bob", "Cid", "Dora"])
    }

    @Test func aConditionComparesAWholeValue() throws {
        let address = town.ann.address
        #expect(try names { $0.address == address } == ["Ann"])
        #expect(try names { $0.address != address } == ["Bob", "Cid", "Dora"])
    }

    @Test func pendingEditsOfAMemberCount() throws {
        town.ann.address.city = "Chur"
        #expect(try names { $0.address.city == "Chur" } == ["Ann"])
        #expect(try names { $0.address.city == "Bern" } == [])
        context.rollback()
        #expect(try names { $0.address.city == "Bern" } == ["Ann"])
    }

    @Test func objectsAreSortedAndGroupedByAMember() throws {
        let sorted = try context.fetch(Resident.self)
            .sorted(by: \.address.city, .descending).then(by: \.name).all()
        #expect(sorted.map(\.name) == ["Cid", "Bob", "Dora", "Ann"])
        #expect(
            try context.fetch(Resident.self).sorted(by: \.landlord?.address.city)
                .then(by: \.name).all().map(\.name) == ["Ann", "Bob", "Cid", "Dora"])
        #expect(
            try context.fetch(Resident.self).distinct(\.address.zip).compactMap { $0 }.sorted()
                == ["3001", "8000"])
    }

    @Test func valuesOfMembersAreThoseOfTheObjects() throws {
        town.ann.contact.mail = "ann@example.org"
        let query = context.fetch(Resident.self).sorted(by: \.name)
        let residents = try query.all()
        #expect(try query.values(of: \.address.city) == residents.map(\.address.city))
        #expect(try query.values(of: \.address.zip) == residents.map(\.address.zip))
        let triples = try query.values(of: \.contact.mail, \.name, \.contact.calls)
        #expect(triples.map { $0.0 } == residents.map(\.contact.mail))
        #expect(triples.map { $0.1 } == residents.map(\.name))
        #expect(triples.map { $0.2 } == residents.map(\.contact.calls))
        #expect(
            try query.values(of: \.landlord?.address.city).map { $0 ?? nil }
                == residents.map { $0.landlord?.address.city })
    }

    @Test func indexesOfMembersAreUsed() throws {
        let byCity = context.fetch(Resident.self) {
            $0.address.city.folded(.caseInsensitive) == "bern"
        }
        #expect(try byCity.explain().description.contains("address.city"))
        let both = context.fetch(Resident.self) {
            $0.address.city == "Genf" && $0.address.zip == nil
        }
        #expect(try both.all().map(\.name) == ["Dora"])
        #expect(try both.explain().description.contains("address.zip"))
        #expect(
            Set(town.store.file.schema.entity(named: "Resident")?.indexes.map(\.parts.count) ?? [])
                == [1, 2])
    }

    @Test func aLiveQueryHasSectionsByAMember() async throws {
        var updates = town.store.observe(town.store.fetch(Resident.self).sorted(by: \.name))
            .sectioned(by: \.address.city).makeAsyncIterator()
        let first = try #require(try await updates.next(isolation: #isolation))
        #expect(first.sections.map(\.key) == ["Bern", "Genf", "Zürich", "bern"])
        town.ann.address.city = "Genf"
        try await context.save()
        let second = try #require(try await updates.next(isolation: #isolation))
        #expect(second.sections.map(\.key) == ["Genf", "Zürich", "bern"])
    }

    @Test func earlierStatesAreQueriedByMember() throws {
        let before = try town.store.revision()
        town.ann.address.city = "Chur"
        try context.save()
        let view = try town.store.view(asOf: before)
        #expect(
            try view.fetch(Resident.self) { $0.address.city == "Bern" }.all().map(\.address.zip)
                == [nil])
    }
}
