import Foundation
import StetStore
import StetTestSupport
import Testing

/// Random versions of a model with random edits between them, compared with a plain array of what
/// the present version must show of each revision.
struct RandomMigrationTests {
    @Test(arguments: 0..<UInt64(12))
    func theHistoryOfAMigratedStoreIsThatOfItsPresentModels(seed: UInt64) throws {
        var driver = try MigrationDriver(seed: 700 + seed)
        for _ in 0..<6 {
            for _ in 0..<4 { try driver.commit() }
            try driver.check("before the migration")
            try driver.migrate()
            try driver.check("behind the migration")
        }
        for _ in 0..<4 { try driver.commit() }
        try driver.reopen()
        try driver.check("at the end")
        #expect(driver.migrationCount > 2)
    }
}

extension MigrationDriver {
    func check(_ moment: String) throws {
        let note = Comment("\(moment): \(log.joined(separator: ", "))")
        let problems = try file.verify().problems
        #expect(problems == [], note)
        #expect(file.schema.entities.map { $0.isRemoved ? nil : $0 } == entities, note)
        for (index, state) in states.enumerated() {
            let expected = Dictionary(
                uniqueKeysWithValues: state.map { key, values in
                    (
                        key,
                        Shown(
                            revision: revisions[index][key] ?? .zero, cells: values.map(\.cell))
                    )
                })
            #expect(try file.objects(asOf: Revision(UInt64(index))) == expected, note)
        }
        try checkHistories(note)
    }

    /// Checks that the chain of each object's changes, in the present version, leads to its present
    /// state.
    private func checkHistories(_ note: Comment) throws {
        for key in Set(states.flatMap(\.keys)).sorted() {
            guard let entity = entities[key.entity] else { continue }
            let changes = try file.read { try $0.history(ofEntity: key.entity, key.id) }
            var values: [String: Value]?
            for change in changes.reversed() {
                #expect(change.change.entity == entity.name, note)
                switch change.change.kind {
                case .insert: values = [:]
                case .delete: values = nil
                case .update: break
                }
                guard change.change.kind != .delete else { continue }
                for property in change.change.properties { values?[property.name] = property.new }
                let expected = states[Int(change.revision.number)][key].map { values in
                    Dictionary(uniqueKeysWithValues: zip(entity.properties.map(\.name), values))
                }
                #expect(values == expected, note)
            }
        }
    }
}
