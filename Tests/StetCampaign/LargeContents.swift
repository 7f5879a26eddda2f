import Foundation
import StetStore

/// The large values of the campaigns: few contents, so that objects and revisions share some.
enum LargeContents {
    /// The numbers of bytes: none, less than a chunk, exactly one, several; and more than one
    /// transaction writes.
    private static let byteCounts = [0, 1, 900, 5_000, 20_000, 65_512, 65_513, 140_000, 1_300_000]
    /// The number of contents of each size.
    private static let variantCount = 3

    /// The stored forms of the contents; those without bytes are one value.
    private static let values = (0..<byteCounts.count * variantCount).map { number in
        Value.data(Data(bytes(number).withUnsafeBytes { LargeValue(of: $0).stored }))
    }

    /// Returns the content with a number: bytes that no other content has.
    private static func bytes(_ number: Int) -> [UInt8] {
        let count = byteCounts[number / variantCount]
        return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ number) }
    }

    /// Returns a value, mostly one of few bytes.
    static func random(using random: inout some RandomNumberGenerator) -> Value {
        let isLong = Int.random(in: 0..<8, using: &random) == 0
        let middle = values.count / 2
        return values[Int.random(in: isLong ? middle..<values.count : 0..<middle, using: &random)]
    }

    /// Some values of few bytes, each different: of none, of 1 and of 900.
    static let few = Array(values[variantCount - 1..<variantCount * 3])

    /// Writes the bytes of the values that edits give to objects.
    ///
    /// - Throws: the errors of the store.
    static func write(_ edits: [Workload.Edit], to file: StoreFile) throws {
        for edit in edits {
            let properties = file.schema.entities[edit.key.entity].properties
            for slot in properties.slots where properties[slot].isLarge {
                guard let new = edit.new?[slot.index], new != edit.old?.values[slot.index] else {
                    continue
                }
                try write(new, to: file)
            }
        }
    }

    /// Returns a description of how the bytes that a store has of a value differ from its content;
    /// nil if they do not.
    static func problem(_ value: Value, in file: StoreFile) throws -> String? {
        guard let number = values.firstIndex(of: value), case .data(let data) = value,
            let large = data.withUnsafeBytes({ LargeValue(stored: $0) })
        else { return "an object has a large value that nobody has written" }
        var read: [UInt8] = []
        try LargeValueReader(file).read(large, 0..<large.byteCount) { read += $0 }
        return read == bytes(number) ? nil : "large value \(number) has other bytes"
    }

    /// Writes the bytes of a value.
    static func write(_ value: Value, to file: StoreFile) throws {
        guard let number = values.firstIndex(of: value) else { return }
        let writer = try LargeValueWriter(file)
        do {
            try bytes(number).withUnsafeBytes { try writer.append($0) }
            guard .data(Data(try writer.finish().stored)) == value else {
                throw CampaignFailure("large value \(number) was written as another one")
            }
        } catch {
            writer.abandon()
            throw error
        }
    }
}
