import Stet
import StetTestSupport
import Testing

private enum Always {
    @Embedded struct Address: EmbeddedValue, Hashable {
        var city: String
        var zip: String?
    }
    @Model final class Person {
        var name: String
        var address: Address = Address(city: "unknown")
        var town: String
        init(_ name: String, city: String) {
            self.name = name
            town = city
            address.city = city
        }
    }
}

private enum Lacking {
    @Model final class Person {
        var name: String
        init(_ name: String) { self.name = name }
    }
}

private enum Sometimes {
    @Embedded struct Address: EmbeddedValue, Hashable {
        var city: String
        var zip: String?
    }
    @Model final class Person {
        var name: String
        var address: Address?
        var town: String = ""
        init(_ name: String) { self.name = name }
    }
}

private enum Enlarged {
    @Embedded struct Address: EmbeddedValue, Hashable {
        @Attribute(.indexed) var city: String
        var zip: String = "0000"
        var country: String = "CH"
    }
    @Model final class Person {
        var name: String
        @Attribute(originalName: "address") var home: Address?
        var town: String = ""
        init(_ name: String) { self.name = name }
    }
}

private enum Gathered {
    @Embedded struct Place: EmbeddedValue, Hashable {
        @Attribute(originalName: "town") var city: String
    }
    @Model final class Person {
        var name: String
        var place: Place?
        init(_ name: String) { self.name = name }
    }
}

private enum Mingled {
    @Embedded struct Address: EmbeddedValue, Hashable {
        var city: String
        @Attribute(originalName: "town") var place: String?
    }
    @Model final class Person {
        var name: String
        var address: Address?
        init(_ name: String) { self.name = name }
    }
}

private enum Strict {
    @Embedded struct Address: EmbeddedValue, Hashable {
        var city: String
        var zip: String?
        var country: String
    }
    @Model final class Person {
        var name: String
        var address: Address?
        var town: String = ""
        init(_ name: String) { self.name = name }
    }
}

private enum Answered {
    @Model final class Person {
        var name: String
        var address: Bool?
        var note: String = ""
        init(_ name: String) { self.name = name }
    }
}

private enum Flagged {
    @Model final class Person {
        var name: String
        var address: Bool? = false
        init(_ name: String) { self.name = name }
    }
}

/// Embedded values that become optional, are added, changed and removed.
@Suite struct OptionalValueMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private func check(_ store: Store) throws { #expect(try store.verify().problems == []) }

    private func makeAlways() throws {
        let store = try Store.open(at: path, for: Always.Person.self)
        defer { store.close() }
        try store.edit { $0.insert(Always.Person("Ann", city: "Bern")) }
        try store.edit { context in
            try context.fetch(Always.Person.self).all().first?.address.zip = "3000"
        }
    }

    /// Makes a store in which Ann has an address, which she has moved to once, and Bob had one.
    private func makeSometimes() throws {
        let store = try Store.open(at: path, for: Sometimes.Person.self)
        defer { store.close() }
        let (ann, bob) = (Sometimes.Person("Ann"), Sometimes.Person("Bob"))
        let context = store.context(author: "ann")
        context.insert(ann)
        context.insert(bob)
        try context.save()
        ann.address = Sometimes.Address(city: "Bern")
        bob.address = Sometimes.Address(city: "Genf", zip: "1200")
        try context.save()
        bob.address = nil
        ann.address?.city = "Chur"
        try context.save()
    }

    @Test func aValueThatBecomesOptionalIsPresentEverywhere() throws {
        try makeAlways()
        #expect(
            try Store.plan(at: path, for: Sometimes.Person.self).steps
                == ["lets Person.address be nil"])
        let store = try Store.open(at: path, for: Sometimes.Person.self)
        let ann = try #require(try store.fetch(Sometimes.Person.self).all().first)
        #expect(ann.address == Sometimes.Address(city: "Bern", zip: "3000"))
        #expect(
            try store.fetch(Sometimes.Person.self) { $0.address != nil }.count() == 1)
        let first = try store.view(asOf: 1).fetch(Sometimes.Person.self).all().first
        #expect(first?.address == Sometimes.Address(city: "Bern"))
        try check(store)
        try store.edit { try $0.fetch(Sometimes.Person.self).all().first?.address = nil }
        let before = try store.view(asOf: 2).fetch(Sometimes.Person.self).all().first
        #expect(before?.address == ann.address)
        try check(store)
        try store.undo(author: "nobody")
        try store.revert(4, author: "ann")
        #expect(try store.fetch(Sometimes.Person.self).all().first?.address == ann.address)
        try check(store)
    }

    @Test func anAddedValueIsAbsent() throws {
        let first = try Store.open(at: path, for: Lacking.Person.self)
        try first.edit { $0.insert(Lacking.Person("Ann")) }
        first.close()
        #expect(
            try Store.plan(at: path, for: Sometimes.Person.self).steps == [
                "adds Person.town, string, as \"\"",
                "adds Person.address, an embedded value, as nil",
            ])
        let store = try Store.open(at: path, for: Sometimes.Person.self)
        #expect(try store.fetch(Sometimes.Person.self).all().map(\.address) == [nil])
        try check(store)
    }

    @Test func anOptionalValueThatMustBePresentNeedsADefault() throws {
        try makeSometimes()
        #expect(
            try Store.plan(at: path, for: Always.Person.self).steps == [
                "makes Person.address.city \"unknown\" where it is nil",
                "no longer lets Person.address be nil",
            ])
        let store = try Store.open(at: path, for: Always.Person.self)
        let people = try store.fetch(Always.Person.self).sorted(by: \.name).all()
        #expect(people.map(\.address.city) == ["Chur", "unknown"])
        try check(store)
    }

    @Test func withoutADefaultItCannot() throws {
        try makeSometimes()
        let plan = try Store.plan(at: path, for: Gathered.Person.self)
        #expect(plan.isPossible)
        let strict = try Store.plan(at: path, for: Strict.Person.self)
        #expect(
            strict.problems == [
                "the model has Person.address.country, the store does not, and there is no default "
                    + "value"
            ])
    }

    @Test func addedMembersHaveTheirDefaultWhereTheValueIsPresent() throws {
        try makeSometimes()
        #expect(
            try Store.plan(at: path, for: Enlarged.Person.self).steps == [
                "renames Person.address to home", "renames Person.address.city to home.city",
                "renames Person.address.zip to home.zip",
                "makes Person.home.zip \"0000\" where it is nil",
                "adds Person.home.country, string?, as \"CH\"",
                "builds the index (home.city) of Person",
            ])
        let store = try Store.open(at: path, for: Enlarged.Person.self)
        func homes(_ revision: Revision) throws -> [Enlarged.Address?] {
            try store.view(asOf: revision).fetch(Enlarged.Person.self).sorted(by: \.name).all()
                .map(\.home)
        }
        #expect(try homes(4) == [Enlarged.Address(city: "Chur"), nil])
        #expect(try homes(3) == [Enlarged.Address(city: "Chur"), nil])
        #expect(
            try homes(2) == [
                Enlarged.Address(city: "Bern"), Enlarged.Address(city: "Genf", zip: "1200"),
            ])
        #expect(try homes(1) == [nil, nil])
        try check(store)
        let change = try #require(
            try store.journal(from: .revision(3))[0].changes(of: Enlarged.Person.self).last)
        #expect(change.old[\.home?.country] == "CH")
        #expect(try #require(change.old[\.home]) == Enlarged.Address(city: "Genf", zip: "1200"))
        #expect(change.new[\.home?.country] == .some(nil))
        try store.undo(author: "ann")
        #expect(try homes(5) == homes(2))
        try check(store)
        try store.redo(author: "ann")
        #expect(try homes(6) == homes(3))
        try check(store)
        #expect(
            try store.fetch(Enlarged.Person.self) { $0.home?.city == "Chur" }.count() == 1)
    }

    @Test func defaultsOfSeveralMigrationsAddUp() throws {
        try makeAlways()
        try Store.open(at: path, for: Sometimes.Person.self).close()
        let store = try Store.open(at: path, for: Enlarged.Person.self)
        #expect(
            try store.fetch(Enlarged.Person.self).all().map(\.home)
                == [Enlarged.Address(city: "Bern", zip: "3000")])
        try check(store)
        store.close()
        let last = try Store.open(at: path, for: Gathered.Person.self)
        #expect(
            try last.fetch(Gathered.Person.self).all().map(\.place?.city) == ["Bern"])
        try check(last)
    }

    @Test func attributesBecomeMembersOfAnOptionalValue() throws {
        try makeAlways()
        #expect(
            try Store.plan(at: path, for: Gathered.Person.self).steps == [
                "renames Person.town to place.city", "lets Person.place be nil",
                "removes Person.address.city with its values",
                "removes Person.address.zip with its values",
            ])
        let store = try Store.open(at: path, for: Gathered.Person.self)
        #expect(
            try store.fetch(Gathered.Person.self).all().map(\.place)
                == [Gathered.Place(city: "Bern")])
        try check(store)
    }

    @Test func membersOfDifferentPlacesAreRefused() throws {
        try makeSometimes()
        let plan = try Store.plan(at: path, for: Mingled.Person.self)
        #expect(
            plan.problems == [
                "the members of Person.address are not all of one embedded value in the store"
            ])
    }

    private func makeFlagged() throws {
        let store = try Store.open(at: path, for: Flagged.Person.self)
        defer { store.close() }
        try store.edit { $0.insert(Flagged.Person("Ann")) }
    }

    @Test func anAttributeOfTheSameNameIsRefused() throws {
        try makeFlagged()
        for model in [Always.Person.self, Sometimes.Person.self] as [any Model.Type] {
            let plan = try Store.plan(at: path, for: [model])
            #expect(
                plan.problems.first
                    == "Person.address is bool? in the store and an embedded value in the model")
        }
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: path, for: Sometimes.Person.self)
        }
        #expect(error.code == .modelMismatch)
        let store = try Store.open(at: path, for: Flagged.Person.self)
        #expect(try store.fetch(Flagged.Person.self).all().map(\.address) == [false])
    }

    @Test func anAttributeInPlaceOfAValueIsRefused() throws {
        try makeAlways()
        let problems = ["Person.address is an embedded value in the store and bool? in the model"]
        #expect(try Store.plan(at: path, for: Answered.Person.self).problems == problems)
        try Store.open(at: path, for: Sometimes.Person.self).close()
        #expect(try Store.plan(at: path, for: Answered.Person.self).problems == problems)
    }

    @Test func codeMakesAnAttributeAValueOfTheSameName() throws {
        try makeFlagged()
        let plan = MigrationPlan(
            .version(Flagged.Person.self),
            .version(Sometimes.Person.self) { step in
                try step.forEach(Flagged.Person.self, Sometimes.Person.self) { old, new in
                    new.address = Sometimes.Address(city: "\(old.address ?? true)")
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let people = try store.fetch(Sometimes.Person.self).all()
        #expect(people.map(\.address) == [Sometimes.Address(city: "false")])
        try check(store)
    }
}
