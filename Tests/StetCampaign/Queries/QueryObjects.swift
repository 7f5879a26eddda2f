import Foundation
import StetStore
import StetTestSupport

/// An object of the campaign's reference: plain Swift, without any part of the engine.
struct Sample {
    let id: ObjectID
    var flag: Bool
    var number: Int
    var small: Int
    var whole: UInt64
    var ratio: Float
    var real: Double
    var price: Decimal
    var date: Date
    var text: String
    var note: String?
    var size: Int?
    var bytes: Data?
    var code: UUID?
    var link: URL?
    var tags: [String]
    var mark: Bool?
    var weight: Double?
    let key: Int
    var box: ObjectID?
    var next: ObjectID?
    var parts: [Part]?
    /// The stored form of large data.
    var file: Data?
    var secret: SecretNumber?
    var heading: String
    var phrase: String?
    /// The rank of the box when the sample was last saved, or as its edits show it.
    var boxRank: Int?
    var hits: Int

    /// The position among the samples of its box, which depends on its values.
    private var place: ListPosition {
        let bytes = withUnsafeBytes(of: id.low.bigEndian) { Array($0.dropFirst()) }
        return ListPosition(bytes: [UInt8(number & 0x7f) + 1] + bytes) ?? .first
    }

    /// The values in the order of the slots.
    var values: [Value] {
        [
            .bool(flag), .int(number), .int(small), .uint(whole), .float(ratio), .double(real),
            .decimal(price), .date(date), .string(text), Value(note, Value.string),
            Value(size, Value.int), Value(bytes, Value.data), Value(code, Value.uuid),
            Value(link, Value.url), .list(tags.map(Value.string)), Value(mark, Value.bool),
            Value(weight, Value.double), .int(key), Value(box) { .placed($0, place) },
            Value(next, Value.reference), Value(parts) { .list($0.map(\.value)) },
            Value(file, Value.data), Value(secret) { .data(Data($0.bytes.bytes)) },
            .string(heading), Value(phrase, Value.string), Value(boxRank, Value.int), .int(hits),
        ]
    }
}

/// An element of a sample's array of embedded values.
struct Part {
    var number: Int
    var note: String?
    var weight: Double

    static let elements = EmbeddedElements(
        members: [
            Property(name: "number", type: .int),
            Property(name: "note", type: .string, isOptional: true),
            Property(name: "weight", type: .double),
        ], identity: nil)

    var value: Value {
        Self.elements.element([.int(number), Value(note, Value.string), .double(weight)])
    }

    static func random(_ random: inout SeededGenerator) -> [Part]? {
        guard !random.chance(4) else { return nil }
        return (0..<Int.random(in: 0...3, using: &random)).map { _ in
            Part(
                number: random.pick(ValuePools.integers),
                note: random.chance(3) ? nil : random.pick(ValuePools.texts),
                weight: random.pick(ValuePools.reals))
        }
    }
}

/// An object to which samples refer.
struct Box {
    let id: ObjectID
    var name: String
    var rank: Int?
    var parent: ObjectID?

    /// The values in the order of the slots.
    var values: [Value] {
        [.string(name), Value(rank, Value.int), Value(parent, Value.reference)]
    }
}

extension LinkKey {
    /// Creates the link that makes a sample a member of another sample's relationship.
    init(_ source: ObjectID, _ target: ObjectID) {
        self.init(link: QuerySchema.links, source: source, target: target)
    }
}

extension Value {
    fileprivate init<Content>(_ content: Content?, _ make: (Content) -> Value) {
        self = content.map(make) ?? .null
    }
}

/// All objects at one moment.
struct QueryWorld {
    var boxes: [ObjectID: Box] = [:]
    var samples: [ObjectID: Sample] = [:]
    var links: Set<LinkKey> = []
    private var lastID: UInt64 = 0

    /// Returns the values of all objects of an entity.
    func values(_ entity: EntityNumber) -> [ObjectID: [Value]] {
        entity == QuerySchema.box ? boxes.mapValues(\.values) : samples.mapValues(\.values)
    }

    // Sorted, because the order of a dictionary changes with each run.
    private(set) var boxIDs: [ObjectID] = []
    private(set) var sampleIDs: [ObjectID] = []

    init() {}

    init(sampleCount: Int, _ random: inout SeededGenerator) {
        for _ in 0..<6 { addBox(&random) }
        for _ in 0..<sampleCount { addSample(&random) }
        for _ in 0..<sampleCount { addLink(&random) }
        derive()
    }

    /// The objects with pending changes.
    private(set) var edited: Set<ObjectID> = []

    /// True for what a context sees, which may have sealed values that were not saved yet.
    private var mayBeUnsaved = false

    /// Makes further ids differ from those in the commits of others.
    mutating func startPending() {
        lastID += 1 << 32
        mayBeUnsaved = true
    }

    private mutating func nextID() -> ObjectID {
        lastID += 1
        return ObjectID(high: 1 << 32, low: lastID)
    }

    private mutating func addBox(_ random: inout SeededGenerator) {
        let box = Self.box(nextID(), boxIDs, &random)
        boxes[box.id] = box
        boxIDs.append(box.id)
    }

    private mutating func addSample(_ random: inout SeededGenerator) {
        let id = nextID()
        samples[id] = sample(id, &random)
        sampleIDs.append(id)
    }

    private mutating func addLink(_ random: inout SeededGenerator) {
        guard let source = sampleIDs.randomElement(using: &random),
            let target = sampleIDs.randomElement(using: &random)
        else { return }
        links.insert(LinkKey(source, target))
    }

    private static func box(
        _ id: ObjectID, _ others: [ObjectID], _ random: inout SeededGenerator
    ) -> Box {
        Box(
            id: id, name: random.pick(ValuePools.names), rank: random.pick([nil, 0, 1, 2, 3]),
            parent: random.chance(3) ? nil : others.randomElement(using: &random))
    }

    /// Returns an object with random values.
    func sample(_ id: ObjectID, _ random: inout SeededGenerator) -> Sample {
        Sample(
            id: id, flag: random.chance(2), number: random.pick(ValuePools.integers),
            small: random.pick(ValuePools.smallIntegers), whole: random.pick(ValuePools.naturals),
            ratio: random.pick(ValuePools.floats), real: random.pick(ValuePools.reals),
            price: random.pick(ValuePools.decimals), date: random.pick(ValuePools.dates),
            text: random.pick(ValuePools.texts),
            note: random.chance(3) ? nil : random.pick(ValuePools.texts),
            size: random.pick([nil, 0, 1, 2, 3]),
            bytes: random.chance(3) ? nil : random.pick(ValuePools.data),
            code: random.chance(3) ? nil : random.pick(ValuePools.uuids),
            link: random.chance(3) ? nil : random.pick(ValuePools.urls),
            tags: random.pick(ValuePools.lists), mark: random.pick([nil, true, false]),
            weight: random.chance(3) ? nil : random.pick(ValuePools.reals), key: Int(id.low),
            box: random.chance(4) ? nil : boxIDs.randomElement(using: &random),
            next: random.chance(3) ? nil : sampleIDs.randomElement(using: &random),
            parts: Part.random(&random),
            file: random.chance(3) ? nil : random.pick(ValuePools.largeData),
            secret: random.chance(3)
                ? nil
                : .random(
                    of: id, by: boxIDs.randomElement(using: &random),
                    isSaved: !mayBeUnsaved || random.chance(2), &random),
            heading: WordSearch.text(&random),
            phrase: random.chance(3) ? nil : WordSearch.text(&random),
            hits: random.pick([-2, 0, 1, 2, 3]))
    }

    // MARK: Derived values

    /// Computes the derived values of all samples, as a save does.
    mutating func derive() { derive(sampleIDs) }

    private mutating func derive(_ ids: [ObjectID]) {
        for id in ids {
            let rank = samples[id]?.box.flatMap { boxes[$0]?.rank }
            samples[id]?.boxRank = rank
        }
    }

    /// Notes the objects that differ from those of a world, and a few others, as edited.
    ///
    /// An edit may change nothing. Only edited objects show the derived values of the present
    /// boxes.
    mutating func noteEdits(since base: QueryWorld, _ random: inout SeededGenerator) {
        let ids = (boxIDs + sampleIDs).filter { id in
            samples[id]?.values != base.samples[id]?.values
                || boxes[id]?.values != base.boxes[id]?.values || random.chance(20)
        }
        edited = Set(ids)
        derive(ids)
    }

    /// Changes some objects; with `dangling` references to a deleted object may remain.
    mutating func edit(dangling: Bool, _ random: inout SeededGenerator) {
        for id in sampleIDs {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: deleteSample(id, dangling && random.chance(2))
            case 1, 2: samples[id] = sample(id, &random)
            case 3: samples[id]?.number = random.pick(ValuePools.integers)
            case 4: samples[id]?.box = boxIDs.randomElement(using: &random)
            default: break
            }
        }
        for id in boxIDs where random.chance(4) { boxes[id] = Self.box(id, boxIDs, &random) }
        if random.chance(3), let id = boxIDs.randomElement(using: &random) {
            deleteBox(id, dangling && random.chance(2))
        }
        for link in links.sorted() where random.chance(8) { links.remove(link) }
        for _ in 0..<4 { addSample(&random) }
        for _ in 0..<4 { addLink(&random) }
        if random.chance(2) { addBox(&random) }
    }

    private mutating func deleteSample(_ id: ObjectID, _ dangling: Bool) {
        samples[id] = nil
        sampleIDs.removeAll { $0 == id }
        if dangling { return }
        for source in samples.keys where samples[source]?.next == id { samples[source]?.next = nil }
        links = links.filter { $0.source != id && $0.target != id }
    }

    private mutating func deleteBox(_ id: ObjectID, _ dangling: Bool) {
        boxes[id] = nil
        boxIDs.removeAll { $0 == id }
        if dangling { return }
        for source in samples.keys where samples[source]?.box == id { samples[source]?.box = nil }
        for source in boxes.keys where boxes[source]?.parent == id { boxes[source]?.parent = nil }
    }
}

extension SeededGenerator {
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    /// Returns true once in `times` calls on average.
    mutating func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &self) == 0 }
}
