import Foundation
import Observation
import StetStore
import StetTestSupport
import StetTesting
import Testing

@testable import Stet

/// Optional embedded values in one context: edits, rules, snapshots.
@Suite struct OptionalValueTests {
    private let works: Works
    private var context: ManagedContext { works.context }
    private var mill: Plant { works.mill }
    private var yard: Plant { works.yard }

    init() throws { works = try Works() }

    private func changed(_ commit: Commit?) -> [String] {
        commit?.changeSet.changes.flatMap { $0.properties.map(\.name) } ?? []
    }

    @Test func aPresencePrecedesTheMembers() throws {
        let entity = try #require(works.store.file.schema.entity(named: "Plant"))
        #expect(
            entity.properties.map(\.name) == [
                "name", "site", "site.street", "site.city", "site.code", "site.key", "site.kind",
                "note", "visit", "visit.by", "visit.reason", "visit.changed", "owner", "rank",
                "town",
            ])
        #expect(entity.properties[1...6].allSatisfy { $0.isOptional })
        #expect(entity.properties[3].rules == [.required])
        #expect(entity.properties[4].rules == [])
        #expect(
            entity.optionalValues.map { [$0.presence] + $0.members }
                == [[1, 2, 3, 4, 5, 6], [8, 9, 10, 11]])
    }

    @Test func aValueAppearsAndDisappearsAsAWhole() throws {
        #expect(yard.site == nil)
        yard.site = Site(street: " Lane ", city: "Chur")
        yard.rank = 3
        yard.owner = mill
        #expect(
            changed(try context.save())
                == ["site", "site.street", "site.city", "site.kind", "owner", "rank", "town"])
        let saved = try #require(try works.store.object(Plant.self, id: yard.id))
        #expect(saved.site == Site(street: "Lane", city: "Chur"))
        #expect(saved.rank == 3)
        #expect(saved.owner == mill.id)
        #expect(saved.town == "Chur")
        yard.site?.city = "Bern"
        #expect(changed(try context.save()) == ["site.city", "town"])
        yard.site = nil
        #expect(
            changed(try context.save())
                == ["site", "site.street", "site.city", "site.kind", "town"])
        let values = try #require(try values(of: yard))
        #expect(values[1...6].allSatisfy { $0 == .null })
        #expect(try works.store.object(Plant.self, id: yard.id)?.site == nil)
        yard.site?.city = "nowhere"
        #expect(try context.save() == nil)
        #expect(try works.store.verify().problems == [])
    }

    private func values(of plant: Plant) throws -> [Value]? {
        let entity = try #require(works.store.file.schema.number(ofEntity: "Plant"))
        return try works.store.file.read { reader in
            try reader.withRecord(ofEntity: entity, plant.id, asOf: reader.head().revision) {
                try RecordBody($0.body, of: works.store.file.schema.entities[entity]).values()
            }
        }
    }

    @Test func anEqualValueIsNoChange() throws {
        mill.site = Site(street: "Mill street", city: "Bern")
        yard.site = nil
        #expect(try context.save() == nil)
    }

    @Test func aRollbackRestoresAValueOrItsAbsence() throws {
        let before = mill.site
        mill.site = nil
        yard.site = Site(city: "Genf")
        context.rollback()
        #expect(mill.site == before)
        #expect(yard.site == nil)
        #expect(!mill.hasChanges)
        mill.site = nil
        let restorePoint = context.snapshot()
        mill.site = before
        context.restore(restorePoint)
        #expect(mill.site == nil)
    }

    @Test func rulesOfMembersHoldWhereTheValueIsPresent() throws {
        yard.rank = 1
        try context.save()
        yard.visit = Visit(by: "Zoë")
        let missing = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(missing.violations.map(\.property) == ["visit.reason"])
        #expect(missing.violations.map(\.code) == [.required])
        yard.visit?.reason = "audit"
        mill.site?.street = String(repeating: "x", count: 21)
        let long = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(long.violations.map(\.property) == ["site.street"])
        mill.site = nil
        try context.save()
        #expect(yard.visit?.reason == "audit")
    }

    @Test func aValidatorNamesAMember() throws {
        #expect(try Plant.validate(" Weg ", for: \.site?.street) == "Weg")
        #expect(try Plant.validate(nil, for: \.site?.street) == nil)
        #expect(throws: ValidationError.self) {
            try Plant.validate(String(repeating: "x", count: 21), for: \.site?.street)
        }
        context.report(mill, \.site?.city, "{property} is no town")
        let error = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(error.violations.map(\.property) == ["site.city"])
    }

    @Test func stampsAreSetWhereTheValueIsPresent() throws {
        yard.visit = Visit(by: "Zoë", reason: "audit")
        try context.save()
        #expect(yard.visit?.changed == works.clock.now)
        works.clock.advance(by: .seconds(60))
        yard.note = "x"
        mill.note = "x"
        try context.save()
        #expect(yard.visit?.changed == works.clock.now)
        #expect(mill.visit == nil)
        #expect(try values(of: mill)?[8...11].allSatisfy { $0 == .null } == true)
        #expect(try works.store.verify().problems == [])
    }

    @Test func aUniqueMemberIsUniqueAmongPresentValues() throws {
        mill.site?.code = "a"
        try context.save()
        yard.site = Site(city: "Chur", code: "a")
        let error = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error.violations.map(\.property) == ["site.code"])
        #expect(error.violations.map(\.code) == [.notUnique])
        mill.site = nil
        try context.save()
        #expect(try context.object(Plant.self, where: \.site?.code, is: "a") == yard)
    }

    @Test func aSnapshotNestsTheValueInJSONOrHasNoKey() throws {
        mill.site?.key = "hunter2"
        try context.save()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let text = String(decoding: try encoder.encode(mill.snapshot), as: UTF8.self)
        #expect(
            text == """
                {"id":"\(mill.id)","name":"Mill","note":"","rank":0,"site":{"city":"Bern",\
                "kind":"office","street":"Mill street"},"town":"Bern"}
                """)
        let absent = String(decoding: try encoder.encode(yard.snapshot), as: UTF8.self)
        #expect(
            absent == """
                {"id":"\(yard.id)","name":"Yard","note":"","rank":0}
                """)
        let decoder = JSONDecoder()
        #expect(try decoder.decode(Plant.Snapshot.self, from: Data(absent.utf8)) == yard.snapshot)
        let null = absent.replacing("\"rank\":0", with: "\"rank\":0,\"site\":null")
        #expect(try decoder.decode(Plant.Snapshot.self, from: Data(null.utf8)) == yard.snapshot)
        var decoded = try decoder.decode(Plant.Snapshot.self, from: Data(text.utf8))
        #expect(decoded.site?.key == nil)
        decoded.site?.key = "hunter2"
        #expect(decoded == mill.snapshot)
        #expect(!"\(mill.snapshot)".contains("hunter2"))
    }

    @Test func observersOfAValueAreNotifiedOfItsPresence() throws {
        let store = try Store.inMemory(for: WatchedPlant.self)
        let context = store.context()
        let watched = WatchedPlant()
        context.insert(watched)
        try context.save()
        let seen = Notifications()
        func watch() {
            withObservationTracking({ _ = watched.site?.city }, onChange: { seen.add() })
        }
        watch()
        watched.title = "x"
        try context.save()
        #expect(seen.count == 0)
        watched.site = Site(street: " y ", city: "Bern")
        #expect(seen.count == 1)
        watch()
        try context.save()
        #expect(seen.count == 2)
        #expect(watched.site?.street == "y")
        watch()
        watched.title = "z"
        try context.save()
        #expect(seen.count == 2)
        watched.site = nil
        #expect(seen.count == 3)
    }

    @Test func aDamagedValueIsReportedAsUnreadable() throws {
        let entity = try #require(works.store.file.schema.entity(named: "Plant"))
        var values = try #require(try values(of: mill))
        let whole = try EncodedBody(values, of: entity)
        #expect(Plant.unreadableSlot(in: whole) == nil)
        values[3] = .null
        #expect(Plant.unreadableSlot(in: try EncodedBody(values, of: entity)) == 3)
        values[1] = .null
        let absent = try EncodedBody(values, of: entity)
        let snapshot = try absent.bytes.withUnsafeBytes { try Plant._$decode(mill.id, $0) }
        #expect(snapshot.site == nil)
    }
}

@Model(.observable) private final class WatchedPlant {
    var title: String = ""
    var site: Site?
    init() {}
}

/// The number of notifications.
private final class Notifications: @unchecked Sendable {  // used by one thread
    private(set) var count = 0
    func add() { count += 1 }
}
