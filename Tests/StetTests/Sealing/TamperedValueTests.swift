import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Sealed bytes that were cut off, changed, or replaced by earlier ones.
@Suite struct TamperedValueTests {
    private let clinic: Clinic
    private let context: ManagedContext
    private let visit: Treatment

    init() async throws {
        clinic = try await Clinic()
        (context, _, visit) = try clinic.admit("Ada", "flu")
    }

    /// The sealed bytes of the diagnosis.
    private func bytes(_ visit: Treatment?) throws -> [UInt8] {
        try #require(visit?.diagnosis).bytes.bytes
    }

    @Test(arguments: [0, 94, 98])
    func bytesThatWereCutOffAreAnErrorAndLoseNothing(count: Int) async throws {
        #expect(try bytes(visit).count > 98)
        let rest = Data(try bytes(visit).prefix(count))
        try clinic.store.commitUnchecked(visit) { $0[1] = .data(rest) }
        let context = clinic.store.context()
        let found = try #require(try context.object(Treatment.self, id: visit.id))
        #expect(try sealingCode(found.diagnosis) == (count == 0 ? .neverSaved : .damaged))
        #expect(found.diagnosis?.isErased == false)
        #expect(try found.drugs?.value == ["flu drug"])
        #expect(try found.patient?.name.value == "Ada")
        found.room = "9"
        if count == 0 {
            let error = #expect(throws: ValidationError.self) {
                try context.save(onFailure: .keepPending)
            }
            #expect(error?.violations.map(\.code) == [.unsealable])
            #expect(error?.violations.first?.property == "diagnosis")
        } else {
            try await context.save()
            #expect(try Data(bytes(found)) == rest)
        }
        found.diagnosis = Sealed("cold")
        try await context.save()
        let saved = try #require(try clinic.store.object(Treatment.self, id: visit.id))
        #expect(try saved.diagnosis?.value == "cold")
        #expect(saved.room == "9")
        let first = try clinic.store.view(asOf: 1).object(Treatment.self, id: visit.id)
        #expect(try first?.diagnosis?.value == "flu")
        #expect(try clinic.store.verify().problems == [])
    }

    @Test(arguments: [1, 8, 9, 49, 50, 66, 93])
    func bytesWithoutAWholeHeaderAreNotCommitted(count: Int) throws {
        let rest = Data(try bytes(visit).prefix(count))
        let value = Sealed<String>(SealedBytes(bytes: Array(rest)))
        let code = try #require(try sealingCode(value))
        #expect([.damaged, .neverSaved].contains(code))
        let error = #expect(throws: SealingError.self) {
            try clinic.store.commitUnchecked(visit) { $0[1] = .data(rest) }
        }
        #expect(error?.code == .misplaced)
        #expect(try clinic.store.revision() == 1)
        #expect(try clinic.store.object(Treatment.self, id: visit.id)?.diagnosis?.value == "flu")
    }

    @Test func eachByteThatWasChangedIsAnError() throws {
        let whole = try bytes(visit)
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1
            let value = Sealed<String>(SealedBytes(bytes: changed))
            let code = try sealingCode(value)
            #expect(code != nil, "byte \(index)")
        }
    }

    /// Reading cannot notice it, because an undo restores earlier bytes, too.
    @Test func anEarlierValueInTheRecordIsReported() async throws {
        func drugs() throws -> Sealed<[String]> {
            try #require(try clinic.store.object(Treatment.self, id: visit.id)?.drugs)
        }
        let earlier = try drugs()
        visit.drugs = Sealed(["hiv drug"])
        try await context.save()
        let later = try drugs()
        #expect(earlier.bytes.bytes.count == later.bytes.bytes.count)
        #expect(try clinic.store.verify().problems == [])
        func replace(_ old: Sealed<[String]>, by new: Sealed<[String]>) throws -> Int {
            try clinic.replace(
                old.bytes.bytes, by: new.bytes.bytes, inRecordsOf: "Treatment")
        }
        #expect(try replace(later, by: earlier) == 1)
        #expect(try drugs().value == ["flu drug"])
        #expect(try !clinic.store.verify().problems.isEmpty)
        #expect(try replace(earlier, by: later) == 1)
        #expect(try drugs().value == ["hiv drug"])
        #expect(try clinic.store.verify().problems == [])
    }
}
