import Foundation
import Stet
import StetTestSupport
import Testing

@Embedded struct Address: EmbeddedValue {
    @Attribute(.trimmed, .length(...40)) var street: String = ""
    @Attribute(.indexed(.caseInsensitive)) var city: String = ""
    var zip: String?
}

@Model final class Customer {
    var name: String
    var address: Address = Address()
    #Index<Customer>(\.address.city, \.name)
    init(name: String) { self.name = name }
}

@Model final class Supplier {
    var name: String
    var site: Address?
    #Index<Supplier>(\.site?.city)
    init(name: String) { self.name = name }
}

@Embedded struct OrderLine: EmbeddedValue, Identifiable {
    var id: UUID = UUID()
    @Attribute(.trimmed) var article: String
    @Attribute(.range(1...)) var amount: Int = 1
}

@Model final class PurchaseOrder {
    @Attribute(.length(1...)) var lines: [OrderLine] = []
    init() {}
}

private enum Former {
    @Model final class Company {
        var town: String = ""
        init() {}
    }
}

@Embedded struct Site: EmbeddedValue {
    @Attribute(originalName: "town") var city: String = ""
    var country: String = "CH"
}

@Model private final class Company {
    var site: Site = Site()
    init() {}
}

/// The code of EmbeddedValues.md.
@Suite struct EmbeddedValuesTests {
    private let directory = TemporaryDirectory()
    private let context: ManagedContext

    init() throws { context = try Store.inMemory(for: Customer.self).context() }

    @Test func membersAreAttributes() throws {
        let ann = Customer(name: "Ann")
        ann.address = Address(street: " Lane 7 ", city: "Bern")
        context.insert(ann)
        try context.save()
        ann.address.zip = "3000"
        try context.save()
        let street = ann.snapshot.address.street  // "Lane 7"
        #expect(street == "Lane 7")

        let inBern = try context.fetch(Customer.self) { $0.address.city == "Bern" }
            .sorted(by: \.address.zip).then(by: \.name).all()
        let same = try context.fetch(Customer.self) { $0.address == ann.address }.count()
        #expect(inBern == [ann])
        #expect(same == 1)

        ann.address.city = "Chur"
        let commit = try #require(try context.save())
        let change = commit.changes(of: Customer.self)[0]
        let city = change.new[\.address.city]  // "Chur"
        let address = change.new[\.address]  // nil: the street has not changed
        #expect(city == "Chur")
        #expect(address == nil)
    }

    @Test func aValueIsOptional() throws {
        let context = try Store.inMemory(for: Supplier.self).context()
        let supplier = Supplier(name: "Bo")
        context.insert(supplier)
        supplier.site = Address(city: "Bern")
        supplier.site?.city = "Chur"
        try context.save()
        let without = try context.fetch(Supplier.self) { $0.site == nil }.count()
        let inChur = try context.fetch(Supplier.self) { $0.site?.city == "Chur" }
            .sorted(by: \.site?.zip).all()
        #expect(without == 0)
        #expect(inChur == [supplier])
        supplier.site = nil
        try context.save()
        #expect(try context.fetch(Supplier.self) { $0.site == nil }.count() == 1)
    }

    @Test func anArrayHasEmbeddedValues() throws {
        let context = try Store.inMemory(for: PurchaseOrder.self).context()
        let order = PurchaseOrder()
        order.lines = [OrderLine(article: "nut"), OrderLine(article: "bolt")]
        context.insert(order)
        try context.save()
        order.lines[1].amount = 5
        try context.save()
        #expect(order.snapshot.lines.map(\.amount) == [1, 5])
        let large = try context.fetch(PurchaseOrder.self) {
            $0.lines.any { $0.article == "bolt" && $0.amount > 2 } && $0.lines.count() < 10
        }.all()
        #expect(large == [order])
        order.lines[1].amount = 0
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.property) == ["lines[1].amount"])
    }

    @Test func anAttributeBecomesAMember() throws {
        let path = directory.file()
        do {
            let store = try Store.open(at: path, for: Former.Company.self)
            defer { store.close() }
            try store.edit { context in
                let company = Former.Company()
                company.town = "Bern"
                context.insert(company)
            }
        }
        let store = try Store.open(at: path, for: Company.self)
        let sites = try store.fetch(Company.self).all().map(\.site)
        #expect(sites == [Site(city: "Bern", country: "CH")])
    }
}
