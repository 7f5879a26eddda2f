import StetTestSupport
import Testing

@testable import StetStore

/// Arrays of embedded values in schemas, and as bytes.
@Suite struct EmbeddedElementsTests {
    private static let members = [
        Property(name: "id", type: .int), Property(name: "text", type: .string),
        Property(name: "note", type: .string, isOptional: true),
        Property(name: "tags", type: .list, elements: [.string]),
    ]
    private static let elements = EmbeddedElements(members: members, identity: 0)
    private static let lines = Property(name: "lines", type: .list, elements: [.embedded])
        .array(of: elements)
    private static let entity = Entity(
        name: "Order", properties: [Property(name: "number", type: .int), lines])

    private func element(_ id: Int, _ text: String, _ note: Value = .null) -> Value {
        .dictionary([
            .string("id"): .int(id), .string("text"): .string(text), .string("note"): note,
            .string("tags"): .list([.string("a")]),
        ])
    }

    @Test func aSchemaIsDecodedAsItWasEncoded() throws {
        let schema = try Schema(entities: [Self.entity])
        let bytes = schema.encoded()
        let decoded = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(decoded == schema)
        #expect(decoded.entities[0].properties[1].embedded == Self.elements)
        for count in bytes.indices {
            #expect(throws: DecodingFailure.self) {
                try bytes.prefix(count).withUnsafeBytes { try Schema(decoding: $0) }
            }
        }
    }

    @Test(arguments: [
        Property(name: "box", type: .reference, target: "Order"),
        Property(name: "count", type: .int, isCounter: true),
        Property(name: "time", type: .date, stamp: .update), lines,
        Property(name: "whole", type: .embedded),
        Property(name: "seal", type: .data, seal: .own),
    ])
    func someMembersAreRefused(member: Property) {
        let array = Property(name: "lines", type: .list, elements: [.embedded])
            .array(of: EmbeddedElements(members: [member], identity: nil))
        #expect(throws: StoreError.self) {
            try Schema(entities: [Entity(name: "Order", properties: [array])])
        }
    }

    @Test func someArraysAreRefused() {
        let optional = EmbeddedElements(members: Self.members, identity: 2)
        let properties = [
            Property(name: "lines", type: .list, elements: [.embedded]),
            Property(name: "line", type: .embedded),
            Property(name: "lines", type: .dictionary, elements: [.string, .embedded]),
            Self.lines.array(of: EmbeddedElements(members: [], identity: nil)),
            Self.lines.array(of: optional),
            Self.lines.array(of: EmbeddedElements(members: Self.members, identity: 9)),
            Property(name: "lines", type: .list, elements: [.string]).array(of: Self.elements),
        ]
        for property in properties {
            #expect(throws: StoreError.self) {
                try Schema(entities: [Entity(name: "Order", properties: [property])])
            }
        }
    }

    @Test func aValueIsReadAsItWasWritten() throws {
        let values: [[Value]] = [
            [.int(1), .list([])],
            [.int(2), .list([element(1, "a"), element(-2, "", .string("é"))])],
        ]
        for values in values {
            #expect(Self.lines.accepts(values[1]))
            let body = try EncodedBody(values, of: Self.entity)
            #expect(try body.values(of: Self.entity) == values)
        }
    }

    @Test func whatIsNoElementIsNotAccepted() {
        var incomplete = Self.elements.element([.int(1), .string("a"), .null, .list([])])
        #expect(Self.lines.accepts(.list([incomplete])))
        for other: Value in [
            .null, .string("a"), .dictionary([:]), element(1, "a", .int(1)),
            Self.elements.element([.null, .string("a"), .null, .list([])]),
            Self.elements.element([.int(1), .string("a"), .null, .list([.int(1)])]),
        ] {
            #expect(!Self.lines.accepts(.list([other])), "\(other)")
        }
        if case .dictionary(var members) = incomplete {
            members[.string("note")] = nil
            incomplete = .dictionary(members)
        }
        #expect(!Self.lines.accepts(.list([incomplete])))
        #expect(throws: EncodingFailure.self) {
            try EncodedBody([.int(1), .list([incomplete])], of: Self.entity)
        }
    }

    @Test func damagedBytesAreRefused() throws {
        let values: [Value] = [.int(2), .list([element(1, "abc"), element(2, "d", .string("e"))])]
        let body = try EncodedBody(values, of: Self.entity)
        let bytes = try body.read(as: Self.entity) { body -> [UInt8] in
            guard case .bytes(let bytes)? = try body.cell(1) else { return [] }
            return Array(bytes)
        }
        #expect(bytes.count > 100)
        for count in 1..<bytes.count {
            #expect(throws: DecodingFailure.self) {
                try bytes.prefix(count).withUnsafeBytes { try Self.elements.list($0) }
            }
        }
        // Each bit that is flipped gives an error or as many elements, whose members are there.
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            guard
                case .list(let list)? = try? damaged.withUnsafeBytes({ try Self.elements.list($0) })
            else { continue }
            #expect(list.count <= 2)
            for case .dictionary(let members) in list { #expect(members.count == 4) }
        }
    }

    @Test func aMergeOfRandomArraysHasTheChangesOfBothSides() throws {
        var random = SeededGenerator(seed: 25)
        for _ in 0..<2_000 {
            let base = (0..<Int.random(in: 0...5, using: &random)).map { ($0, 0, 0) }
            let (mine, theirs) = (edited(base, 1, &random), edited(base, 2, &random))
            for favorsMine in [true, false] {
                let merge = try #require(
                    ElementMerge(
                        base: list(base), mine: list(mine), theirs: list(theirs), of: Self.lines,
                        favorsMine: favorsMine))
                let expected = ArrayModel(base, mine, theirs, favorsMine)
                #expect(merge.isContested == expected.isContested)
                guard case .list(let merged) = merge.list else { continue }
                let ids = merged.map { $0.member("id") }
                #expect(Set(ids).count == ids.count)
                #expect(
                    Dictionary(uniqueKeysWithValues: zip(ids, merged.map { $0.pair }))
                        == expected.pairs)
            }
            // A side without changes has no part in the result.
            let same = ElementMerge(
                base: list(base), mine: list(mine), theirs: list(base), of: Self.lines,
                favorsMine: false)
            #expect(same?.list == list(mine))
            #expect(same?.isContested == false)
        }
    }

    private func list(_ elements: [(Int, Int, Int)]) -> Value {
        .list(elements.map { element($0.0, "\($0.1)", .string("\($0.2)")) })
    }

    /// Returns a list with random changes of members, removals, insertions and moves.
    private func edited(
        _ base: [(Int, Int, Int)], _ side: Int, _ random: inout SeededGenerator
    ) -> [(Int, Int, Int)] {
        var list = base
        for index in list.indices {
            if Int.random(in: 0..<3, using: &random) == 0 {
                list[index].1 = Int.random(in: 0...2, using: &random)
            }
            if Int.random(in: 0..<3, using: &random) == 0 { list[index].2 = side }
        }
        list.removeAll { _ in Int.random(in: 0..<5, using: &random) == 0 }
        for id in 0..<Int.random(in: 0...2, using: &random) {
            // Both sides may insert an element with the same identity.
            let place = Int.random(in: 0...list.count, using: &random)
            list.insert((100 + id, Int.random(in: 0...1, using: &random), 0), at: place)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { list.shuffle(using: &random) }
        return list
    }
}

/// The merge of lists without their order, written as plainly as possible.
private struct ArrayModel {
    var pairs: [Value: [Value]] = [:]
    var isContested = false

    init(
        _ base: [(Int, Int, Int)], _ mine: [(Int, Int, Int)], _ theirs: [(Int, Int, Int)],
        _ favorsMine: Bool
    ) {
        func find(_ list: [(Int, Int, Int)], _ id: Int) -> [Int]? {
            list.first { $0.0 == id }.map { [$0.1, $0.2] }
        }
        for id in Set((base + mine + theirs).map(\.0)) {
            let (old, one, other) = (find(base, id), find(mine, id), find(theirs, id))
            var result: [Int]?
            if one == other || other == old {
                result = one
            } else if one == old {
                result = other
            } else if let old, let one, let other {
                result = other
                for part in 0..<2 where one[part] != old[part] && one[part] != other[part] {
                    if other[part] != old[part] { isContested = true }
                    if other[part] == old[part] || favorsMine { result?[part] = one[part] }
                }
            } else {
                isContested = true
                result = favorsMine ? one : other
            }
            if let result { pairs[.int(id)] = result.map { .string("\($0)") } }
        }
    }
}

extension Value {
    fileprivate func member(_ name: String) -> Value {
        guard case .dictionary(let members) = self else { return .null }
        return members[.string(name)] ?? .null
    }

    fileprivate var pair: [Value] { [member("text"), member("note")] }
}
