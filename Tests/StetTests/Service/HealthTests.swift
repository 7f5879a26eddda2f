import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// The answers to readiness probes.
struct HealthTests {
    private let scratch: Scratch
    private var store: Store { scratch.store }

    init() throws { scratch = try Scratch() }

    private func codes(_ health: Store.Health) -> [String] { health.problems.map(\.code) }

    @Test func aStoreInUseIsHealthy() throws {
        _ = try scratch.saved()
        let health = store.health()
        #expect(health.canRead)
        #expect(health.canSave)
        #expect(health.problems == [])
        #expect(health.usedByteCount > 0)
        #expect(health.usedByteCount < health.mapByteCount)
        #expect(health.readerLimit > 0)
        #expect(health.waitingSaveCount == 0)
        let coded = try JSONEncoder().encode(health)
        #expect(try JSONDecoder().decode(Store.Health.self, from: coded) == health)
    }

    @Test func aClosedStoreCanNeitherBeReadNorSavedTo() {
        store.close()
        let health = store.health()
        #expect(!health.canRead)
        #expect(!health.canSave)
        #expect(codes(health) == ["storeClosed"])
    }

    @Test func aStoreWhoseFileWasMovedCanBeReadOnly() throws {
        try FileManager.default.moveItem(atPath: scratch.path, toPath: scratch.path + ".moved")
        let health = store.health()
        #expect(health.canRead)
        #expect(!health.canSave)
        #expect(codes(health) == ["storeMoved"])
    }

    @Test func tooLittleSpaceIsAProblemForSaves() {
        let health = store.health(reserve: .max / 2)
        #expect(health.canRead)
        #expect(!health.canSave)
        #expect(codes(health) == ["diskFull", "mapFull"])
    }

    @Test func aSaveThatWaitsTooLongIsAProblem() async throws {
        let store = store
        let phase = Monitor(0)
        // Holds the right to write, so that the save waits.
        let thread = Thread {
            try? store.file.environment.write { _ in
                phase.withLock { $0 = 1 }
                phase.notify()
                phase.wait { $0 == 2 ? () : nil }
            }
        }
        thread.start()
        phase.wait { $0 == 1 ? () : nil }
        let save = Task { try await store.edit { $0.insert(Notebook(name: "waiting")) } }
        while StoreCondition(of: store.file).longestWait == .zero { await Task.yield() }
        let health = store.health(waitLimit: .zero)
        let patient = store.health(waitLimit: .seconds(86_400))
        #expect(patient.canSave)
        #expect(patient.problems == [])
        phase.withLock { $0 = 2 }
        phase.notify()
        try await save.value
        #expect(!health.canSave)
        #expect(health.canRead)
        #expect(codes(health) == ["saveWaits"])
        #expect(store.health(waitLimit: .zero).canSave)
    }
}
