import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Everything {
    var bool: Bool = false
    var int: Int = 0
    var double: Double = 0
    var string: String = ""
    var data: Data = Data()
    var date: Date = Date(timeIntervalSinceReferenceDate: 0)
    var uuid: UUID = UUID(uuidString: "00000000-0000-0000-0000-000000000000")!
    var maybeBool: Bool?
    var maybeInt: Int?
    var maybeDouble: Double?
    var maybeString: String?
    var maybeData: Data?
    var maybeDate: Date?
    var maybeUUID: UUID?
    var other: Everything?
    var `default`: Int = 7
    var `guard`: Int = 0
    var writer: Int = 0
    private(set) var sealed: Int = 0
    @Transient var cache: [String: Int] = [:]
    var upper: String { string.uppercased() }

    init() {}
}

@Suite struct PropertyTypeTests {
    private let directory = TemporaryDirectory()

    private func roundTrip(_ fill: (Everything) -> Void) throws -> Everything.Snapshot {
        let store = try Store.open(at: directory.file(), for: Everything.self)
        let context = store.context()
        let object = Everything()
        fill(object)
        context.insert(object)
        try context.save()
        let expected = object.snapshot
        let read = try #require(try store.context().object(Everything.self, id: object.id))
        #expect(read.snapshot == expected)
        #expect(try store.verify().problems == [])
        return read.snapshot
    }

    @Test func theEmptyValuesOfEveryTypeComeBack() throws {
        let snapshot = try roundTrip { _ in }
        #expect(snapshot.maybeString == nil)
        #expect(snapshot.other == nil)
        #expect(snapshot.default == 7)
        #expect(snapshot.string == "")
        #expect(snapshot.data == Data())
    }

    @Test func theExtremesOfEveryTypeComeBackByTheBit() throws {
        let nan = Double(bitPattern: 0x7ff8_0000_dead_beef)
        let uuid = UUID()
        let store = try Store.open(at: directory.file(), for: Everything.self)
        let context = store.context()
        let object = Everything()
        object.bool = true
        object.int = .min
        object.double = nan
        object.string = "e\u{301} \0 👩‍👧 \u{feff}"
        object.data = Data((0...255).map { UInt8($0) })
        object.date = Date(timeIntervalSinceReferenceDate: -.greatestFiniteMagnitude)
        object.uuid = uuid
        object.maybeBool = false
        object.maybeInt = .max
        object.maybeDouble = -0.0
        object.maybeString = String(repeating: "é", count: 100_000)
        object.maybeData = Data(repeating: 0xff, count: 300_000)
        object.maybeDate = .distantFuture
        object.maybeUUID = uuid
        object.other = object
        context.insert(object)
        try context.save()
        let fresh = store.context()
        let read = try #require(try fresh.object(Everything.self, id: object.id))
        #expect(read.double.bitPattern == nan.bitPattern)
        #expect(read.maybeDouble?.bitPattern == (-0.0).bitPattern)
        #expect(Array(read.string.utf8) == Array("e\u{301} \0 👩‍👧 \u{feff}".utf8))
        #expect(read.other === read)
        #expect(read.int == .min)
        #expect(read.maybeInt == .max)
        #expect(read.bool)
        #expect(read.maybeBool == false)
        #expect(read.data == object.data)
        #expect(read.maybeData == object.maybeData)
        #expect(read.maybeString == object.maybeString)
        #expect(read.uuid == uuid)
        #expect(read.maybeUUID == uuid)
        #expect(read.date == object.date)
        #expect(read.maybeDate == .distantFuture)
        #expect(try store.verify().problems == [])
    }

    @Test func aTransientPropertyIsNeitherSavedNorRestoredAndMakesNoChange() throws {
        let store = try Store.open(at: directory.file(), for: Everything.self)
        let context = store.context()
        let object = Everything()
        context.insert(object)
        try context.save()
        object.cache["key"] = 1
        #expect(!object.hasChanges)
        object.int = 1
        context.rollback()
        #expect(object.cache == ["key": 1])
        #expect(object.int == 0)
    }

    @Test func snapshotsAreCodable() throws {
        let snapshot = try roundTrip { $0.maybeInt = 3 }
        let data = try JSONEncoder().encode(snapshot)
        #expect(try JSONDecoder().decode(Everything.Snapshot.self, from: data) == snapshot)
    }

    @Test func anAttributeThatIsTooLargeIsRefusedAndLosesNothing() throws {
        let store = try Store.open(at: directory.file(), for: Everything.self)
        let context = store.context()
        let object = Everything()
        context.insert(object)
        object.data = Data(count: Limits.attributeByteCount + 1)
        let error = try #require(throws: StoreError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error.code == .limitExceeded)
        object.data = Data(count: Limits.attributeByteCount)
        #expect(try context.save() != nil)
        let read = try store.context().object(Everything.self, id: object.id)
        #expect(read?.data.count == Limits.attributeByteCount)
    }
}
