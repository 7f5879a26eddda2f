import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Random histories beside a plain model, and damage.
struct IndexHistoryTests {
    private static let seed: UInt64 = 0x57e7_2700

    private struct People {
        var random: SeededGenerator

        mutating func pick<T>(_ values: [T]) -> T {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func values() -> [Value] {
            let long = String(repeating: "long ", count: 120)
            return person(
                pick(["Ada", "ada", "\u{e9}", "e\u{301}", "", "\0", "Bob", long, long + "2"]),
                city: pick([nil, "Kiel", "KIEL", "Ulm"]), age: pick([nil, 1, 2, -1]),
                score: pick([0, -0.0, .nan, 1.5, -.infinity]),
                notes: pick([nil, nil, long, long + "a", long + "b", "short"]))
        }

        /// Sets, deletes and swaps of a few objects.
        mutating func edits(of library: Library) -> [Edit] {
            var state: [ObjectKey: [Value]?] = [:]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let key = person(Int.random(in: 1...7, using: &random))
                let other = person(Int.random(in: 1...7, using: &random))
                switch Int.random(in: 0..<5, using: &random) {
                case 0: state[key] = .some(nil)
                case 1:
                    let one = state[key] ?? library.now.values[key]
                    state[key] = state[other] ?? library.now.values[other]
                    state[other] = one
                default: state[key] = values()
                }
            }
            return state.sorted { $0.key < $1.key }.compactMap { key, new in
                let old = library.now.values[key]
                return old?.map(\.cell) == new?.map(\.cell) ? nil : library.edit(key, new)
            }
        }
    }

    /// Returns the form of a text in an index; written without the code under test.
    private func text(_ value: Value, _ part: EntityIndex.Part) -> String? {
        guard case .string(let text) = value else { return nil }
        return part.folding.contains(.caseInsensitive) ? text.lowercased() : text
    }

    private func areSame(_ one: [Value], _ other: [Value], _ index: EntityIndex) -> Bool {
        index.parts.allSatisfy { part in
            let (one, other) = (one[part.slot], other[part.slot])
            if one == .null || other == .null { return false }
            if let one = text(one, part), let other = text(other, part) { return one == other }
            return one == other
        }
    }

    /// The first two objects that have the same values of a unique index.
    private func isRefused(_ edits: [Edit], _ library: Library) -> Bool {
        var state = library.now.values
        for edit in edits { state[edit.key] = edit.after }
        let unique = library.file.schema.indexes.map(\.index).filter(\.isUnique)
        let objects = state.sorted { $0.key < $1.key }
        return objects.indices.contains { one in
            objects[..<one].contains { other in
                unique.contains { areSame(objects[one].value, other.value, $0) }
            }
        }
    }

    @Test func randomHistoriesKeepWhatAModelKeeps() throws {
        var refusedCount = 0
        for stream in 0..<10 {
            let library = try Library(schema: .people)
            var people = People(random: SeededGenerator(seed: Self.seed, stream: stream))
            for round in 0..<60 {
                let edits = people.edits(of: library)
                if edits.isEmpty { continue }
                let isRefused = isRefused(edits, library)
                let reasons = try library.refusal(edits)
                #expect(reasons.isEmpty != isRefused, "stream \(stream), round \(round)")
                if isRefused { refusedCount += 1 }
                if round % 20 == 19 { try library.reopen() }
            }
            #expect(try library.file.verify().problems == [], "stream \(stream)")
            let names = library.now.values.sorted { one, other in
                guard case .string(let one) = one.value[0], case .string(let other) = other.value[0]
                else { return false }
                return one < other
            }
            #expect(try library.file.objects(.name) == names.map(\.key.id), "stream \(stream)")
        }
        #expect(refusedCount > 50)
    }

    @Test func valuesOfAnEarlierRevisionAreFound() throws {
        let library = try Library(schema: .people)
        var people = People(random: SeededGenerator(seed: Self.seed, stream: 99))
        while library.revision < 40 {
            let edits = people.edits(of: library)
            if !edits.isEmpty { _ = try library.refusal(edits) }
        }
        let index = try library.file.index(.name)
        for revision in (1...40).map({ Revision($0) }) {
            let state = library.states[Int(revision.number)].values
            let working = WorkingState(library.file.schema, at: revision)
            for (key, values) in state {
                let found = try library.file.read { reader in
                    try working.objects(of: index, with: [values[0]], reader)
                }
                #expect(found == [key.id], "\(revision)")
            }
        }
    }

    // MARK: One value, many savers

    /// 64 threads insert objects with one and the same name at the same time, many times.
    @Test func ofManyWhoWantOneValueExactlyOneGetsItAndTheOthersLearnWho() throws {
        let (threadCount, roundCount) = (64, repetitions(1_000))
        let library = try Library(schema: .people)
        let file = library.file
        let index = try file.index(.name).number
        let arrivedCount = Monitor(0)
        let outcomes = Monitor([Int: Result<Commit, any Error>]())
        onThreads(threadCount) { thread in
            for round in 0..<roundCount {
                let number = round * threadCount + thread
                let set = Result {
                    try file.encode(
                        [Edit(person(number), from: nil, to: person("name \(round)"))],
                        EditNote(token: UInt64(thread)))
                }
                let isLast = arrivedCount.withLock { count in
                    count += 1
                    return count % threadCount == 0
                }
                if isLast { arrivedCount.notify() }
                arrivedCount.wait { $0 >= (round + 1) * threadCount ? () : nil }
                let outcome = Result { try file.commit(try set.get()) }
                outcomes.withLock { $0[number] = outcome }
            }
        }
        let all = outcomes.withLock { $0 }
        for round in 0..<roundCount {
            let numbers = round * threadCount..<(round + 1) * threadCount
            let winners = numbers.filter { (try? all[$0]?.get()) != nil }
            try #require(winners.count == 1, "round \(round)")
            for number in numbers where number != winners[0] {
                let refusal = thrown(CommitRefusal.self) { try all[number]?.get() }
                let conflict = UniquenessConflict(
                    index: index, object: .fixed(number), other: .fixed(winners[0]))
                try #require(refusal?.reasons == [.notUnique(conflict)], "round \(round)")
            }
        }
        #expect(try library.file.verify().problems == [])
    }

    // MARK: Damage

    @Test func everyMissingAddedAndMovedEntryIsReported() throws {
        let library = try Library(schema: .people)
        let long = String(repeating: "x", count: 600)
        try library.commit(
            [
                library.edit(person(1), person("Ada", city: "Kiel", age: 1)),
                library.edit(person(2), person("Bob", notes: long)), library.edit(person(3), nil),
            ].filter { $0.before != nil || $0.after != nil })
        let entries = try #require(try library.file.dump()["indexes"])
        #expect(entries.count == 2 * 7)
        func problems() throws -> [String] { try library.file.verify().problems }
        for key in entries.keys {
            try library.file.tamper("indexes", key, nil)
            #expect(try problems().count == 1)
            var moved = key
            moved[2] ^= 1
            try library.file.tamper("indexes", moved, [])
            #expect(try problems().count == 2)
            try library.file.tamper("indexes", moved, nil)
            try library.file.tamper("indexes", key, [1])
            #expect(try problems().count == 1)
            try library.file.tamper("indexes", key, [])
        }
        for key in [[0], [0, 0, 0], [UInt8](repeating: 0xff, count: 40)] as [[UInt8]] {
            try library.file.tamper("indexes", key, [])
            #expect(try problems() == ["An entry of the indexes is malformed."])
            try library.file.tamper("indexes", key, nil)
        }
        #expect(try problems() == [])
    }

    @Test func anEntryOfAnotherLengthDoesNotTrap() throws {
        let library = try Library(schema: .people)
        let name = try library.file.index(.name).number
        try library.file.tamper("indexes", [0, UInt8(name), 1, 65, 0, 0, 7], [])
        let edit = library.edit(person(1), person("A"))
        #expect(thrown(StoreError.self) { try library.file.commit([edit]) }?.code == .damaged)
        #expect(thrown(StoreError.self) { try library.file.objects(.name) }?.code == .damaged)
    }
}
