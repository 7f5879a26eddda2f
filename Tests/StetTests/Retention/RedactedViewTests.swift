import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

private enum Mood: String, RawAttribute { case good, bad }

private struct Address: CodableAttribute { var street: String }

@Model private final class Patient {
    @Attribute(.indexed) var email: String
    var name: String?
    var visits: Int
    var small: Int8
    var weight: Double
    var price: Decimal
    var isWell: Bool
    var born: Date
    var code: UUID
    var photo: Data
    var tags: [String]
    var traits: [String: Int]
    var mood: Mood?
    var site: URL?
    var address: Address?

    init(email: String, number: Int) {
        self.email = email
        name = "name \(number)"
        visits = number
        small = Int8(number)
        weight = Double(number)
        price = Decimal(number)
        isWell = true
        born = Date(timeIntervalSinceReferenceDate: Double(number))
        code = UUID()
        photo = Data([1])
        tags = ["a"]
        traits = ["a": number]
        mood = .good
        site = URL(string: "https://example.org")
        address = Address(street: "Main Street")
    }
}

@Model private final class Strict {
    var name: String
    var mood: Mood
    var site: URL
    var address: Address

    init() {
        name = "n"
        mood = .good
        site = URL(filePath: "/a")
        address = Address(street: "Main Street")
    }
}

/// A redacted value is nil, or an empty value where the property is not optional, for every reader.
struct RedactedViewTests {
    private let directory = TemporaryDirectory()

    private func redactedStore() throws -> (store: Store, id: ObjectID) {
        let store = try Store.open(at: directory.file(), for: Patient.self)
        let context = store.context(author: "a")
        let (patient, other) = (Patient(email: "a@b", number: 7), Patient(email: "", number: 0))
        context.insert(patient)
        context.insert(other)
        try context.save("one")
        context.delete(patient)
        try context.save("two")
        try store.requestRedaction(
            of: Patient.self, id: patient.id, \.email, \.name, \.visits, \.small, \.weight,
            \.price, \.isWell, \.born, \.code, \.photo, \.tags, \.traits, \.mood, \.site, \.address
        ).confirm()
        return (store, patient.id)
    }

    /// The number of a commit begins anew in a file that was compacted.
    @Test(arguments: [false, true])
    func aViewThatWasReadBeforeShowsNoRedactedValue(isCompacted: Bool) throws {
        let store = try Store.open(at: directory.file(), for: Patient.self)
        let context = store.context()
        let patient = Patient(email: "a@b", number: 7)
        context.insert(patient)
        try context.save()
        context.delete(patient)
        try context.save()
        let view = try store.view(asOf: 1)
        if isCompacted { try store.compactInPlace() }
        for _ in 1...2 {
            #expect(try view.fetch(Patient.self) { $0.email == "a@b" }.count() == 1)
        }
        try store.requestRedaction(of: Patient.self, id: patient.id, \.email).confirm()
        if isCompacted { try store.compactInPlace() }
        #expect(try view.fetch(Patient.self) { $0.email == "a@b" }.count() == 0)
        #expect(try view.fetch(Patient.self) { $0.email == "" }.count() == 1)
    }

    @Test func snapshotsAndQueriesShowTheSameEmptyValues() throws {
        let (store, id) = try redactedStore()
        let view = try store.view(asOf: 1)
        let snapshots = try view.fetch(Patient.self).all()
        let patient = try #require(try view.object(Patient.self, id: id))
        #expect(snapshots.first { $0.id == id } == patient)
        #expect(patient.email == "")
        #expect(patient.name == nil)
        #expect(patient.visits == 0)
        #expect(patient.born == Date(timeIntervalSinceReferenceDate: 0))
        #expect(!patient.isWell)
        #expect(patient.tags == [])
        #expect(patient.traits == [:])
        #expect(patient.photo == Data())
        #expect(patient.mood == nil)
        #expect(patient.site == nil)
        #expect(patient.address == nil)
        let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        #expect(patient.code == nobody)
        #expect(patient.price == 0)
        #expect(patient.small == 0)
        /// Compares what a condition finds with what a closure finds among the snapshots.
        func compare(
            _ fetch: SnapshotFetch<Patient>, _ isIncluded: (Patient.Snapshot) -> Bool,
            line: Int = #line
        ) throws {
            let found = Set(try fetch.ids())
            #expect(found == Set(snapshots.filter(isIncluded).map(\.id)), "line \(line)")
            #expect(try fetch.all().map(\.id).count == found.count, "line \(line)")
        }
        typealias P = Patient
        try compare(view.fetch(P.self) { $0.email == "" }) { $0.email == "" }
        try compare(view.fetch(P.self) { $0.email != "" }) { $0.email != "" }
        try compare(view.fetch(P.self) { $0.email < "b" }) { $0.email < "b" }
        try compare(view.fetch(P.self) { $0.name == nil }) { $0.name == nil }
        try compare(view.fetch(P.self) { $0.visits == 0 }) { $0.visits == 0 }
        try compare(view.fetch(P.self) { $0.visits < 1 }) { $0.visits < 1 }
        try compare(view.fetch(P.self) { $0.visits + 1 == 1 }) { $0.visits + 1 == 1 }
        try compare(view.fetch(P.self) { $0.small <= Int8(0) }) { $0.small <= 0 }
        try compare(view.fetch(P.self) { $0.weight == 0 }) { $0.weight == 0 }
        try compare(view.fetch(P.self) { $0.price == 0 }) { $0.price == 0 }
        try compare(view.fetch(P.self) { !$0.isWell }) { !$0.isWell }
        let year = Date(timeIntervalSinceReferenceDate: 0)
        try compare(view.fetch(P.self) { $0.born == year }) { $0.born == year }
        try compare(view.fetch(P.self) { $0.code == nobody }) { $0.code == nobody }
        try compare(view.fetch(P.self) { $0.mood == nil }) { $0.mood == nil }
        #expect(try view.fetch(P.self).sorted(by: \.email).all().map(\.email) == ["", ""])
        #expect(try view.fetch(P.self).distinct(\.visits) == [0])
        #expect(try view.fetch(P.self).sum(\.visits) == 0)
        #expect(try view.fetch(P.self).min(\.email) == "")
    }

    @Test func anObjectOfAContextThatIsBehindShowsTheSame() throws {
        let store = try Store.open(at: directory.file(), for: Patient.self)
        let patient = Patient(email: "a@b", number: 7)
        let context = store.context(author: "a")
        context.insert(patient)
        try context.save("one")
        let behind = store.context()
        #expect(try behind.fetch(Patient.self) { $0.visits == 100 }.count() == 0)
        patient.email = "c@d"
        patient.name = "other"
        try context.save("two")
        try store.requestRedaction(of: Patient.self, id: patient.id, \.email, \.name).confirm()
        #expect(behind.revision == 1)
        let shown = try #require(try behind.object(Patient.self, id: patient.id))
        #expect(shown.email == "")
        #expect(shown.name == nil)
        #expect(shown.visits == 7)
        #expect(try behind.fetch(Patient.self) { $0.email == "" }.count() == 1)
        #expect(try behind.fetch(Patient.self) { $0.email == "c@d" }.count() == 0)
        try behind.refresh()
        #expect(shown.email == "c@d")
        #expect(shown.name == "other")
    }

    @Test func aTypeWithoutAnEmptyValueCannotBeReadAndNoConditionHolds() throws {
        let store = try Store.open(at: directory.file(), for: Strict.self)
        let context = store.context(author: "a")
        let object = Strict()
        context.insert(object)
        try context.save("one")
        context.delete(object)
        try context.save("two")
        let site = object.site
        for (number, properties) in [
            [\Strict.Snapshot.mood as PartialKeyPath<Strict.Snapshot>], [\.site], [\.address],
        ].enumerated() {
            let copy = directory.file("\(number).stet")
            try store.compact(to: copy)
            let other = try Store.open(at: copy, for: Strict.self)
            defer { other.close() }
            try other.requestRedaction(of: Strict.self, id: object.id, properties[0]).confirm()
            let view = try other.view(asOf: 1)
            let error = #expect(throws: StoreError.self) {
                try view.object(Strict.self, id: object.id)
            }
            #expect(error?.code == .unreadableValue)
            #expect(try view.fetch(Strict.self) { $0.name == "n" }.ids() == [object.id])
            if number == 1 {
                #expect(try view.fetch(Strict.self) { $0.site == site }.ids() == [])
            }
        }
    }
}
