import Foundation
import Stet
import StetTestSupport
import StetTesting

@Embedded struct PostalAddress: EmbeddedValue {
    @Attribute(.trimmed, .length(...20)) var street: String = ""
    @Attribute(.indexed(.caseInsensitive)) var city: String = ""
    var zip: String?

    /// The text for an envelope.
    var line: String { "\(street), \(zip ?? "?") \(city)" }
}

@Embedded struct Contact: EmbeddedValue, Hashable {
    @Attribute(.lowercased, .unique) var mail: String?
    @Attribute(.hidden) var token: String?
    @Attribute(.counter) var calls: Int = 0
    @Attribute(.stamped(.update)) var changed: Date = Date(timeIntervalSinceReferenceDate: 0)
    var kind: Kind = .work

    enum Kind: String, RawAttribute { case work, home }
}

@Model final class Resident {
    @Attribute(.unique) var name: String
    var address: PostalAddress = PostalAddress()
    var rank: Rank = .low
    var contact: Contact = Contact()
    var note: String = ""
    var landlord: Resident?

    #Index<Resident>(\.address.city, \.address.zip)
    #Unique<Resident>(\.address.street, \.note, comparing: .caseInsensitive)

    enum Rank: Int, RawAttribute { case low, high }

    init(_ name: String, city: String = "") {
        self.name = name
        address.city = city
        address.street = "\(name) street"
    }
}

/// A store of residents with one saved resident.
struct Village {
    let directory = TemporaryDirectory()
    let clock = TestClock()
    let store: Store
    let context: ManagedContext
    let ann: Resident

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Resident.self,
            configuration: Store.Configuration(clock: clock))
        context = store.context(author: "ann")
        ann = Resident("Ann", city: "Bern")
        context.insert(ann)
        try context.save()
    }

    /// The saved resident as a fresh context reads it.
    func stored() throws -> Resident.Snapshot? { try store.object(Resident.self, id: ann.id) }
}
