import Foundation
import Stet
import StetStore
import StetTestSupport
import Synchronization
import Testing

private enum Version1 {
    @Model final class Person {
        var first: String
        var last: String
        var age: String

        init(first: String, last: String, age: String) {
            self.first = first
            self.last = last
            self.age = age
        }
    }
}

private enum Version2 {
    @Model final class Person {
        @Attribute(.length(1...40)) var name: String
        @Attribute(.range(0...150)) var age: Int

        init(name: String) {
            self.name = name
            age = 0
        }
    }
}

@Model private final class Town {
    @Attribute(.unique) var name: String

    init(name: String) { self.name = name }
}

@Model private final class Person {
    @Attribute(originalName: "name") var fullName: String
    @Attribute(.range(0...150)) var age: Int
    var town: Town?

    init(fullName: String) {
        self.fullName = fullName
        age = 0
    }

    static var validators: Validators<Person> {
        Validators { validation in
            guard let new = validation.new, new.fullName == "forbidden" else { return }
            validation.report(\.fullName, "that name is taken by nobody")
        }
    }
}

private struct Interruption: Error {}

@Suite struct StagedMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private static let plan = MigrationPlan(
        .version(Version1.Person.self),
        .version(Version2.Person.self) { step in
            try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                new.name = "\(old.first) \(old.last)"
                new.age = Int(old.age) ?? 0
            }
        },
        .version(Person.self, Town.self) { step in
            try step.edit { _, new in new.insert(Town(name: "Kiel")) }
            try step.forEach(Version2.Person.self, Person.self) { old, new in
                if old.age >= 18 { new.town = try new.context?.fetch(Town.self).first() }
            }
        })

    @discardableResult
    private func make(_ count: Int = 3) throws -> [UInt8] {
        let store = try Store.open(at: path, for: Version1.Person.self)
        let context = store.context()
        for number in 1...count {
            context.insert(
                Version1.Person(first: "F\(number)", last: "L\(number)", age: "\(number * 9)"))
        }
        try context.save("people")
        store.close()
        return try bytes()
    }

    private func bytes() throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private var names: [String] {
        let folder = (path as NSString).deletingLastPathComponent
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
    }

    @Test("C10 newcomer: two versions of a model, open, migrate")
    func twoVersionsOpenMigrate() throws {
        try make()
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                    new.age = Int(old.age) ?? 0
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let people = try store.context().fetch(Version2.Person.self).all()
        #expect(people.map(\.name) == ["F1 L1", "F2 L2", "F3 L3"])
        #expect(people.map(\.age) == [9, 18, 27])
    }

    @Test("C10 versions in between are gone through, and the journal tells what they did")
    func versionsInBetween() throws {
        try make()
        let hash = try Store.open(at: path, for: Version1.Person.self).journal()[0].hash
        let store = try Store.open(at: path, migrating: Self.plan)
        let context = store.context()
        let people = try context.fetch(Person.self).all()
        #expect(people.map(\.fullName) == ["F1 L1", "F2 L2", "F3 L3"])
        #expect(people.map { $0.town?.name } == [nil, "Kiel", "Kiel"])
        #expect(try store.verify().problems == [])
        let commits = try store.journal()
        #expect(commits[0].hash == hash)
        #expect(commits.map(\.cause) == [.edit] + Array(repeating: .migration, count: 5))
        #expect(commits.map(\.changeCount) == [3, 0, 3, 0, 1, 2])
        // Current models show earlier commits.
        let then = commits[0].changes(of: Person.self).compactMap(\.new.snapshot)
        #expect(then.map(\.fullName) == ["", "", ""])
        #expect(
            commits[2].changes(of: Person.self).map { $0.new[\.fullName] } == people.map(\.fullName)
        )
        #expect(names.filter { $0.contains("migrating") } == [])
        store.close()
        #expect(try Store.open(at: path, migrating: Self.plan).revision() == 6)
    }

    @Test func viewsLeadThroughTheStepsOfAMigration() throws {
        try make()
        let store = try Store.open(at: path, migrating: Self.plan)
        func people(_ revision: Revision) throws -> [Person.Snapshot] {
            try store.view(asOf: revision).fetch(Person.self).all()
        }
        #expect(try people(.zero).isEmpty)
        // Before the step that set the names, the current models show none.
        #expect(try people(1).map(\.fullName) == ["", "", ""])
        #expect(try people(3).map(\.fullName) == ["F1 L1", "F2 L2", "F3 L3"])
        #expect(try people(3).map(\.age) == [9, 18, 27])
        #expect(try people(3).allSatisfy { $0.town == nil })
        #expect(try people(6) == store.fetch(Person.self).all())
        let inKiel = try store.view(asOf: 6).fetch(Person.self) { $0.town?.name == "Kiel" }
        #expect(try inKiel.count() == 2)
    }

    @Test func aTrimmedStoreIsMigratedAndTrimmedOn() throws {
        try make()
        var configuration = Store.Configuration()
        configuration.retention = .count(1)
        let before = try Store.open(at: path, for: Version1.Person.self)
        try before.requestTrim(before: .max).confirm()
        before.close()
        let store = try Store.open(
            at: path, migrating: Self.plan, configuration: configuration)
        #expect(try store.floor() == 1)
        #expect(
            try store.context().fetch(Person.self).all().map(\.fullName) == [
                "F1 L1", "F2 L2", "F3 L3",
            ])
        #expect(try store.verify().problems == [])
        for last in [3, 6] as [Revision] {
            try store.requestTrim(before: last).confirm()
            #expect(try store.verify().problems == [])
        }
        store.close()
        #expect(try Store.open(at: path, migrating: Self.plan).verify().problems == [])
    }

    @Test func aRedactionDuringAStepLeavesATrimmedStoreThatVerifies() throws {
        try make()
        let before = try Store.open(at: path, for: Version1.Person.self)
        let context = before.context()
        let person = try #require(try context.fetch(Version1.Person.self).first())
        let id = person.id
        for name in ["Secret", "Open"] {
            person.last = name
            try context.save()
        }
        try before.requestTrim(before: 3).confirm()
        before.close()
        let path = path
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try Store.open(at: path, for: Version1.Person.self)
                    .requestRedaction(of: Version1.Person.self, id: id, \.last).confirm()
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        #expect(try store.verify().problems == [])
        #expect(try store.journal(from: .earliest)[0].isRedacted)
        let copy = directory.file("copy")
        try store.compact(to: copy)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
        #expect(bytes.range(of: Data("Secret".utf8)) == nil)
        #expect(bytes.range(of: Data("F1 Open".utf8)) != nil)
    }

    @Test func aNewStoreHasTheLastVersionAtOnce() throws {
        let store = try Store.open(at: path, migrating: Self.plan)
        #expect(try store.revision() == 0)
        #expect(try store.context().fetch(Town.self).all() == [])
    }

    @Test func aStepThatFailsLeavesNothing() throws {
        let before = try make()
        let failing = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = old.first
                    if old.first == "F3" { throw Interruption() }
                }
            })
        #expect(throws: Interruption.self) { try Store.open(at: path, migrating: failing) }
        #expect(try bytes() == before)
        #expect(names.filter { $0.contains("migrating") } == [])
    }

    @Test func objectsThatAreNotValidAtTheEndAreNamedAndNothingIsChanged() throws {
        let before = try make()
        // No save has checked the objects, because none was edited.
        let silent = MigrationPlan(
            .version(Version1.Person.self), .version(Version2.Person.self) { _ in })
        let error = try #require(throws: ValidationError.self) {
            try Store.open(at: path, migrating: silent)
        }
        #expect(
            error.violations.map(\.message)
                == Array(repeating: "name must be at least 1 character", count: 3))
        #expect(Set(error.violations.compactMap(\.object)).count == 3)
        #expect(try bytes() == before)
        let store = try Store.open(at: path, for: Version1.Person.self)
        #expect(
            try store.context().fetch(Version1.Person.self).all().map(\.first) == [
                "F1", "F2", "F3",
            ])
    }

    @Test func anInterruptedMigrationGoesOnWhereItEnded() throws {
        try make(2_500)
        let calls = Mutex<[String]>([])
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try step.edit { _, new in new.insert(Version2.Person(name: "extra")) }
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                    calls.withLock { $0.append(old.first) }
                }
            })
        var configuration = Store.Configuration()
        let reports = Mutex<[MigrationPlan.Progress]>([])
        for attempt in 1...3 {
            configuration.migrationProgress = { progress in
                reports.withLock { $0.append(progress) }
                if attempt < 3 { throw Interruption() }
            }
            if attempt == 3 { break }
            #expect(throws: Interruption.self) {
                try Store.open(at: path, migrating: plan, configuration: configuration)
            }
            // The unmigrated store can still be used.
            let old = try Store.open(at: path, for: Version1.Person.self)
            #expect(try old.revision() == 1)
            old.close()
        }
        let store = try Store.open(at: path, migrating: plan, configuration: configuration)
        #expect(calls.withLock { $0 } == (1...2_500).map { "F\($0)" })
        #expect(
            reports.withLock { $0.map(\.doneCount) } == [1_000, 2_000, 2_500])
        let people = try store.context().fetch(Version2.Person.self).all()
        #expect(people.count == 2_501)
        #expect(people.filter { $0.name == "extra" }.count == 1)
        #expect(try store.verify().problems == [])
    }

    /// As a process leaves it that is killed after it has made the copy.
    @Test func aCopyThatHasTheEarlierModelsIsMigrated() throws {
        try make()
        let store = try Store.open(at: path, for: Version1.Person.self)
        _ = try store.file.copy(to: "\(path).migrating-2")
        store.close()
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                }
            })
        let migrated = try Store.open(at: path, migrating: plan)
        #expect(
            try migrated.context().fetch(Version2.Person.self).all().map(\.name).sorted()
                == ["F1 L1", "F2 L2", "F3 L3"])
        #expect(!names.contains { $0.contains("migrating") })
    }

    @Test func whatOthersSaveMeanwhileIsMigratedToo() throws {
        try make()
        let path = path
        let attempts = Mutex(0)
        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Version2.Person.self) { step in
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                if attempt == 1 {
                    let context = try Store.open(at: path, for: Version1.Person.self).context()
                    context.insert(Version1.Person(first: "late", last: "er", age: "1"))
                    try context.save()
                }
                try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        #expect(attempts.withLock { $0 } == 2)
        #expect(
            try store.context().fetch(Version2.Person.self).all().map(\.name)
                == ["F1 L1", "F2 L2", "F3 L3", "late er"])
        #expect(try store.verify().problems == [])
    }
}
