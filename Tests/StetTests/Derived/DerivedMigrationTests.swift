import Stet
import StetTestSupport
import Testing

private enum Plain {
    @Model final class Person {
        var first: String
        var last: String
        var fullName: String?

        init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }
}

private enum Derived {
    @Model final class Person {
        var first: String
        var last: String
        @Attribute(.indexed) @Derived var fullName: String { first + " " + last }
        @Derived var initial: String { first }

        init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }
}

private enum Other {
    @Model final class Person {
        var first: String
        var last: String
        @Attribute(.indexed) @Derived var fullName: String { last + ", " + first }
        var initial: String = ""

        init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }
}

/// Attributes that become derived ones, get another expression, or are no longer derived.
@Suite struct DerivedMigrationTests {
    private let directory = TemporaryDirectory()

    @Test func theValuesOfAllObjectsAreComputedWhenTheStoreIsOpened() throws {
        let path = directory.file()
        let plain = try Store.open(at: path, for: Plain.Person.self)
        let context = plain.context()
        for number in 0..<2_100 {
            let person = Plain.Person(first: "\(number)", last: "Byron")
            person.fullName = "outdated"
            context.insert(person)
        }
        try context.save()
        plain.close()

        let outline = "\(try Store.plan(at: path, for: Derived.Person.self))"
        #expect(outline.contains("derives Person.fullName"), "\(outline)")
        let derived = try Store.open(at: path, for: Derived.Person.self)
        #expect(try derived.verify().problems == [])
        let people = try derived.context().fetch(Derived.Person.self).snapshots()
        #expect(people.count == 2_100)
        #expect(people.allSatisfy { $0.fullName == "\($0.first) Byron" && $0.initial == $0.first })
        let found = derived.context().fetch(Derived.Person.self) { $0.fullName == "7 Byron" }
        #expect(try found.all().count == 1)
        let revision = try derived.revision()
        derived.close()
        let again = try Store.open(at: path, for: Derived.Person.self)
        #expect(try again.revision() == revision)
        again.close()

        let other = try Store.open(at: path, for: Other.Person.self)
        #expect(try other.verify().problems == [])
        let person = try #require(
            try other.context().fetch(Other.Person.self) { $0.fullName == "Byron, 7" }.first())
        #expect(person.initial == "7")
    }
}
