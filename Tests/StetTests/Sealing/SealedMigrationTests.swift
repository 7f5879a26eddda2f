import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

private enum First {
    @Model final class Person {
        var name: String
        var code: String?

        init(name: String) { self.name = name }
    }
}

private enum Second {
    @Model final class Person {
        var name: Sealed<String>
        var code: Sealed<String>?

        init(name: String) { self.name = Sealed(name) }
    }
}

private enum Third {
    @Model final class Person {
        var name: String
        var code: Sealed<Int>?

        init(name: String) { self.name = name }
    }
}

private enum Renumbered {
    @Model final class Person {
        var name: Sealed<Int>
        var code: Sealed<[String]>?

        init(name: Int) { self.name = Sealed(name) }
    }
}

/// Attributes that become sealed, and plain again.
@Suite struct SealedMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("people.stet") }

    private func configuration() async throws -> Store.Configuration {
        let key = directory.file("key")
        if !FileManager.default.fileExists(atPath: key) {
            try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        }
        var configuration = Store.Configuration()
        configuration.keys = try await KeyFile.open(
            at: directory.file("people.keys"), provider: .file(key))
        return configuration
    }

    /// Makes a store with two people, who have a code.
    private func makePeople() throws -> [ObjectID] {
        let store = try Store.open(at: path, for: First.Person.self)
        defer { store.close() }
        let context = store.context(author: "me")
        let people = ["Ada", "Bob"].map { First.Person(name: $0) }
        for (number, person) in people.enumerated() {
            person.code = "\(number + 1)"
            context.insert(person)
        }
        try context.save()
        return people.map(\.id)
    }

    private static func seal(_ step: MigrationPlan.Step) throws {
        try step.forEach(First.Person.self, Second.Person.self) { old, new in
            new.name = Sealed(old.name)
            new.code = old.code.map { Sealed($0) }
        }
    }

    private static let toSealed = MigrationPlan(
        .version(First.Person.self), .version(Second.Person.self, step: seal))

    /// Opens the sealed values; an erased one is left out.
    private static func unseal(_ step: MigrationPlan.Step) throws {
        try step.forEach(Second.Person.self, Third.Person.self) { old, new in
            new.name = old.name.isErased ? "erased" : try old.name.value
            if let code = old.code, !code.isErased { new.code = Sealed(Int(try code.value) ?? 0) }
        }
    }

    private static let toPlain = MigrationPlan(
        .version(First.Person.self), .version(Second.Person.self, step: seal),
        .version(Third.Person.self, step: unseal))

    @Test func codeSealsValuesAndMakesThemPlainAgain() async throws {
        let ids = try makePeople()
        let configuration = try await configuration()
        let sealed = try Store.open(
            at: path, migrating: Self.toSealed, configuration: configuration)
        let people = try sealed.context().fetch(Second.Person.self).all()
        #expect(people.map(\.id) == ids)
        #expect(try people.map { try $0.name.value } == ["Ada", "Bob"])
        try configuration.keys?.destroyKey(of: ids[1])
        sealed.close()
        let store = try Store.open(at: path, migrating: Self.toPlain, configuration: configuration)
        let context = store.context(author: "me")
        let plain = try context.fetch(Third.Person.self).all()
        #expect(plain.map(\.name) == ["Ada", "erased"])
        // Of another type than before.
        #expect(try plain[0].code?.value == 1)
        #expect(plain[1].code?.isErased == true)
        #expect(try context.fetch(Third.Person.self) { $0.name == "Ada" }.count() == 1)
        #expect(try store.verify().problems == [])
        plain[0].name = "Eve"
        try await context.save()
        try await store.undo(author: "me")
        #expect(try store.fetch(Third.Person.self).all().map(\.name) == ["Ada", "erased"])
        store.close()
        // Neither the plain value nor the sealed one that remains needs the key to be opened again.
        let again = try Store.open(at: path, for: Third.Person.self)
        #expect(try again.fetch(Third.Person.self).all().map(\.name) == ["Ada", "erased"])
        #expect(try again.verify().problems == [])
    }

    @Test func withoutCodeNeitherIsDone() async throws {
        _ = try makePeople()
        let configuration = try await configuration()
        func refusal(_ type: any Model.Type) -> String {
            let error = #expect(throws: StoreError.self) {
                try Store.open(at: path, for: type, configuration: configuration)
            }
            #expect(error?.code == .modelMismatch)
            return error?.message ?? ""
        }
        let sealing = refusal(Second.Person.self)
        #expect(
            sealing.contains("Person.name is string in the store and sealed value in the model"))
        try Store.open(at: path, migrating: Self.toSealed, configuration: configuration).close()
        let plain = refusal(First.Person.self)
        #expect(
            plain.contains("Person.name is sealed value in the store and string in the model"))
        let store = try Store.open(
            at: path, for: Second.Person.self, configuration: configuration)
        #expect(try store.context().fetch(Second.Person.self).count() == 2)
    }

    @Test func aMigrationThatCannotOpenAValueChangesNothing() async throws {
        let ids = try makePeople()
        var configuration = try await configuration()
        try Store.open(at: path, migrating: Self.toSealed, configuration: configuration).close()
        configuration.keys = nil
        let error = #expect(throws: SealingError.self) {
            try Store.open(at: path, migrating: Self.toPlain, configuration: configuration)
        }
        #expect(error?.code == .keyFileNotOpen)
        let keys = try await self.configuration()
        let store = try Store.open(at: path, for: Second.Person.self, configuration: keys)
        let people = try store.context().fetch(Second.Person.self).all()
        #expect(people.map(\.id) == ids)
        #expect(try people.map { try $0.name.value } == ["Ada", "Bob"])
    }

    /// The store does not record the type of a sealed value: only reading it shows the mistake.
    @Test func anotherTypeWithoutCodeIsAnErrorOfEachValue() async throws {
        let ids = try makePeople()
        let configuration = try await configuration()
        try Store.open(at: path, migrating: Self.toSealed, configuration: configuration).close()
        let store = try Store.open(
            at: path, for: Renumbered.Person.self, configuration: configuration)
        let context = store.context(author: "me")
        let people = try context.fetch(Renumbered.Person.self).all()
        #expect(people.map(\.id) == ids)
        for person in people {
            #expect(try sealingCode(person.name) == .wrongType)
            #expect(try sealingCode(person.code) == .wrongType)
            #expect(!person.name.isErased)
        }
        people[0].name = Sealed(7)
        try await context.save()
        #expect(try people[0].name.value == 7)
        #expect(try store.verify().problems == [])
        try await store.undo(author: "me")
        store.close()
        // With the former type they are as they were.
        let former = try Store.open(
            at: path, for: Second.Person.self, configuration: configuration)
        let again = try former.context().fetch(Second.Person.self).all()
        #expect(try again.map { try $0.name.value } == ["Ada", "Bob"])
        #expect(try again.map { try $0.code?.value } == ["1", "2"])
    }
}
