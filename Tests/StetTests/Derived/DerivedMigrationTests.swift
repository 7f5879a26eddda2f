import Stet
import StetStore
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

    /// After a failure of the disk, the journal is asked for such a commit by this token.
    @Test func theTokenOfACommitThatComputesHasTheMarkOfItsBase() throws {
        let path = directory.file()
        let plain = try Store.open(at: path, for: Plain.Person.self)
        try plain.edit { $0.insert(Plain.Person(first: "Ada", last: "Byron")) }
        plain.close()
        try Store.open(at: path, for: Derived.Person.self).close()

        let file = try StoreFile.open(at: path)
        let head = try file.head().revision
        let commit = try file.read { try $0.commit(head) }
        #expect(commit.label == "derive Person")
        let mark = try file.token(at: commit.envelope.base, 0)
        #expect(mark > 0)
        #expect(commit.id.token ^ mark < 1 << 40)
    }
}

private enum Slug {
    @Model final class Page {
        @Attribute(.unique) var slug: String
        var title: String

        init(slug: String, title: String) {
            self.slug = slug
            self.title = title
        }
    }
}

private enum DerivedSlug {
    @Model final class Page {
        @Attribute(.unique) @Derived var slug: String { title }
        var title: String

        init(title: String) { self.title = title }
    }
}

private enum PlainSlug {
    @Model final class Page {
        @Derived var slug: String { title }
        var title: String

        init(title: String) { self.title = title }
    }
}

private enum Reading {
    @Model final class Entry {
        var one: String = "1"
        var other: String = "2"
        @Derived var shown: String { one }
        init() {}
    }
}

/// The attribute in the place of `one` is another one.
private enum ReadingAnother {
    @Model final class Entry {
        var another: String = "3"
        var other: String = "2"
        @Derived var shown: String { another }
        init() {}
    }
}

private enum OptionalInput {
    @Model final class Entry {
        var nick: String?
        @Derived var shown: String? { nick }
        init() {}
    }
}

private enum DefaultInput {
    @Model final class Entry {
        var nick: String = "-"
        @Derived var shown: String? { nick }
        init() {}
    }
}

/// Derived attributes of which a migration changes what they read.
@Suite struct DerivedInputMigrationTests {
    private let directory = TemporaryDirectory()

    private func save(_ object: some Model, in model: any Model.Type) throws {
        let store = try Store.open(at: directory.file(), for: model)
        let context = store.context()
        context.insert(object)
        try context.save()
        store.close()
    }

    @Test func anotherAttributeInThePlaceOfTheFormerIsRead() throws {
        try save(Reading.Entry(), in: Reading.Entry.self)
        let store = try Store.open(at: directory.file(), for: ReadingAnother.Entry.self)
        #expect(try store.fetch(ReadingAnother.Entry.self).values(of: \.shown) == ["3"])
        #expect(try store.verify().problems == [])
    }

    @Test func theDefaultOfAnInputIsRead() throws {
        try save(OptionalInput.Entry(), in: OptionalInput.Entry.self)
        let store = try Store.open(at: directory.file(), for: DefaultInput.Entry.self)
        #expect(try store.fetch(DefaultInput.Entry.self).values(of: \.shown) == ["-"])
        #expect(try store.verify().problems == [])
    }

    @Test func equalValuesOfAUniqueAttributeAreNamed() throws {
        for slug in ["one", "other"] {
            try save(Slug.Page(slug: slug, title: "same"), in: Slug.Page.self)
        }
        let error = #expect(throws: StoreError.self) {
            try Store.open(at: directory.file(), for: DerivedSlug.Page.self)
        }
        #expect(error?.code == .migrationFailed)
        #expect(error?.message.contains("the same values of a unique index") == true)
        let store = try Store.open(at: directory.file(), for: PlainSlug.Page.self)
        #expect(try store.fetch(PlainSlug.Page.self).values(of: \.slug) == ["same", "same"])
        #expect(try store.verify().problems == [])
    }

    @Test func largeObjectsAreComputedInSmallCommits() throws {
        let plain = try Store.open(at: directory.file(), for: Plain.Person.self)
        let context = plain.context()
        for _ in 0..<5 {
            context.insert(
                Plain.Person(first: String(repeating: "x", count: 6 << 20), last: ""))
        }
        try context.save()
        plain.close()
        let store = try Store.open(at: directory.file(), for: Derived.Person.self)
        // Three objects are beyond the limit of a commit.
        #expect(try store.revision() == 4)
        #expect(try store.verify().problems == [])
    }
}
