import Foundation
import StetStore
import StetTestSupport
import Testing

/// Random changes of the form of properties: embedded values that become optional and back, arrays
/// of them, derived attributes, large data and sealed values, compared with a plain model of what
/// the present version must show of each revision.
struct TraitMigrationTests {
    @Test(arguments: 0..<UInt64(repetitions(64)))
    func theHistoryIsThatOfThePresentModels(seed: UInt64) async throws {
        var driver = try await TraitDriver(seed: 4_000 + seed)
        for _ in 0..<7 {
            for _ in 0..<3 { try driver.commit() }
            try driver.check("before the migration")
            try driver.migrate()
            try driver.check("behind the migration")
        }
        for _ in 0..<3 { try driver.commit() }
        try driver.reopen()
        try driver.check("at the end")
        #expect(driver.file.schema.revision > 3)
    }
}

extension TraitDriver {
    fileprivate func check(_ moment: String) throws {
        let note = Comment("\(moment): \(log.joined(separator: ", "))")
        #expect(try file.verify().problems == [], note)
        #expect(try file.head().revision.number == UInt64(states.count - 1), note)
        for (index, state) in states.enumerated() {
            var expected: [ObjectKey: Plain] = [:]
            for (key, object) in state {
                expected[key] = Plain(
                    revision: revisions[index][key] ?? .zero,
                    values: entities[key.entity].values(object))
            }
            let found = try objects(asOf: Revision(UInt64(index)))
            #expect(Set(found.keys) == Set(expected.keys), "revision \(index) \(note)")
            for (key, object) in expected {
                #expect(found[key] == object, "\(key) at \(index) \(note)")
            }
            if found != expected { throw CocoaError(.fileReadCorruptFile) }
        }
        try checkHistories(note)
    }

    fileprivate struct Plain: Equatable {
        var revision: Revision
        var values: [Value]
    }

    private func objects(asOf revision: Revision) throws -> [ObjectKey: Plain] {
        var objects: [ObjectKey: Plain] = [:]
        try file.read { reader in
            for (number, entity) in file.schema.entities.numbered {
                try reader.forEachRecord(ofEntity: number, asOf: revision) { id, record in
                    objects[ObjectKey(number, id)] = Plain(
                        revision: record.revision,
                        values: try RecordBody(record.body, of: entity).values())
                    return true
                }
            }
        }
        return objects
    }

    /// Checks that the chain of each object's changes, in the present version, leads to its present
    /// state.
    private func checkHistories(_ note: Comment) throws {
        for key in Set(states.flatMap(\.keys)).sorted() {
            let entity = entities[key.entity]
            let names = entity.places.map(\.name)
            let changes = try file.read { try $0.history(ofEntity: key.entity, key.id) }
            var values: [String: Value]?
            for change in changes.reversed() {
                switch change.change.kind {
                case .insert: values = [:]
                case .delete: values = nil
                case .update: break
                }
                guard change.change.kind != .delete else { continue }
                for property in change.change.properties { values?[property.name] = property.new }
                let expected = states[Int(change.revision.number)][key].map { object in
                    Dictionary(uniqueKeysWithValues: zip(names, entity.values(object)))
                }
                #expect(values == expected, "history of \(key) at \(change.revision) \(note)")
            }
        }
    }
}
