import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

struct ObjectIDTests {
    @Test func idsOfOneProcessAscend() {
        let ids = (0..<100_000).map { _ in ObjectID() }
        let breaks = zip(ids, ids.dropFirst()).filter { !($0 < $1) }
        #expect(breaks.isEmpty, "\(breaks.first.map { "\($0) before \($1)" } ?? "")")
    }

    @Test func theFirstHalvesOfIDsDiffer() {
        // More than a counter of 12 bits has room for in a millisecond.
        let halves = (0..<100_000).map { _ in ObjectID().high }
        #expect(Set(halves).count == halves.count)
    }

    @Test func idsAreUUIDsOfVersionSevenWithTheVariantOfTheStandard() {
        let before = UInt64(Date().timeIntervalSince1970 * 1_000)
        for _ in 0..<1_000 {
            let id = ObjectID()
            #expect(id.high >> 12 & 0xf == 7, "\(id)")
            #expect(id.low >> 62 == 0b10, "\(id)")
        }
        // An id is never older than the clock; bursts of many ids may run ahead of it.
        #expect(ObjectID().high >> 16 >= before)
    }

    @Test func idsOfManyThreadsAreUniqueAndAscendInEachThread() {
        let all = Monitor<[[ObjectID]]>([])
        let group = DispatchGroup()
        for _ in 0..<6 {
            group.enter()
            Thread.detachNewThread {
                let ids = (0..<10_000).map { _ in ObjectID() }
                all.withLock { $0.append(ids) }
                group.leave()
            }
        }
        group.wait()
        let runs = all.withLock { $0 }
        #expect(Set(runs.joined()).count == 60_000)
        for run in runs { #expect(run == run.sorted()) }
    }

    @Test func idsOfSuccessiveMillisecondsAreNotPredictableFromEachOther() {
        // The second halves are random: their upper and their lower parts are.
        let ids = (0..<1_000).map { _ in ObjectID() }
        let steps = zip(ids, ids.dropFirst()).map { $1.low &- $0.low }
        #expect(Set(steps.map { $0 >> 32 }).count > 990)
        #expect(Set(steps.map { $0 & 0xffff_ffff }).count > 990)
    }

    @Test func descriptionBytesAndCodableBringAnIDBack() throws {
        let seed: UInt64 = 0x57e7_2000
        var random = SeededGenerator(seed: seed)
        var ids = (0..<500).map { _ in ObjectID(high: random.next(), low: random.next()) }
        ids += [ObjectID(), ObjectID(high: 0, low: 1), ObjectID(high: .max, low: .max)]
        for id in ids {
            let note: Comment = "seed \(seed), \(id)"
            #expect(ObjectID(id.description) == id, note)
            #expect(ObjectID(id.description.uppercased()) == id, note)
            #expect(ObjectID(id.uuid) == id, note)
            #expect(id.bytes.withUnsafeBytes { ObjectID(bytes: $0) } == id, note)
            let json = try JSONEncoder().encode([id])
            #expect(String(decoding: json, as: UTF8.self) == "[\"\(id)\"]", note)
            #expect(try JSONDecoder().decode([ObjectID].self, from: json) == [id], note)
        }
        #expect(
            ObjectID(high: 0x0123_4567_89ab_7def, low: 0x8123_4567_89ab_cdef).description
                == "01234567-89ab-7def-8123-456789abcdef")
    }

    @Test func theOrderOfIDsIsTheOrderOfTheirBytesAndDescriptions() {
        let seed: UInt64 = 0x57e7_2001
        var random = SeededGenerator(seed: seed)
        let ids = (0..<500).map { _ in
            ObjectID(
                high: random.next() >> UInt64.random(in: 0..<64, using: &random), low: random.next()
            )
        }
        let sorted = ids.sorted()
        #expect(sorted == ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) })
        #expect(sorted == ids.sorted { $0.description < $1.description })
    }

    @Test(arguments: [
        "", "0190", "00000000-0000-0000-0000-000000000000", "g1234567-89ab-7def-8123-456789abcdef",
        "01234567-89ab-7def-8123-456789abcdef0", "01234567-89ab-7def-8123-456789abcde",
        " 01234567-89ab-7def-8123-456789abcdef", "01234567-89-a-7def-8123-456789abcdef",
    ])
    func textThatIsNoUUIDOrTheNilUUIDIsNoID(text: String) throws {
        #expect(ObjectID(text) == nil)
        let json = try JSONEncoder().encode([text])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ObjectID].self, from: json)
        }
    }

    @Test func anEntropyBlockDoesNotRepeatItself() {
        var block = EntropyBlock()
        var numbers: Set<UInt64> = []
        for _ in 0..<2_000 { numbers.insert(block.next()) }
        #expect(numbers.count == 2_000)
    }

    @Test(arguments: [0, 1, 255, 256, 257, 1_000])
    func entropyFillsTheWholeBuffer(byteCount: Int) {
        // A byte that stayed 0 in 20 fillings was not filled: the odds are below 2^-150.
        var seen = [UInt8](repeating: 0, count: byteCount)
        for _ in 0..<20 {
            var bytes = [UInt8](repeating: 0, count: byteCount)
            bytes.withUnsafeMutableBytes { fillWithEntropy($0) }
            for index in bytes.indices { seen[index] |= bytes[index] }
        }
        #expect(!seen.contains(0))
    }

    @Test func idsAreSpreadOverHashesHoweverTheyAndTheSecretsWereChosen() {
        let kinds: [[ObjectID]] = [
            (0..<4_096).map { _ in ObjectID() },
            (1...4_096).map { ObjectID(high: 0, low: $0) },
            (1...4_096).map { ObjectID(high: 0, low: $0 << 52) },
            (1...4_096).map { ObjectID(high: $0 << 52, low: 1 << 63) },
            (1...4_096).map { ObjectID(high: $0, low: $0) },
        ]
        var random = SeededGenerator(seed: 7)
        // Secrets with zeros at their ends are those that a single multiplication would show.
        let secrets = (0..<40).map { (random.next() << $0, random.next() << $0) }
        for ids in kinds {
            let filled = secrets.map { secrets in
                Set(ids.map { $0.hash(seed: 5, secrets: secrets) & 4_095 }).count
            }
            // As many buckets as ids: a third of them stay empty where hashes are random.
            #expect(filled.allSatisfy { $0 > 2_300 }, "\(ids[1]): \(filled)")
            #expect(Set(ids).count == ids.count)
            #expect(ids.allSatisfy(Set(ids.map { ObjectID(high: $0.high, low: $0.low) }).contains))
        }
    }
}
