import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Random edits, saves, merges, undos and redos of sealed values, with owners that change and keys
/// that are rotated and destroyed, beside a plain model of the last saved values.
///
/// Queries find each value.
@Suite struct RandomSealingTests {
    private final class Driver {
        let clinic: Clinic
        var random: SeededGenerator
        var contexts: [ManagedContext] = []
        var destroyed: Set<ObjectID> = []
        init(seed: UInt64) async throws {
            random = SeededGenerator(seed: seed)
            clinic = try await Clinic()
            makeContexts()
        }

        func makeContexts() {
            contexts = (0..<2).map { clinic.store.context(author: "author \($0)") }
            for context in contexts { context.mergePolicy = .mergeContextWins }
        }

        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        func any<T>(_ objects: [T]) -> T? { objects.isEmpty ? nil : objects[number(objects.count)] }

        func step() async throws {
            let context = contexts[number(2)]
            switch number(20) {
            case 0...11: try edit(context)
            case 12...15: try save(context)
            case 16: try await clinic.store.undo(author: "author \(number(2))", policy: .skip)
            case 17: try await clinic.store.redo(author: "author \(number(2))", policy: .skip)
            case 18:
                guard let patient = any(try context.fetch(Client.self).snapshots()) else { return }
                try await changeKey(of: patient.id)
            default:
                guard number(6) == 0 else { return }
                try await clinic.reopen()
                makeContexts()
            }
            try check()
        }

        private func changeKey(of patient: ObjectID) async throws {
            switch number(3) {
            case 0:
                try clinic.destroyKey(of: patient)
                destroyed.insert(patient)
            case _ where destroyed.contains(patient): break
            case 1: try clinic.keys?.rotateKey(of: patient)
            default: try await clinic.store.sealAnew(by: patient)
            }
        }

        private func edit(_ context: ManagedContext) throws {
            let patients = try context.fetch(Client.self).all()
            let visits = try context.fetch(Treatment.self).all()
            switch number(8) {
            case 0: context.insert(Client(name: "name \(number(1_000))"))
            case 1:
                let visit = Treatment(patient: any(patients))
                visit.diagnosis = number(3) == 0 ? nil : Sealed("diagnosis \(number(1_000))")
                context.insert(visit)
            case 2: any(patients)?.name = Sealed("name \(number(1_000))")
            case 3: any(patients)?.ward = number(5)
            case 4: any(visits)?.diagnosis = number(4) == 0 ? nil : Sealed("d \(number(1_000))")
            case 5: any(visits)?.patient = number(5) == 0 ? nil : any(patients)
            case 6: any(visits)?.room = "\(number(9))"
            default:
                if number(3) == 0, let visit = any(visits) { context.delete(visit) }
            }
        }

        private func save(_ context: ManagedContext) throws {
            // What each object shows before the save, it shows after it.
            let shown = try shownValues(context)
            do {
                try context.save()
            } catch let error as ValidationError {
                #expect(error.violations.allSatisfy { $0.code == .unsealable })
                return
            } catch is ConflictError {
                context.rollback()
                return
            }
            for (id, value) in shown {
                guard let visit = try context.object(Treatment.self, id: id) else { continue }
                let now = try visit.diagnosis.map { try text(of: $0) }
                #expect(now == value)
            }
        }

        private func shownValues(_ context: ManagedContext) throws -> [ObjectID: String?] {
            if context.revision != (try clinic.store.revision()) { return [:] }
            return try Dictionary(
                uniqueKeysWithValues: context.fetch(Treatment.self).all().map { visit in
                    (visit.id, try visit.diagnosis.map { try text(of: $0) })
                })
        }

        private func text(of value: Sealed<String>) throws -> String {
            do {
                return try value.value
            } catch {
                guard error.code == .erased else { throw error }
                return "erased"
            }
        }

        /// Checks that everything stored opens, except for exactly what belongs to destroyed keys.
        private func check() throws {
            let context = clinic.store.context()
            for patient in try context.fetch(Client.self).snapshots() {
                #expect(patient.name.isErased == destroyed.contains(patient.id))
                if !patient.name.isErased {
                    #expect(try patient.name.value.hasPrefix("name "))
                }
            }
            for visit in try context.fetch(Treatment.self).snapshots() {
                guard let diagnosis = visit.diagnosis else { continue }
                let owner = try #require(diagnosis.bytes.place?.owner)
                #expect(diagnosis.isErased == destroyed.contains(owner))
                if diagnosis.isErased { continue }
                #expect(try diagnosis.value.hasPrefix("d"))
            }
            try checkQuery()
        }

        /// Checks that a query finds the visits with the value of one.
        private func checkQuery() throws {
            let visits = try clinic.store.fetch(Treatment.self).all()
            guard let diagnosis = any(visits)?.diagnosis, let owner = diagnosis.bytes.place?.owner,
                !diagnosis.isErased
            else { return }
            let value = try diagnosis.value
            let same = try visits.filter {
                try $0.diagnosis?.bytes.place?.owner == owner && $0.diagnosis?.value == value
            }
            let found = clinic.store.fetch(Treatment.self) {
                $0.diagnosis.isEqual(to: value, sealedBy: owner)
            }
            #expect(try found.ids() == same.map(\.id))
        }
    }

    @Test(arguments: 1...repetitions(12))
    func everySealedValueOpensUnlessItsKeyWasDestroyed(seed: Int) async throws {
        let driver = try await Driver(seed: UInt64(seed))
        for _ in 0..<120 { try await driver.step() }
        #expect(try driver.clinic.store.verify().problems == [])
        for text in ["diagnosis ", "name "] { #expect(try !driver.clinic.contains(text + "1")) }
    }
}
