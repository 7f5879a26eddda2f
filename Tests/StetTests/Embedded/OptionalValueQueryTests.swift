import StetTestSupport
import Testing

@testable import Stet

/// Queries, orders and indexes that name optional embedded values.
@Suite struct OptionalValueQueryTests {
    private let works: Works
    private var context: ManagedContext { works.context }

    init() throws {
        works = try Works()
        for (name, city) in [("Barn", "Zürich"), ("Dock", "bern"), ("Shed", nil)] {
            let plant = Plant(name, in: city)
            plant.owner = name == "Shed" ? works.yard : works.mill
            context.insert(plant)
        }
        try context.save()
    }

    private func names(
        @QueryBuilder _ condition: (Plant.Fields) -> QueryExpression<Bool>
    ) throws -> [String] {
        try context.fetch(Plant.self, where: condition).sorted(by: \.name).all().map(\.name)
    }

    @Test func aConditionAsksForThePresence() throws {
        #expect(try names { $0.site == nil } == ["Shed", "Yard"])
        #expect(try names { $0.site != nil } == ["Barn", "Dock", "Mill"])
        #expect(try names { $0.owner?.site == nil } == ["Mill", "Shed", "Yard"])
        #expect(try names { $0.owner?.site != nil } == ["Barn", "Dock"])
        let site = works.mill.site
        #expect(try names { $0.site == site } == ["Mill"])
        #expect(try names { $0.site != site } == ["Barn", "Dock", "Shed", "Yard"])
    }

    @Test func aMemberOfAnAbsentValueIsNil() throws {
        #expect(try names { $0.site?.city == "Bern" } == ["Mill"])
        #expect(
            try names { $0.site?.city != "Bern" } == names { $0.town != "Bern" })
        #expect(try names { $0.site?.city == nil } == ["Shed", "Yard"])
        #expect(try names { ($0.site?.city ?? "Bern") == "Bern" } == ["Mill", "Shed", "Yard"])
        #expect(try names { $0.owner?.site?.city == "Bern" } == ["Barn", "Dock"])
        #expect(try names { $0.site?.kind == .office && $0.rank == 0 } == ["Barn", "Dock", "Mill"])
    }

    @Test func pendingValuesCount() throws {
        works.yard.site = Site(city: "Bern")
        works.mill.site = nil
        #expect(try names { $0.site?.city == "Bern" } == ["Yard"])
        #expect(try names { $0.site == nil } == ["Mill", "Shed"])
        context.rollback()
        #expect(try names { $0.site?.city == "Bern" } == ["Mill"])
    }

    @Test func objectsAreSortedByAMember() throws {
        let sorted = try context.fetch(Plant.self).sorted(by: \.site?.city).then(by: \.name).all()
        #expect(sorted.map(\.name) == ["Shed", "Yard", "Mill", "Barn", "Dock"])
    }

    @Test func indexesOfMembersAreUsed() throws {
        let byCity = context.fetch(Plant.self) {
            $0.site?.city.folded(.caseInsensitive) == "bern"
        }
        #expect(try byCity.all().count == 2)
        #expect(try byCity.explain().description.contains("site.city"))
        let exact = context.fetch(Plant.self) { $0.site?.city == "bern" }
        #expect(try exact.all().map(\.name) == ["Dock"])
        #expect(try exact.explain().description.contains("site.city, name"))
    }

    @Test func earlierStatesAreQueried() throws {
        let before = try works.store.revision()
        works.mill.site = nil
        works.yard.site = Site(city: "Chur")
        try context.save()
        let view = try works.store.view(asOf: before)
        let then = try view.fetch(Plant.self) { $0.site?.city == "Bern" }.all()
        #expect(then.map(\.site) == [Site(street: "Mill street", city: "Bern")])
        #expect(try view.fetch(Plant.self) { $0.site == nil }.count() == 2)
        #expect(try view.object(Plant.self, id: works.yard.id)?.site == nil)
    }

    @Test func anIndexOfTheValueItselfIsRefused() throws {
        let error = try #require(throws: StoreError.self) {
            try Store.inMemory(for: IndexedPresence.self)
        }
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("an embedded value, of which an index names a member"))
    }
}

@Model private final class IndexedPresence {
    var site: Site?
    #Index<IndexedPresence>(\.site)
    init() {}
}
