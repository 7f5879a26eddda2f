import Foundation
import Stet
import StetTestSupport
import StetTesting

@Embedded struct Site: EmbeddedValue, Hashable {
    @Attribute(.trimmed, .length(...20)) var street: String = ""
    @Attribute(.indexed(.caseInsensitive)) var city: String
    @Attribute(.unique) var code: String?
    @Attribute(.hidden) var key: String?
    var kind: Kind = .office

    enum Kind: String, RawAttribute { case office, plant }
}

@Embedded struct Visit: EmbeddedValue {
    var by: String
    @Attribute(.required) var reason: String?
    @Attribute(.stamped(.update)) var changed: Date = Date(timeIntervalSinceReferenceDate: 0)
}

@Model final class Plant {
    @Attribute(.unique) var name: String
    var site: Site?
    var note: String = ""
    var visit: Visit?
    var owner: Plant?
    var rank: Int = 0
    @Derived var town: String? { site?.city }

    #Index<Plant>(\.site?.city, \.name)

    init(_ name: String, in city: String? = nil) {
        self.name = name
        if let city { site = Site(street: "\(name) street", city: city) }
    }
}

extension Site {
    /// A site as a conflict has it.
    static func whole(city: String, street: String = "Mill street") -> Value {
        .dictionary([
            .string("street"): .string(street), .string("city"): .string(city),
            .string("code"): .null, .string("key"): .null, .string("kind"): .string("office"),
        ])
    }
}

/// A store of plants: one with a site and one without.
struct Works {
    let directory = TemporaryDirectory()
    let clock = TestClock()
    let store: Store
    let context: ManagedContext
    let mill: Plant
    let yard: Plant

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Plant.self,
            configuration: Store.Configuration(clock: clock))
        context = store.context(author: "ann")
        mill = Plant("Mill", in: "Bern")
        yard = Plant("Yard")
        context.insert(mill)
        context.insert(yard)
        try context.save()
    }

    /// The saved mill as a fresh context reads it.
    func stored() throws -> Plant.Snapshot? { try store.object(Plant.self, id: mill.id) }

    /// Edits the mill in another context, and saves.
    func edit(_ author: String = "bob", _ body: (Plant) -> Void) throws {
        let context = store.context(author: author)
        guard let plant = try context.object(Plant.self, id: mill.id) else { return }
        body(plant)
        try context.save()
    }
}
