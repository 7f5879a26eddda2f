import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

private enum Indexed {
    @Model final class Person {
        @Attribute(.indexed) var name: String

        init(name: String) { self.name = name }
    }
}

private enum Plain {
    @Model final class Person {
        var name: String

        init(name: String) { self.name = name }
    }
}

private enum Coded {
    @Model final class Person {
        var name: String
        var age: Int = 0

        init(name: String) { self.name = name }
    }
}

extension LoggedStoreTests {
    private static let plan = MigrationPlan(
        .version(Plain.Person.self),
        .version(Coded.Person.self) { step in
            try step.forEach(Plain.Person.self, Coded.Person.self) { old, new in
                new.name = "\(old.name)!"
                new.age = 7
            }
        })

    @Test func noStoreIsMadeInThePlaceOfALogThatHasCommits() throws {
        let store = try open(.logged)
        try save("A", in: store)
        let moved = try killed()
        store.close()
        let place = directory.file("place.stet")
        for suffix in ["-log-0", "-log-1"] {
            try FileManager.default.moveItem(atPath: moved + suffix, toPath: place + suffix)
        }
        for durability in [Durability.synced, .logged] {
            #expect(code { try open(durability, at: place).close() } == .alreadyExists)
        }
        #expect(code { try open(.synced).compact(to: place) } == .alreadyExists)
        for suffix in ["-log-0", "-log-1"] {
            try FileManager.default.moveItem(atPath: place + suffix, toPath: moved + suffix)
        }
        let again = try open(.synced, at: moved)
        defer { again.close() }
        #expect(try names(again) == ["A"])
    }

    @Test func whatAKilledMigrationHasLeftIsRemoved() throws {
        try Store.open(at: path, for: Plain.Person.self).close()
        for ending in ["", "-lock", "-log-0", "-log-1"] {
            let leftover = URL(fileURLWithPath: "\(path).migrating-2\(ending)")
            try Data("left".utf8).write(to: leftover)
        }
        var configuration = Store.Configuration()
        configuration.durability = .logged
        try Store.open(at: path, migrating: Self.plan, configuration: configuration).close()
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.filter { $0.contains("migrating") } == [])
    }

    @Test func aMigrationOfAStoreThatHadIndexesIsInTheLog() throws {
        let indexed = try Store.open(at: path, for: Indexed.Person.self)
        let context = indexed.context()
        context.insert(Indexed.Person(name: "Mara"))
        try context.save()
        indexed.close()
        // Its table of indexes remains, and is empty.
        try Store.open(at: path, for: Plain.Person.self).close()
        var configuration = Store.Configuration()
        configuration.durability = .logged
        let store = try Store.open(at: path, migrating: Self.plan, configuration: configuration)
        defer { store.close() }
        let again = try Store.open(at: try killed(), for: Coded.Person.self)
        defer { again.close() }
        let people = try again.context().fetch(Coded.Person.self).all()
        #expect(people.map(\.name) == ["Mara!"])
        #expect(people.map(\.age) == [7])
        #expect(try again.verify().isClean)
    }

    /// A migration would write to a file of which nothing is known yet.
    @Test func aDamagedStoreWithoutItsLogIsNotMigrated() throws {
        var configuration = Store.Configuration()
        configuration.durability = .none
        let store = try Store.open(at: path, for: Plain.Person.self, configuration: configuration)
        defer { store.close() }
        let context = store.context()
        context.insert(Plain.Person(name: "Mara"))
        try context.save()
        try store.file.environment.write { try $0.empty(try $0.table("records.1")) }
        let copy = try killed()
        configuration.recoversWithoutLog = true
        for type in [Coded.Person.self, Plain.Person.self] as [any Model.Type] {
            let refusal = code {
                try Store.open(at: copy, for: [type], configuration: configuration).close()
            }
            #expect(refusal == .damaged)
            #expect(LogMark.read(path: copy)?.kind == .unsynced)
        }
    }
}
