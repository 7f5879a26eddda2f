import Foundation
import StetTestSupport
import Testing

@testable import Stet

/// Saves of more than a thousand changes, which are encoded on two cores, beside the same edits in
/// saves of sixty.
@MainActor @Suite(.serialized) struct LargeSavesTests {
    private nonisolated static let seeds: [UInt64] = {
        let count = ProcessInfo.processInfo.environment["STET_LARGE_SAVES"].flatMap(UInt64.init)
        return Array(0..<(count ?? 2))
    }()

    private let types: [any Model.Type] = [
        Bulk.Maker.self, Bulk.Good.self, Bulk.Mark.self, Bulk.Dot.self,
    ]

    /// Returns lines that only one of two has.
    private func differences(_ one: [String], _ other: [String]) -> [String] {
        one == other ? [] : Array(Set(one).symmetricDifference(other).sorted().prefix(6))
    }

    private func edits(_ batch: Int, _ random: inout BulkEdits) -> [BulkEdit] {
        let edits =
            switch batch {
            case 0: random.insertions(1_300)
            case 1: random.dotInsertions(1_100)
            case 2: random.edits(2_000)
            default: random.edits(600) + random.insertions(1_100) + random.edits(600)
            }
        return (0...2).flatMap { turn in edits.filter { $0.turn == turn } }
    }

    private func saveInParts(_ edits: [BulkEdit], _ small: BulkStore) async throws {
        for start in stride(from: 0, to: edits.count, by: 60) {
            for edit in edits[start..<min(start + 60, edits.count)] { try small.apply(edit) }
            try await small.context.save()
        }
    }

    /// Commits edits by another context, which overtake the pending ones.
    private func overtake(_ stores: [BulkStore], _ ids: [ObjectID], _ number: Int) async throws {
        for store in stores {
            let other = store.store.context()
            for id in ids {
                try other.object(Bulk.Dot.self, id: id)?.y = number
                try other.object(Bulk.Maker.self, id: id)?.rank = number
            }
            try await other.save("other")
        }
    }

    /// Saves what is pending, every second time with edits during the save.
    private func saveAtOnce(
        _ large: BulkStore, _ small: BulkStore, _ batch: Int, _ random: inout BulkEdits
    ) async throws -> Commit {
        let label = batch == 0 ? nil : String(repeating: "ä", count: batch * 90)
        if batch == 3 { large.context.metadata = ["key": String(repeating: "v", count: 700)] }
        if batch.isMultiple(of: 2) {
            return try #require(try await large.context.save(label, onFailure: .keepPending))
        }
        let context = large.context
        let save = Task { @MainActor in try await context.save(label) }
        await Task.yield()
        let later = random.edits(300)
        for edit in later { try large.apply(edit) }
        let commit = try #require(try await save.value)
        for edit in later { try small.apply(edit) }
        try await small.context.save()
        try await context.save("later")
        #expect(commit.label == label)
        return commit
    }

    private func expectFound(in large: BulkStore, _ random: inout BulkEdits) throws {
        let context = large.store.context()
        let goods = try context.fetch(Bulk.Good.self).all()
        let found = try context.fetch(Bulk.Good.self).matching("journal").all()
        #expect(found.count == goods.filter { $0.title.contains("journal") }.count)
        let coded = try context.fetch(Bulk.Good.self) { $0.code.contains("k1") }.all()
        #expect(coded.count == goods.filter { $0.code.contains("k1") }.count)
        let chosen = random.choice(of: goods)
        let one = try #require(chosen)
        let full = one.full
        let same = try context.fetch(Bulk.Good.self) { $0.full == full }.all()
        #expect(same.contains { $0 === one })
        #expect(try !large.store.history(of: Bulk.Good.self, id: one.id).isEmpty)
    }

    private func expectUndone(
        _ large: BulkStore, to before: [String], from after: [String]
    ) async throws {
        try await large.store.undo(author: "me")
        #expect(differences(try large.lines(), before) == [])
        try await large.store.redo(author: "me")
        #expect(differences(try large.lines(), after) == [])
        try large.context.refresh()
    }

    @Test(arguments: seeds)
    func aLargeSaveIsAsManySmallOnes(seed: UInt64) async throws {
        let hasHooks = !seed.isMultiple(of: 2)
        let types = types + (hasHooks ? [Bulk.Hooked.self] : [])
        var (large, small) = (try BulkStore(types), try BulkStore(types))
        var random = BulkEdits(seed: seed, hasHooks: hasHooks)
        for batch in 0..<4 {
            let before = try large.lines()
            random.order = BulkEdits.Order.allCases[(batch + Int(seed)) % 3]
            let known = Array(random.dots.prefix(20) + random.makers.prefix(1))
            let edits = edits(batch, &random)
            try await saveInParts(edits, small)
            for edit in edits { try large.apply(edit) }
            if batch > 0 { try await overtake([large, small], known, batch) }
            let commit = try await saveAtOnce(large, small, batch, &random)
            let revision = commit.revision
            let read = try large.store.journal(from: .revision(revision), to: .revision(revision))
            #expect(read.map(\.changeSet) == [commit.changeSet])
            #expect(read.map(\.label) == [commit.label])
            try large.context.refresh()
            let after = try large.lines()
            #expect(differences(after, try small.lines()) == [], "batch \(batch)")
            #expect(differences(after, try large.lines(in: large.context)) == [], "batch \(batch)")
            if batch == 0 { try await expectUndone(large, to: before, from: after) }
            try expectFound(in: large, &random)
        }
        #expect(try large.store.verify().problems == [])
        try await expectSameElsewhere(&large)
    }

    /// Compares the store with its copy from the shipped journal, and with itself opened again.
    private func expectSameElsewhere(_ large: inout BulkStore) async throws {
        let lines = try large.lines()
        let (shipped, copy) = (large.directory.file("shipped"), large.directory.file("copy.stet"))
        try FileManager.default.createDirectory(atPath: shipped, withIntermediateDirectories: true)
        try await large.store.ship(to: shipped)
        #expect(try await Store.restore(from: shipped, to: copy).problems == [])
        for path in [large.store.path, copy] {
            large.context = large.store.context()
            large.store.close()
            large.store = try Store.open(at: path, for: large.types)
            #expect(differences(try large.lines(), lines) == [])
        }
        large.store.close()
    }
}
