import Foundation
import Stet
import StetStore
import StetTestSupport

extension Schema {
    /// The schema of the campaigns with additional indexes, one of each kind.
    static let campaignWithIndex: Schema = {
        do {
            let notebook = Entity(
                name: campaign.entities[1].name, properties: campaign.entities[1].properties,
                indexes: [
                    EntityIndex([.init(slot: 0)]), EntityIndex(words: [0]),
                    EntityIndex(substringsOf: 0),
                ])
            return try Schema(
                entities: [campaign.entities[0], notebook, campaign.entities[2]],
                links: campaign.links)
        } catch {
            preconditionFailure("the later schema of the campaigns: \(error)")
        }
    }()
}

/// Stores of people, whose models get another version with code.
enum People {
    enum Version1 {
        @Model final class Person {
            var first: String
            var last: String

            init(_ number: Int) {
                first = "F\(number)"
                last = "L\(number)"
            }
        }
    }

    enum Version2 {
        @Model final class Person {
            var name: String

            init(_ name: String) { self.name = name }
        }
    }

    static let plan = MigrationPlan(
        .version(Version1.Person.self),
        .version(Version2.Person.self) { step in
            try step.forEach(Version1.Person.self, Version2.Person.self) { old, new in
                new.name = "\(old.first) \(old.last)"
            }
        })

    /// Opens a store with the last version, checks each person, and returns a description of a
    /// problem.
    static func problem(ofStoreAt path: String) throws -> String? {
        let store = try Store.open(at: path, migrating: plan)
        defer { store.close() }
        let names = try store.context().fetch(Version2.Person.self).all().map(\.name)
        let old = names.filter { $0.hasPrefix("F") }
        let expected = Set((1...max(old.count, 1)).map { "F\($0) L\($0)" })
        guard Set(old) == expected else { return "\(old.count) people are not all or once there" }
        return try store.verify().problems.first
    }
}

extension People {
    private struct Interruption: Error {}

    static func make(_ path: String) throws {
        let store = try Store.open(at: path, for: Version1.Person.self)
        defer { store.close() }
        _ = try insert(1...1_200, into: store)
    }

    /// Migrates a store that `make` has created, and reports the promise; a system call may fail.
    static func migrate(_ path: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, stream: 1)
        if Bool.random(using: &random) {
            var configuration = Store.Configuration()
            configuration.migrationProgress = { _ in throw Interruption() }
            do {
                try Store.open(at: path, migrating: plan, configuration: configuration).close()
            } catch let error where error is Interruption || canFail {}
            // Commits of others invalidate the copies.
            if Bool.random(using: &random) {
                let store = try trying { try Store.open(at: path, for: Version1.Person.self) }
                try acknowledge { try insert(1_201...1_210, into: store) }
                store.close()
            }
        }
        let store = try trying { try Store.open(at: path, migrating: plan) }
        defer { store.close() }
        say(Promise.migrated.line)
        let context = store.context()
        for number in 1...4 {
            try acknowledge {
                context.insert(Version2.Person("later \(number)"))
                return try context.save()
            }
        }
    }

    /// Whether a system call of this process fails.
    private static let canFail = ProcessInfo.processInfo.environment["STET_FAIL_FILE"] != nil

    /// Opens a store, again if a system call has failed.
    private static func trying(_ open: () throws -> Store) throws -> Store {
        for _ in 1..<(canFail ? 5 : 1) {
            do { return try open() } catch is StoreError {}
        }
        return try open()
    }

    private static func insert(_ numbers: ClosedRange<Int>, into store: Store) throws -> Commit? {
        let context = store.context()
        for number in numbers { context.insert(Version1.Person(number)) }
        return try context.save()
    }

    /// Reports the commit of a save, unless a system call has failed.
    private static func acknowledge(_ save: () throws -> Commit?) throws {
        do {
            guard let commit = try save() else { throw CampaignFailure("nothing was saved") }
            say("\(Acknowledgement(revision: commit.revision, token: commit.id.token))")
        } catch let error
            where canFail && (error is StoreError || error is UnknownOutcomeError)
        {}
    }
}
