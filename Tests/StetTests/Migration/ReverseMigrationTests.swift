import Foundation
import StetTestSupport
import Testing

@testable import Stet

private enum Large {
    @Model final class Photo {
        var title: String
        var file: LargeData?
        init(title: String) { self.title = title }
    }
}

private enum Inline {
    @Model final class Photo {
        var title: String
        var file: Data?
        init(title: String) { self.title = title }
    }
}

private enum Housed {
    @Embedded struct Address: EmbeddedValue, Hashable {
        var city: String
        var zip: String?
    }
    @Model final class Person {
        var name: String
        var address: Address?
        init(_ name: String) { self.name = name }
    }
}

private enum Flat {
    @Model final class Person {
        var name: String
        @Attribute(.indexed, originalName: "address.city") var town: String?
        @Attribute(originalName: "address.zip") var zip: String?
        init(_ name: String) { self.name = name }
    }
}

private enum Written {
    @Model final class Person {
        var name: String
        var address: String = "nowhere"
        init(_ name: String) { self.name = name }
    }
}

private enum Lines {
    @Embedded struct Line: EmbeddedValue {
        var article: String
        var count: Int = 1
    }
    @Model final class Basket {
        var items: [Line] = []
        init() {}
    }
}

private enum Words {
    @Model final class Basket {
        var items: [String] = []
        init() {}
    }
}

/// Migrations that go back to the simpler attribute of an earlier version.
@Suite struct ReverseMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    @Test func largeDataBecomesDataByCode() throws {
        let first = try Store.open(at: path, for: Large.Photo.self)
        let context = first.context(author: "me")
        for number in 0..<4 {
            let photo = Large.Photo(title: "\(number)")
            if number < 3 {
                photo.file = try LargeData(Gallery.bytes(70_000, number % 2), in: first)
            }
            context.insert(photo)
        }
        try context.save()
        first.close()
        let error = #expect(throws: StoreError.self) {
            try Store.open(at: path, for: Inline.Photo.self)
        }
        #expect(error?.code == .modelMismatch)
        let plan = MigrationPlan(
            .version(Large.Photo.self),
            .version(Inline.Photo.self) { step in
                try step.forEach(Large.Photo.self, Inline.Photo.self) { old, new in
                    guard let file = old.file, let store = old.context?.store else { return }
                    new.file = try file.data(in: store)
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let photos = try store.fetch(Inline.Photo.self).sorted(by: \.title).all()
        #expect(photos.map(\.file) == [0, 1, 0].map { Gallery.bytes(70_000, $0) } + [nil])
        #expect(try store.verify().problems == [])
        store.close()
        let again = try Store.open(at: path, for: Inline.Photo.self)
        #expect(try again.fetch(Inline.Photo.self).all().count == 4)
        #expect(try again.verify().problems == [])
    }

    /// Makes a store in which Ann has an address, Bob had one, and Cy has none.
    private func makeHoused() throws {
        let store = try Store.open(at: path, for: Housed.Person.self)
        defer { store.close() }
        let context = store.context(author: "me")
        let people = ["Ann", "Bob", "Cy"].map { Housed.Person($0) }
        for person in people { context.insert(person) }
        people[0].address = Housed.Address(city: "Bern", zip: "3000")
        people[1].address = Housed.Address(city: "Chur")
        try context.save()
        people[1].address = nil
        try context.save()
    }

    @Test func membersOfAnOptionalValueBecomeAttributesAgain() throws {
        try makeHoused()
        let store = try Store.open(at: path, for: Flat.Person.self)
        func towns(_ revision: Revision) throws -> [String?] {
            try store.view(asOf: revision).fetch(Flat.Person.self).sorted(by: \.name).all()
                .map(\.town)
        }
        let people = try store.fetch(Flat.Person.self).sorted(by: \.name).all()
        #expect(people.map(\.town) == ["Bern", nil, nil])
        #expect(people.map(\.zip) == ["3000", nil, nil])
        #expect(try towns(1) == ["Bern", "Chur", nil])
        #expect(try store.fetch(Flat.Person.self) { $0.town == "Bern" }.count() == 1)
        #expect(try store.verify().problems == [])
        try store.undo(author: "me")
        #expect(try towns(try store.revision()) == ["Bern", "Chur", nil])
        #expect(try store.verify().problems == [])
    }

    @Test func codeMakesAnOptionalValueAnAttributeOfTheSameName() throws {
        try makeHoused()
        let plan = MigrationPlan(
            .version(Housed.Person.self),
            .version(Written.Person.self) { step in
                try step.forEach(Housed.Person.self, Written.Person.self) { old, new in
                    if let address = old.address {
                        new.address = [address.zip, address.city].compactMap { $0 }
                            .joined(separator: " ")
                    }
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let people = try store.fetch(Written.Person.self).sorted(by: \.name).all()
        #expect(people.map(\.address) == ["3000 Bern", "nowhere", "nowhere"])
        #expect(try store.verify().problems == [])
    }

    @Test func anArrayOfValuesBecomesWordsByCode() throws {
        let first = try Store.open(at: path, for: Lines.Basket.self)
        let context = first.context(author: "me")
        let baskets = [Lines.Basket(), Lines.Basket()]
        baskets[0].items = [
            Lines.Line(article: "nut", count: 3), Lines.Line(article: "saw"),
        ]
        for basket in baskets { context.insert(basket) }
        try context.save()
        first.close()
        #expect(throws: StoreError.self) { try Store.open(at: path, for: Words.Basket.self) }
        let plan = MigrationPlan(
            .version(Lines.Basket.self),
            .version(Words.Basket.self) { step in
                try step.forEach(Lines.Basket.self, Words.Basket.self) { old, new in
                    new.items = old.items.map { "\($0.count) \($0.article)" }
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let words = try baskets.map { try store.object(Words.Basket.self, id: $0.id)?.items }
        #expect(words == [["3 nut", "1 saw"], []])
        #expect(try store.verify().problems == [])
    }
}
