import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

struct RecordTests {
    // MARK: Round trips

    private func cells(_ bytes: [UInt8], _ entity: Entity) throws -> [OwnedCell?] {
        try bytes.withUnsafeBytes { bytes in
            let body = try RecordBody(bytes, of: entity)
            return try entity.properties.slots.map { try body.cell($0).map(OwnedCell.init) }
        }
    }

    @Test func randomValuesOfAllTypesComeBackByTheirBits() throws {
        let seed: UInt64 = 0x57e7_2200
        var history = RandomHistory(seed: seed)
        var state = Library.State()
        for number in 1...3 { state.values[ObjectKey(EntityNumber(number), number)] = [] }
        for round in 0..<2_000 {
            let values = history.values(.article, .library, state)
            let bytes = encodedBody(values)
            let note: Comment = "seed \(seed), round \(round)"
            #expect(try cells(bytes, .article) == values.map(\.cell), note)
            let back = try bytes.withUnsafeBytes { bytes in
                let body = try RecordBody(bytes, of: .article)
                return try values.slots.map { try body.value($0).cell }
            }
            #expect(back == values.map(\.cell), note)
        }
    }

    @Test func theReaderThatModelsUseGivesTheSameValues() throws {
        let id = ObjectID.fixed(3)
        let bytes = encodedBody([
            .string("naïve"), .null, .int(-7), .data(Data([1, 2])), .reference(id),
        ])
        try bytes.withUnsafeBytes { bytes in
            var reader = try RecordReader(body: bytes, propertyCount: 5)
            #expect(
                (0..<5).map { reader.isNull(slot: Slot($0)) } == [false, true, false, false, false])
            #expect(reader.string(slot: 0) == "naïve")
            #expect(reader.word(slot: 2) == UInt64(bitPattern: -7))
            #expect(Array(reader.bytes(slot: 3)) == [1, 2])
            #expect(reader.id(slot: 4) == id)
            #expect(!reader.isDamaged)
            #expect(reader.id(slot: 3) == ObjectID.none)
            #expect(reader.isDamaged)
        }
    }

    @Test(arguments: [0, 1, 63, 64, 65, 127, 128, 129, 1_023, 1_024])
    func theNullBitmapHoldsForThisManyProperties(count: Int) throws {
        let entity = Entity(
            name: "Wide", properties: (0..<count).map { Property(name: "p\($0)", type: .int) })
        let seed = 0x57e7_2300 + UInt64(count)
        var random = SeededGenerator(seed: seed)
        for round in 0..<20 {
            let values: [Value] = (0..<count).map { slot in
                Bool.random(using: &random) ? .null : .int(slot &* 7_919)
            }
            let bytes = encodedBody(values)
            #expect(bytes.count == RecordLayout.fixedByteCount(count))
            #expect(try cells(bytes, entity) == values.map(\.cell), "seed \(seed), round \(round)")
        }
        #expect(RecordLayout.fixedByteCount(count) == (count + 63) / 64 * 8 + count * 8)
    }

    @Test func theFoldAssemblesTheVeryBytesThatTheEncoderWrites() throws {
        let seed: UInt64 = 0x57e7_2201
        var history = RandomHistory(seed: seed)
        for round in 0..<1_000 {
            let encoded = encodedBody(history.values(.article, .library, Library.State()))
            let folded = try encoded.withUnsafeBytes { bytes in
                let body = try RecordBody(bytes, of: .article)
                return FoldedBody.assemble(
                    try Entity.article.properties.slots.map { try body.cell($0) }, .article)
            }
            #expect(folded == encoded, "seed \(seed), round \(round)")
        }
    }

    @Test func bodiesThatFollowEachOtherInOneWriterDoNotMix() throws {
        var writer = RecordWriter()
        var ends = [0]
        let bodies: [[Value]] = [[.string("a"), .null], [], [.null], [.data(Data([9])), .int(1)]]
        for values in bodies {
            writer.begin(propertyCount: values.count)
            writer.write(values)
            ends.append(writer.buffer.count)
        }
        let bytes = Array(writer.buffer.bytes)
        for (index, values) in bodies.enumerated() {
            #expect(Array(bytes[ends[index]..<ends[index + 1]]) == encodedBody(values))
        }
    }

    @Test func aReferenceWithoutAPositionGetsTheFirstOneWhereItNeedsOne() throws {
        let entity = Shelf.schema.entities[0]
        let owner = ObjectID.fixed(7)
        func positions(_ write: (inout RecordWriter) -> Void) throws -> ListPosition? {
            let body = try EncodedBody(
                propertyCount: entity.properties.count, placedSlots: entity.placedSlots, write)
            return try body.read(as: entity) { body in
                #expect(try body.reference(1) == owner)
                return try body.position(1)
            }
        }
        #expect(try positions { $0.write(id: owner, slot: 1) } == .first)
        #expect(try positions { $0.write(.reference(owner), slot: 1) } == .first)
        #expect(try positions { $0.write(.placed(owner, .at(7)), slot: 1) } == .at(7))
        #expect(
            try positions { writer in
                writer.positions = [(1, .at(9))]
                writer.write(id: owner, slot: 1)
            } == .at(9))
    }

    /// Positions are those of one body.
    @Test func aBodyDoesNotGetThePositionsOfTheOneBeforeIt() throws {
        var writer = RecordWriter()
        writer.begin(propertyCount: 1, placedSlots: [0])
        writer.positions = [(0, .at(5))]
        writer.write(id: .fixed(1), slot: 0)
        let start = writer.buffer.count
        writer.begin(propertyCount: 1)
        writer.write(id: .fixed(1), slot: 0)
        #expect(Array(writer.buffer.bytes[start...]) == encodedBody([.reference(.fixed(1))]))
    }

    // MARK: Normal form C

    /// Equal bytes must be encoded alike, regardless of the origin of the string: verify compares
    /// records byte for byte.
    @Test func theEncodingOfAStringDependsOnItsBytesAlone() {
        for text in RandomHistory.texts {
            let expected = encodedBody([.string(text)])
            let copies: [String] = [
                String(decoding: Array(text.utf8), as: UTF8.self), String(Array(text)),
                String(text.unicodeScalars.map(Character.init)), String((text + "x").dropLast()),
                NSString(string: text) as String,
            ]
            for copy in copies where Array(copy.utf8) == Array(text.utf8) {
                #expect(
                    encodedBody([.string(copy)]) == expected, "\(text.unicodeScalars.map(\.value))")
            }
        }
    }

    @Test func onlyStringsInNormalFormCAreMarkedSo() {
        // Bit 63 of the slot, which follows the bitmap.
        func isMarked(_ text: String) -> Bool { encodedBody([.string(text)])[15] & 0x80 != 0 }
        for text in ["", "plain", String(repeating: "x", count: 100), "\u{e9}", "日本語"] {
            #expect(isMarked(text), "\(text)")
        }
        for text in ["e\u{301}", "\u{212b}", "\u{1100}\u{1161}", "q\u{307}\u{323}", "x\u{fb1d}"] {
            #expect(!isMarked(text), "\(text)")
        }
    }

    // MARK: Hostile bodies

    private func readEverything(_ bytes: [UInt8], _ entity: Entity) {
        bytes.withUnsafeBytes { bytes in
            guard let body = try? RecordBody(bytes, of: entity) else { return }
            for slot in entity.properties.slots {
                _ = try? body.value(slot)
                if entity.properties[slot].type == .reference { _ = try? body.reference(slot) }
            }
            try? body.forEachReference { _, _ in }
            guard
                var reader = try? RecordReader(body: bytes, propertyCount: entity.properties.count)
            else { return }
            for slot in entity.properties.slots {
                _ = reader.isNull(slot: slot)
                _ = reader.string(slot: slot)
                _ = reader.id(slot: slot)
            }
        }
    }

    private static let full: [Value] = [
        .string("title"), .int(3), .reference(.fixed(1)), .string("e\u{301}"), .double(.nan),
        .bool(true), .date(Date(timeIntervalSinceReferenceDate: 1)), .data(Data([1, 2, 3])),
        .uuid(ObjectID.fixed(9).uuid), .reference(.fixed(2)), .reference(.fixed(3)),
    ]

    @Test func everyTruncationOfABodyIsRefusedOrFoundDamaged() throws {
        let bytes = encodedBody(Self.full)
        for count in 0..<bytes.count {
            let truncated = Array(bytes[..<count])
            readEverything(truncated, .article)
            #expect(
                thrown(DecodingFailure.self) { try cells(truncated, .article) } != nil, "\(count)")
        }
        #expect(try cells(bytes, .article) == Self.full.map(\.cell))
    }

    @Test func valuesThatTogetherHaveMoreBytesThanTheBodyAreDamage() throws {
        let entity = Entity(
            name: "Two", properties: ["a", "b"].map { Property(name: $0, type: .data) })
        var bytes = encodedBody([.data(Data([1, 2, 3])), .data(Data())])
        #expect(try cells(bytes, entity) == [.bytes([1, 2, 3]), .bytes([])])
        // The second slot, after the bitmap and the first, now points to the bytes of the first.
        bytes.replaceSubrange(16..<24, with: bytes[8..<16])
        try bytes.withUnsafeBytes { bytes in
            let body = try RecordBody(bytes, of: entity)
            let failure = thrown(DecodingFailure.self) { try body.cells() }
            #expect(failure == DecodingFailure("Two.b is damaged"))
            var reader = try RecordReader(body: bytes, propertyCount: 2)
            #expect(Array(reader.bytes(slot: 0)) == [1, 2, 3])
            #expect(!reader.isDamaged)
            #expect(reader.bytes(slot: 1).isEmpty)
            #expect(reader.isDamaged)
        }
    }

    @Test func randomBytesNeverTrap() {
        let seed: UInt64 = 0x57e7_2202
        var random = SeededGenerator(seed: seed)
        let entities = [Entity.article, .notebook, .tag, Entity(name: "Empty", properties: [])]
        var readable = 0
        for round in 0..<10_000 {
            var bytes = encodedBody(Self.full)
            if round % 2 == 0 {
                bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            } else {
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            }
            for entity in entities { readEverything(bytes, entity) }
            if (try? cells(bytes, .article)) != nil { readable += 1 }
        }
        #expect((1..<10_000).contains(readable), "seed \(seed)")
    }

    // MARK: Header

    private func record(_ header: RecordHeader, _ body: [UInt8], of id: ObjectID) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: RecordLayout.headerByteCount) + body
        let hash = body.withUnsafeBytes { RecordHeader.bodyHash($0, of: id) }
        record.withUnsafeMutableBytes { header.store(bodyHash: hash, to: $0.baseAddress!) }
        return record
    }

    private func verify(_ record: [UInt8], of id: ObjectID) throws -> RecordHeader {
        try record.withUnsafeBytes { bytes in
            let header = try RecordHeader(decoding: bytes)
            try header.verify(bytes, of: id)
            return header
        }
    }

    @Test func aHeaderComesBackAndItsChecksumHolds() throws {
        for isTombstone in [true, false] {
            for revision in [Revision(1), 77, .last] {
                let header = RecordHeader(
                    isTombstone: isTombstone, schemaRevision: .max, revision: revision)
                let bytes = record(header, isTombstone ? [] : encodedBody(Self.full), of: .fixed(1))
                #expect(try verify(bytes, of: .fixed(1)) == header)
            }
        }
    }

    @Test func theChecksumFindsEachFlippedBitAndEachOtherID() {
        let header = RecordHeader(isTombstone: false, schemaRevision: 1, revision: 5)
        for body in [encodedBody(Self.full), encodedBody([.string("")]), []] {
            let bytes = record(header, body, of: .fixed(1))
            for bit in 0..<bytes.count * 8 {
                var damaged = bytes
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(
                    thrown(DecodingFailure.self) { try verify(damaged, of: .fixed(1)) } != nil,
                    "bit \(bit) of \(bytes.count) bytes")
            }
            #expect(thrown(DecodingFailure.self) { try verify(bytes, of: .fixed(2)) } != nil)
        }
    }

    @Test func aRevisionThatNoStoreReachesIsRefused() {
        let header = RecordHeader(
            isTombstone: false, schemaRevision: 1, revision: Revision(Revision.last.number + 1))
        let bytes = record(header, encodedBody(Self.full), of: .fixed(1))
        let failure = thrown(DecodingFailure.self) { try verify(bytes, of: .fixed(1)) }
        #expect(failure?.description.contains("a revision that no store reaches") == true)
    }

    @Test func everyTruncationOfARecordIsRefused() {
        let header = RecordHeader(isTombstone: false, schemaRevision: 1, revision: 5)
        let bytes = record(header, encodedBody(Self.full), of: .fixed(1))
        for count in 0..<bytes.count {
            let failure = thrown(DecodingFailure.self) {
                try verify(Array(bytes[..<count]), of: .fixed(1))
            }
            #expect(failure != nil, "\(count) bytes")
        }
    }
}
