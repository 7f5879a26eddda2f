import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// Sealed values in a shipped journal, and in the stores that are restored from it.
@Suite struct ErasedShipmentTests {
    private let clinic: Clinic
    private let shipped: String

    init() async throws {
        clinic = try await Clinic()
        shipped = clinic.directory.file("shipped")
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: false)
    }

    /// The bytes of all files that were shipped.
    private func shippedBytes() throws -> Data {
        var bytes = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: shipped) {
            bytes += try Data(contentsOf: URL(filePath: "\(shipped)/\(name)"))
        }
        return bytes
    }

    private func restored(_ bound: Revision.Bound, to name: String) async throws -> Store {
        let path = clinic.directory.file(name)
        try await Store.restore(from: shipped, to: path, at: bound)
        return try Clinic.open(path, clinic.keys)
    }

    @Test func whatWasShippedBeforeTheDestructionIsErasedInEachRestoredStore() async throws {
        let (context, ada, visit) = try clinic.admit("Ada Lovelace", "influenza")
        visit.room = "ward seventeen"
        try await context.save()
        try await clinic.store.ship(to: shipped)
        visit.diagnosis = Sealed("pneumonia")
        visit.room = "ward eighteen"
        try await context.save()
        let (_, grace, other) = try clinic.admit("Grace Hopper", "measles")
        try await clinic.store.ship(to: shipped)
        let last = try clinic.store.revision()
        let before = try await restored(.latest, to: "before.stet")
        #expect(
            try before.object(Treatment.self, id: visit.id)?.diagnosis?.value == "pneumonia")

        try clinic.destroyKey(of: ada.id)
        for number in 2...last.number {
            let store = try await restored(.revision(Revision(number)), to: "\(number).stet")
            let copied = try #require(try store.object(Treatment.self, id: visit.id))
            #expect(try sealingCode(copied.diagnosis) == .erased)
            #expect(copied.room == (number == 2 ? "ward seventeen" : "ward eighteen"))
            #expect(try sealingCode(store.object(Client.self, id: ada.id)?.name) == .erased)
            #expect(try store.verify().problems == [])
        }
        #expect(try sealingCode(before.object(Client.self, id: ada.id)?.name) == .erased)
        let store = try Clinic.open(clinic.directory.file("\(last.number).stet"), clinic.keys)
        #expect(
            try store.object(Treatment.self, id: other.id)?.diagnosis?.value == "measles")
        #expect(try store.object(Client.self, id: grace.id)?.name.value == "Grace Hopper")
    }

    @Test func shippedFilesHaveSealedBytesOnly() async throws {
        let (context, ada, visit) = try clinic.admit("Ada Lovelace", "influenza")
        try await clinic.store.ship(to: shipped)
        visit.diagnosis = Sealed("pneumonia")
        visit.room = "ward eighteen"
        try await context.save()
        try await clinic.store.ship(to: shipped)
        let bytes = try shippedBytes()
        for text in ["Lovelace", "influenza", "influenza drug", "pneumonia"] {
            #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text)")
        }
        // What is not sealed is found, and so are the sealed bytes.
        #expect(bytes.range(of: Data("ward eighteen".utf8)) != nil)
        for value in [visit.diagnosis?._value, ada.name._value] {
            guard case .data(let sealed)? = value else {
                Issue.record("no sealed bytes")
                continue
            }
            #expect(bytes.range(of: sealed) != nil)
        }
    }

    @Test func aStoreIsShippedAfterTheDestruction() async throws {
        let (context, ada, visit) = try clinic.admit("Ada Lovelace", "influenza")
        try await clinic.store.ship(to: shipped)
        try clinic.destroyKey(of: ada.id)
        visit.room = "ward eighteen"
        try await context.save()
        #expect(try await clinic.store.ship(to: shipped).commitCount == 1)
        try await clinic.store.ship(to: shipped, makesBase: true)
        let store = try await restored(.latest, to: "after.stet")
        let copied = try #require(try store.object(Treatment.self, id: visit.id))
        #expect(copied.room == "ward eighteen")
        #expect(try sealingCode(copied.diagnosis) == .erased)
        #expect(try sealingCode(copied.drugs) == .erased)
        let edit = store.context()
        let patient = try #require(try edit.object(Client.self, id: ada.id))
        patient.name = Sealed("Ada again")
        let error = #expect(throws: ValidationError.self) { try edit.save() }
        #expect(error?.violations.map(\.code) == [.unsealable])
        #expect(try store.verify().problems == [])
    }
}
