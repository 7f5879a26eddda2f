import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

private enum Status: String, RawAttribute { case draft, published }
private enum Level: Int8, RawAttribute { case low = -1, high = 100 }
private struct Rights: OptionSet, RawAttribute {
    var rawValue: UInt32
    static let read = Rights(rawValue: 1)
    static let all = Rights(rawValue: .max)
}
private struct Address: CodableAttribute {
    var city: String
    var position: [Double] = []
    var since: Date?
}
private enum Shape: CodableAttribute { case none, circle(radius: Double), path([Int]) }

@Model private final class Sample {
    var int8: Int8 = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var uint: UInt = 0
    var uint8: UInt8 = 0
    var uint16: UInt16 = 0
    var uint32: UInt32 = 0
    var uint64: UInt64 = 0
    var float: Float = 0
    var decimal: Decimal = 0
    var url: URL = URL(filePath: "/")
    var status: Status = Status.draft
    var level: Level = Level.low
    var rights: Rights = Rights([])
    var address: Address = Address(city: "")
    var shape: Shape = Shape.none
    var names: [String] = []
    var counts: [String: Int] = [:]
    var addresses: [Address] = []
    var states: [Status: Decimal] = [:]
    var maybeInt8: Int8?
    var maybeUInt: UInt?
    var maybeFloat: Float?
    var maybeDecimal: Decimal?
    var maybeURL: URL?
    var maybeStatus: Status?
    var maybeLevel: Level?
    var maybeAddress: Address?
    var maybeNames: [String]?
    var maybeCounts: [String: [UInt8].Element]?
    var text: String = ""
    var data: Data = Data()

    init() {}

    func fillWithExtremes() throws {
        int8 = .min
        int16 = .min
        int32 = .max
        int64 = .min
        uint = .max
        uint8 = .max
        uint16 = .max
        uint32 = .max
        uint64 = .max
        float = Float(bitPattern: 0x7fc0_beef)
        decimal = -.greatestFiniteMagnitude
        url = try #require(URL(string: "a?b#c", relativeTo: URL(string: "http://x.y/z/")))
        status = .published
        level = .high
        rights = .all
        address = Address(city: "K\u{f6}ln \0", position: [-0.0, .infinity], since: .distantPast)
        shape = .circle(radius: 0.1)
        names = ["", "e\u{301}", "\u{e9}", "\0"]
        counts = ["": .min, "\u{e9}": .max]
        addresses = [Address(city: "a"), Address(city: "b", since: .distantFuture)]
        states = [.draft: 1, .published: .nan]
        maybeInt8 = 0
        maybeUInt = 0
        maybeFloat = -0.0
        maybeDecimal = Decimal(sign: .plus, exponent: -128, significand: 1)
        maybeURL = URL(filePath: "/tmp/ä b/")
        maybeStatus = .draft
        maybeLevel = .low
        maybeAddress = Address(city: "")
        maybeNames = []
        maybeCounts = [:]
    }
}

@Model private final class Bounded {
    @Attribute(.range(1...9)) var small: UInt8 = 5
    @Attribute(.range(-1...1)) var signed: Int16?
    @Attribute(.range(0.5...)) var float: Float = 1
    @Attribute(.range(0.1...99.9)) var price: Decimal = 1
    @Attribute(.notEmpty, .length(...2)) var names: [String] = ["a"]
    @Attribute(.length(1...)) var counts: [Int: Bool]?
    @Attribute(.required) var status: Status? = Status.draft

    init() {}
}

@Suite struct AttributeTypeTests {
    private let directory = TemporaryDirectory()

    private func open() throws -> Store {
        try Store.open(at: directory.file(), for: Sample.self, Bounded.self)
    }

    private func saved(_ fill: (Sample) throws -> Void) throws -> (ManagedContext, Sample) {
        let context = try open().context()
        let object = Sample()
        try fill(object)
        context.insert(object)
        try context.save()
        return (context, object)
    }

    // MARK: Round trips

    @Test(arguments: [false, true])
    func everyTypeComesBackFromAStoreThatWasClosed(isExtreme: Bool) throws {
        let store = try open()
        let context = store.context()
        let object = Sample()
        if isExtreme { try object.fillWithExtremes() }
        context.insert(object)
        let commit = try #require(try context.save())
        store.close()
        let again = try open()
        let read = try #require(try again.context().object(Sample.self, id: object.id))
        #expect(
            read.snapshot.bytes == object.snapshot.bytes)
        #expect(read.float.bitPattern == object.float.bitPattern)
        #expect(read.url == object.url)
        #expect(read.url.baseURL == object.url.baseURL)
        #expect(read.names.map { Array($0.utf8) } == object.names.map { Array($0.utf8) })
        #expect(try again.verify().problems == [])
        let journal = try again.journal()
        try #require(journal == [commit])
        #expect(journal[0].changeSet == commit.changeSet)
        let json = try JSONEncoder().encode(commit.changeSet)
        #expect(try JSONDecoder().decode(ChangeSet.self, from: json) == commit.changeSet)
    }

    @Test func changesShowOldAndNewValuesOfEveryType() throws {
        let (context, object) = try saved { _ in }
        let old = object.snapshot
        try object.fillWithExtremes()
        let commit = try #require(try context.save())
        let change = try #require(commit.changes(of: Sample.self).first)
        let untouched: Set = ["text", "data"]
        #expect(
            Set(change.changedProperties)
                == Set(Mirror(reflecting: old).children.compactMap(\.label))
                .subtracting(untouched.union(["id"])))
        #expect(change.old[\.int8] == 0)
        #expect(change.new[\.int8] == .min)
        #expect(change.old[\.uint64] == 0)
        #expect(change.new[\.uint64] == .max)
        #expect(change.new[\.float]?.bitPattern == object.float.bitPattern)
        #expect(change.old[\.decimal] == 0)
        #expect(change.new[\.decimal] == object.decimal)
        #expect(change.old[\.url] == old.url)
        #expect(change.new[\.url] == object.url)
        #expect(change.old[\.status] == .draft)
        #expect(change.new[\.status] == .published)
        #expect(change.old[\.rights] == [])
        #expect(change.new[\.rights] == .all)
        #expect(change.old[\.address] == old.address)
        #expect(change.new[\.address] == object.address)
        #expect(change.old[\.names] == [])
        #expect(change.new[\.names] == object.names)
        #expect(change.old[\.states] == [:])
        #expect(change.new[\.states] == object.states)
        #expect(change.old[\.maybeLevel] == .some(nil))
        #expect(change.new[\.maybeLevel] == .low)
        #expect(change.old[\.text] == nil)
        #expect(change.new[\.data] == nil)
    }

    @Test func aRollbackBringsEveryTypeBack() throws {
        let (context, object) = try saved { try $0.fillWithExtremes() }
        let before = object.snapshot.bytes
        object.status = .draft
        object.address.city = "Bonn"
        object.names.append("more")
        object.counts["more"] = 1
        object.maybeDecimal = nil
        object.url = URL(filePath: "/other")
        #expect(object.hasChanges)
        context.rollback()
        #expect(object.snapshot.bytes == before)
        #expect(try context.save() == nil)
    }

    @Test func tenMegabytesOfTextAndDataComeBack() throws {
        let text = String(repeating: "é\0", count: 10 << 20 / 3)
        let data = Data((0..<10 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let (_, object) = try saved {
            $0.text = text
            $0.data = data
        }
        let read = try #require(try open().context().object(Sample.self, id: object.id))
        #expect(read.text.utf8.elementsEqual(text.utf8))
        #expect(read.data == data)
    }

    // MARK: What is a change

    @Test func aChangeIsADifferenceOfStoredBytes() throws {
        let (context, object) = try saved {
            $0.text = "\u{e9}"
            $0.float = .nan
            $0.decimal = 1
            $0.names = ["\u{e9}"]
            $0.counts = ["a": 1, "b": 2]
        }
        object.float = .nan
        object.decimal = Decimal(sign: .plus, exponent: -2, significand: 100)
        object.counts = ["b": 2, "a": 1]
        #expect(try context.save() == nil)
        object.text = "e\u{301}"
        object.names = ["e\u{301}"]
        object.maybeNames = []
        let commit = try #require(try context.save())
        #expect(
            commit.changeSet.changes.map(\.properties) == [
                [
                    PropertyChange(
                        name: "names", old: .list([.string("\u{e9}")]),
                        new: .list([.string("e\u{301}")])),
                    PropertyChange(name: "maybeNames", old: .null, new: .list([])),
                    PropertyChange(name: "text", old: .string("\u{e9}"), new: .string("e\u{301}")),
                ]
            ])
    }

    // MARK: Rules

    @Test func rulesHoldForEveryNumberAndCollection() throws {
        let context = try open().context()
        let object = Bounded()
        context.insert(object)
        try context.validate()
        object.small = 10
        object.signed = -2
        object.float = .nan
        object.price = Decimal(string: "0.09") ?? 0
        object.names = []
        object.counts = [:]
        object.status = nil
        let low = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(
            low.violations.map(\.message) == [
                "small can't be greater than 9", "signed must be at least -1",
                "float must be at least 0.5", "price must be at least 0.1",
                "names can't be empty", "counts must be at least 1 element", "status is required",
            ])
        object.small = 0
        object.signed = 1
        object.float = 0.5
        object.price = .nan
        object.names = ["a", "b", "c"]
        object.counts = [1: true]
        object.status = .published
        let high = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(
            high.violations.map(\.message) == [
                "small must be at least 1", "price must be at least 0.1",
                "names can't be longer than 2 elements",
            ])
    }
}

extension Sample.Snapshot {
    /// The body of the record, in which NaN is NaN and no dictionary has an order of its own.
    fileprivate var bytes: [UInt8] {
        var writer = RecordWriter()
        writer.begin(propertyCount: Sample._$propertyCount)
        _$encode(into: &writer)
        return Array(writer.buffer.bytes)
    }
}
