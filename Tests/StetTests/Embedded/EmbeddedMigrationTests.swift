import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Person {
        var name: String
        var street: String
        var town: String
        init(name: String, street: String, town: String) {
            self.name = name
            self.street = street
            self.town = town
        }
    }
}

private enum Version2 {
    @Embedded struct Address: EmbeddedValue {
        @Attribute(originalName: "street") var street: String
        @Attribute(.indexed, originalName: "town") var city: String
        var country: String = "CH"
    }
    @Model final class Person {
        var address: Address
        var name: String
        init(name: String, address: Address) {
            self.name = name
            self.address = address
        }
    }
}

private enum Version3 {
    @Embedded struct Place: EmbeddedValue {
        var street: String
        @Attribute(originalName: "city") var town: String
        var zip: String?
    }
    @Model final class Person {
        var name: String
        @Attribute(originalName: "address") var home: Place
        var work: Place = Place(street: "unknown", town: "unknown")
        init(name: String, home: Place) {
            self.name = name
            self.home = home
        }
    }
}

private enum Version4 {
    @Model final class Person {
        var name: String
        @Attribute(originalName: "home.town") var town: String
        init(name: String, town: String) {
            self.name = name
            self.town = town
        }
    }
}

private enum Ambiguous {
    @Model final class Person {
        var name: String
        var home: Version2.Address
        var work: Version2.Address
        init(name: String, home: Version2.Address) {
            self.name = name
            self.home = home
            work = home
        }
    }
}

/// Models whose attributes become members of an embedded value, and the reverse.
@Suite struct EmbeddedMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private func makeFirst() throws {
        let store = try Store.open(at: path, for: Version1.Person.self)
        defer { store.close() }
        try store.edit { context in
            context.insert(Version1.Person(name: "Ann", street: "Gasse", town: "Bern"))
        }
    }

    @Test func attributesBecomeMembers() throws {
        try makeFirst()
        #expect(
            try Store.plan(at: path, for: Version2.Person.self).steps == [
                "renames Person.street to address.street", "renames Person.town to address.city",
                "adds Person.address.country, string, as \"CH\"",
                "gives the properties of Person another order",
                "builds the index (address.city) of Person",
            ])
        let store = try Store.open(at: path, for: Version2.Person.self)
        let found = try store.fetch(Version2.Person.self) { $0.address.city == "Bern" }.all()
        #expect(
            found.map(\.address)
                == [Version2.Address(street: "Gasse", city: "Bern", country: "CH")])
        let first = try store.view(asOf: 1).fetch(Version2.Person.self)
        #expect(try first.filter { $0.address.street == "Gasse" }.count() == 1)
        #expect(try store.verify().problems == [])
    }

    @Test func membersAndValuesAreRenamedAddedAndRemoved() throws {
        try makeFirst()
        try Store.open(at: path, for: Version2.Person.self).close()
        #expect(
            try Store.plan(at: path, for: Version3.Person.self).steps == [
                "renames Person.address.street to home.street",
                "renames Person.address.city to home.town",
                "adds Person.home.zip, string?, as nil",
                "adds Person.work.street, string, as \"unknown\"",
                "adds Person.work.town, string, as \"unknown\"",
                "adds Person.work.zip, string?, as nil",
                "removes Person.address.country with its values",
                "gives the properties of Person another order",
                "drops the index (address.city) of Person",
            ])
        let store = try Store.open(at: path, for: Version3.Person.self)
        let ann = try #require(try store.fetch(Version3.Person.self).all().first)
        #expect(ann.home == Version3.Place(street: "Gasse", town: "Bern", zip: nil))
        #expect(ann.work == Version3.Place(street: "unknown", town: "unknown", zip: nil))
        #expect(try store.verify().problems == [])
    }

    @Test func aMemberBecomesAnAttributeAgain() throws {
        try makeFirst()
        try Store.open(at: path, for: Version2.Person.self).close()
        try Store.open(at: path, for: Version3.Person.self).close()
        let store = try Store.open(at: path, for: Version4.Person.self)
        #expect(try store.fetch(Version4.Person.self).all().map(\.town) == ["Bern"])
        #expect(try store.verify().problems == [])
    }

    @Test func editsOfTheAttributesAreUndoneInTheMembersAndBack() throws {
        let first = try Store.open(at: path, for: Version1.Person.self)
        let context = first.context(author: "me")
        let ann = Version1.Person(name: "Ann", street: "Gasse", town: "Bern")
        context.insert(ann)
        try context.save()
        ann.town = "Basel"
        try context.save()
        ann.street = "Platz"
        try context.save()
        first.close()
        let second = try Store.open(at: path, for: Version2.Person.self)
        func address() throws -> Version2.Address? {
            try second.fetch(Version2.Person.self).all().first?.address
        }
        try second.undo(author: "me")
        #expect(try address() == Version2.Address(street: "Gasse", city: "Basel"))
        try second.undo(author: "me")
        #expect(try address() == Version2.Address(street: "Gasse", city: "Bern"))
        try second.redo(author: "me")
        let changes = try second.history(of: Version2.Person.self, id: ann.id)
        #expect(changes.first?.change["address.city"]?.new == .string("Basel"))
        #expect(changes.last?.change["address.street"]?.new == .string("Gasse"))
        second.close()
        try Store.open(at: path, for: Version3.Person.self).close()
        let store = try Store.open(at: path, for: Version4.Person.self)
        try store.undo(author: "me")
        #expect(try store.fetch(Version4.Person.self).all().map(\.town) == ["Bern"])
        #expect(try store.verify().problems == [])
    }

    @Test func oneAttributeCannotBecomeTwoMembers() throws {
        try makeFirst()
        let plan = try Store.plan(at: path, for: Ambiguous.Person.self)
        #expect(!plan.isPossible)
        #expect(
            plan.problems.first
                == "Person.street of the store can't become both home.street and work.street")
    }
}
