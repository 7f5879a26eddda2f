import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Depot {
    var name: String
    var alias: String?
    var site: Site?
    var owner: Depot?
    @Derived var code: String { site?.code ?? name }
    @Derived var knownCode: String { site?.code ?? "none" }
    @Derived var otherCode: String? { site?.code ?? alias }
    @Derived var ownerName: String { owner?.alias ?? name }

    init(_ name: String) { self.name = name }
}

/// Optional members of optional embedded values in the expressions of derived attributes.
@Suite struct OptionalMemberTests {
    @Test func aMemberBehindAQuestionMarkHasADefault() throws {
        let store = try Store.inMemory(for: Depot.self)
        let context = store.context()
        let depot = Depot("north")
        context.insert(depot)
        func stored() throws -> [String?] {
            try context.save()
            let snapshot = try #require(try store.object(Depot.self, id: depot.id))
            let values = [
                snapshot.code, snapshot.knownCode, snapshot.otherCode, snapshot.ownerName,
            ]
            #expect(
                values == [depot.code, depot.knownCode, depot.otherCode, depot.ownerName])
            return values
        }
        #expect(try stored() == ["north", "none", nil, "north"])
        depot.alias = "N"
        depot.site = Site(street: "", city: "Bern")
        depot.owner = depot
        #expect(try stored() == ["north", "none", "N", "N"])
        depot.site?.code = "3000"
        #expect(try stored() == ["3000", "3000", "3000", "N"])
        #expect(try store.fetch(Depot.self) { $0.code == "3000" }.count() == 1)
        #expect(try store.verify().problems == [])
    }
}
