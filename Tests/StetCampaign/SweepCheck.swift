import Foundation
import StetLMDB
import StetStore

/// Examines the large values of a store in which the removal of unused ones was interrupted.
enum SweepCheck {
    /// Returns a description of a problem; nil if there is none.
    ///
    /// Removes what is unused in the end, as a trim would a year later.
    static func problem(_ path: String) throws -> String? {
        let time = FastClock.now() + 365 * 86_400
        var configuration = StoreFile.Configuration()
        configuration.time = { time }
        let file = try StoreFile.open(at: path, schema: .campaign, configuration)
        defer { file.close() }
        if let problem = try problemOfValues(file) { return problem }
        try file.trim(through: try file.read { try $0.floor() })
        let rest = try unusedCount(file)
        if rest > 0 { return "\(rest) unused large values stay" }
        return try problemOfValues(file) ?? file.verify().problems.first
    }

    /// Reads the large values of all objects.
    private static func problemOfValues(_ file: StoreFile) throws -> String? {
        var values: Set<Value> = []
        try file.read { reader in
            for (number, entity) in file.schema.entities.numbered {
                let slots = entity.properties.slots.filter { entity.properties[$0].isLarge }
                try reader.forEachRecord(ofEntity: number, asOf: .max) { _, record in
                    let body = try RecordBody(record.body, of: entity)
                    for slot in slots { values.insert(try body.value(slot)) }
                    return true
                }
            }
        }
        for value in values where value != .null {
            if let problem = try LargeContents.problem(value, in: file) { return problem }
        }
        return nil
    }

    /// Returns the number of values without references, and of those that are unfinished, as
    /// docs/FileFormat.md describes their entries.
    private static func unusedCount(_ file: StoreFile) throws -> Int {
        try file.environment.read { transaction in
            guard let table = try transaction.table("values") else { return 0 }
            var count = 0
            try transaction.scan(table, KeyRange(prefix: [])) { key, entry in
                let isUnused =
                    switch key.first {
                    case 0: true
                    case 1: entry.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == 0
                    default: false
                    }
                if isUnused { count += 1 }
                return true
            }
            return count
        }
    }
}
