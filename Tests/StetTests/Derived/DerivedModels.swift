import Stet
import StetTestSupport

@Model final class Land {
    var name: String

    init(name: String) { self.name = name }
}

@Model final class Firm {
    var name: String
    var country: Land?
    @Derived var title: String { name + " Ltd" }

    init(name: String, country: Land? = nil) {
        self.name = name
        self.country = country
    }
}

@Model final class Employee {
    var first: String
    var last: String
    var nickname: String?
    var age: Int = 0
    var employer: Firm?
    @Attribute(.indexed) @Derived var fullName: String { first + " " + last }
    @Derived var shownName: String { nickname ?? first }
    @Derived var isAdult: Bool { age >= 18 && first != "" }
    @Derived var monthsLeft: Int { 12 * (100 - age) }
    @Attribute(.indexed) @Derived var employerName: String? { employer?.name }
    @Derived var card: String { fullName + ", " + (employer?.title ?? nickname ?? "nobody") }
    @Derived var countryName: String? { employer?.country?.name }
    @Derived var isEmployed: Bool { employer != nil }

    init(first: String, last: String, employer: Firm? = nil) {
        self.first = first
        self.last = last
        self.employer = employer
    }
}

/// A store of people with companies.
final class Staff: Sendable {
    private let directory = TemporaryDirectory()
    let store: Store

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Employee.self, Firm.self, Land.self)
    }

    var path: String { directory.file() }

    /// A saved person with an employer, in a context of their own.
    func saved() throws -> (context: ManagedContext, company: Firm, person: Employee) {
        let context = store.context(author: "me")
        let company = Firm(name: "Acme", country: Land(name: "Peru"))
        let person = Employee(first: "Ada", last: "Byron", employer: company)
        context.insert(person)
        try context.save("first")
        return (context, company, person)
    }

    /// The stored values of a person.
    func stored(_ person: Employee) throws -> Employee.Snapshot? {
        try store.context().fetch(Employee.self).snapshots().first { $0.id == person.id }
    }
}
