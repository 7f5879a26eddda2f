import Foundation
import StetStore
import StetTestSupport
import Testing

/// Damage of the journal of a store with large data.
struct DamagedLargeEntryTests {
    private let directory = TemporaryDirectory()

    /// The references to large data are counted in entries that need not match their digests.
    @Test func noDamagedByteOfAnEntryIsATrap() throws {
        let schema = try Schema(entities: [
            Entity(
                name: "Person",
                properties: [
                    Property(name: "photo", type: .data, isOptional: true, isLarge: true)
                ])
        ])
        let file = try StoreFile.open(at: directory.file(), schema: schema)
        let writer = try LargeValueWriter(file)
        try [UInt8]([1, 2, 3]).withUnsafeBytes(writer.append)
        let value = try writer.finish()
        _ = try file.commit([Edit(ObjectKey(1, 1), from: nil, to: [.data(Data(value.stored))])])
        #expect(try file.verify().problems == [])
        let journal = try #require(try file.dump()["journal"])
        let entry = try #require(journal.first)
        #expect(journal.count == 1)
        for place in entry.value.indices {
            var damaged = entry.value
            damaged[place] ^= 0x40
            try file.tamper("journal", entry.key, damaged)
            do {
                #expect(try !file.verify().problems.isEmpty, "byte \(place)")
            } catch let error as StoreError {
                #expect(error.code == .damaged, "byte \(place)")
            }
        }
        try file.tamper("journal", entry.key, entry.value)
        #expect(try file.verify().problems == [])
    }
}
