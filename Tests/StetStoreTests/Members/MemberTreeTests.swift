import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The tree of members beside a plain dictionary of sets.
struct MemberTreeTests {
    private let directory = TemporaryDirectory()
    private let schema: Schema
    private let environment: Environment
    private let tree: MemberTree

    init() throws {
        schema = try Schema(entities: [
            Entity(name: "Notebook", properties: []),
            Entity(
                name: "Article",
                properties: [
                    Property(
                        name: "notebook", type: .reference, isOptional: true, target: "Notebook"),
                    Property(
                        name: "archive", type: .reference, isOptional: true, target: "Notebook"),
                ]),
        ])
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        environment = try Environment.open(at: directory.file(), configuration)
        tree = MemberTree(table: try environment.write { try $0.table(MemberTree.tableName) })
    }

    private func id(_ number: Int) -> ObjectID {
        ObjectID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number))
    }

    private func end(_ slot: Slot) throws -> MemberEnd {
        let number = try #require(schema.number(ofEntity: "Article"))
        return try #require(schema.end(ofEntity: number, slot: slot))
    }

    private func apply(_ edits: [MemberEdit]) throws {
        try environment.write { try tree.apply(edits.sorted(), at: 1, schema, in: $0) }
    }

    private func members(of owner: ObjectID, at end: MemberEnd) throws -> [ObjectID] {
        try environment.read { transaction in
            var members: [ObjectID] = []
            try tree.forEachEntry(of: owner, at: end, in: transaction) { entry in
                members.append(entry.id)
                return true
            }
            #expect(try tree.count(of: owner, at: end, in: transaction) == members.count)
            return members
        }
    }

    /// The number of entries in each chunk of a list.
    private func chunkSizes(of owner: ObjectID, at end: MemberEnd) throws -> [Int] {
        try environment.read { transaction in
            var sizes: [Int] = []
            try transaction.scan(tree.table, KeyRange(prefix: MemberKey.prefix(end.number, owner)))
            {
                key, value in
                #expect(value.count <= MemberChunk.headerByteCount + MemberChunk.byteLimit)
                sizes.append(try MemberChunk(decoding: value, at: key, end.layout).entryCount)
                return true
            }
            return sizes
        }
    }

    @Test(arguments: 1...8)
    func randomEditsGiveTheListsOfAPlainModel(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let ends = [try end(0), try end(1)]
        var expected: [EndNumber: [ObjectID: Set<ObjectID>]] = [:]
        for round in 0..<60 {
            var edits: [EndNumber: [ObjectID: [ObjectID: Bool]]] = [:]
            let count = Int.random(in: 1...(round % 7 == 0 ? 400 : 20), using: &random)
            let range = Int.random(in: 1...500, using: &random)
            // Lists grow, then shrink until chunks are merged and removed.
            let share = round < 30 ? 0.8 : 0.15
            for _ in 0..<count {
                let end = ends[Int.random(in: 0...1, using: &random)].number
                let owner = id(Int.random(in: 1...3, using: &random))
                let member = id(1_000 + Int.random(in: 0..<range, using: &random))
                edits[end, default: [:]][owner, default: [:]][member] =
                    Double.random(in: 0..<1, using: &random) < share
            }
            var list: [MemberEdit] = []
            for (end, owners) in edits {
                for (owner, members) in owners {
                    for (member, isAddition) in members {
                        list.append(
                            MemberEdit(end, of: owner, member, nil, isAddition ? .put : .erase))
                        if isAddition {
                            expected[end, default: [:]][owner, default: []].insert(member)
                        } else {
                            expected[end]?[owner]?.remove(member)
                        }
                    }
                }
            }
            try apply(list)
            for end in ends {
                for owner in (1...3).map(id) {
                    let found = try members(of: owner, at: end)
                    #expect(
                        found == (expected[end.number]?[owner] ?? []).sorted(),
                        "seed \(seed), round \(round)")
                    _ = try chunkSizes(of: owner, at: end)
                }
            }
        }
    }

    @Test func appendedMembersFillTheirChunks() throws {
        let end = try end(0)
        for number in 1...1_000 {
            try apply([MemberEdit(end.number, of: id(1), id(1_000 + number), nil, .put)])
        }
        let sizes = try chunkSizes(of: id(1), at: end)
        #expect(sizes.dropLast().allSatisfy { $0 == MemberChunk.byteLimit / 16 })
        #expect(sizes.reduce(0, +) == 1_000)
    }

    @Test func aListThatBecomesEmptyLeavesNothing() throws {
        let end = try end(0)
        let all = (1...500).map { id(1_000 + $0) }
        try apply(all.map { MemberEdit(end.number, of: id(1), $0, nil, .put) })
        try apply(all.dropFirst(3).map { MemberEdit(end.number, of: id(1), $0, nil, .erase) })
        #expect(try chunkSizes(of: id(1), at: end) == [3])
        try apply(all.map { MemberEdit(end.number, of: id(1), $0, nil, .erase) })
        #expect(try environment.read { try $0.count(of: tree.table) } == 0)
    }

    @Test func theListsOfAnEndGoTogether() throws {
        let (one, other) = (try end(0), try end(1))
        for end in [one, other] {
            try apply((1...200).map { MemberEdit(end.number, of: id(1), id($0), nil, .put) })
        }
        try environment.write { try tree.remove(end: one.number, in: $0) }
        #expect(try members(of: id(1), at: one) == [])
        #expect(try members(of: id(1), at: other).count == 200)
    }

    @Test func aChunkInAnotherPlaceOrWithAnotherByteIsDamaged() throws {
        let end = try end(0)
        try apply([MemberEdit(end.number, of: id(1), id(7), nil, .put)])
        let prefix = MemberKey.prefix(end.number, id(1))
        let value = try environment.read { transaction in
            try prefix.withUnsafeBytes { key in Array(try transaction.get(key, in: tree.table)!) }
        }
        func decode(_ value: [UInt8], at key: [UInt8]) throws {
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes {
                    _ = try MemberChunk(decoding: $0, at: key, end.layout)
                }
            }
        }
        try decode(value, at: prefix)
        #expect(throws: DecodingFailure("a list of members does not match its checksum")) {
            try decode(value, at: MemberKey.prefix(end.number, id(2)))
        }
        for offset in value.indices {
            var damaged = value
            damaged[offset] ^= 1
            #expect(throws: DecodingFailure("a list of members does not match its checksum")) {
                try decode(damaged, at: prefix)
            }
        }
    }
}
