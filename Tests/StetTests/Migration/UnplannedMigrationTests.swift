import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Person {
        var first: String = ""

        init() {}
    }
}

/// The first version with a property that no plan knows.
private enum Unplanned {
    @Model final class Person {
        var first: String = ""
        var note: String?

        init() {}
    }
}

/// A version with which any of the others can be opened.
private enum Version2 {
    @Model final class Person {
        var title: String = ""

        init() {}
    }
}

/// Stores whose models no version of a plan has.
@Suite struct UnplannedMigrationTests {
    @Test func aStoreOfNoVersionOfThePlanIsRefused() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Unplanned.Person.self)
        let context = store.context()
        let person = Unplanned.Person()
        person.first = "Ada"
        context.insert(person)
        try context.save()
        store.close()
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.title = old.first
                }
            })
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: directory.file(), migrating: plan)
        }
        #expect(error.code == .modelMismatch)
        #expect(error.message == "The store has none of the versions of the migration plan.")
        let same = try Store.open(at: directory.file(), for: Unplanned.Person.self)
        #expect(try same.fetch(Unplanned.Person.self).all().map(\.first) == ["Ada"])
        same.close()
        // Without a step, nothing can be skipped.
        let light = MigrationPlan(.version(Version1.Person.self), .version(Version2.Person.self))
        let opened = try Store.open(at: directory.file(), migrating: light)
        #expect(try opened.fetch(Version2.Person.self).all().map(\.title) == [""])
    }
}
