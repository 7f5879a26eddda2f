import Foundation
import Stet
import StetStore

/// The large data of the objects: a few contents by number, of one chunk, of two, and of none.
enum Contents {
    static let all: [Data] = [
        Data(), Data([1]), Data(repeating: 2, count: 3_000), Data(repeating: 3, count: 70_000),
    ]

    private static let values = all.map { $0.withUnsafeBytes { LargeValue(of: $0) } }
    private static let numbers = Dictionary(
        uniqueKeysWithValues: values.enumerated().map { (Data($1.stored), $0) })

    /// Returns the number of the content that the journal refers to.
    static func number(ofStored data: Data) -> Int { numbers[data] ?? -1 }

    /// Returns the number of a content; -1 for any other.
    static func number(of file: LargeData) -> Int {
        values.firstIndex { $0.digest.hexadecimal == file.sha256 } ?? -1
    }

    /// Writes the contents, which a redaction may have removed, and returns them.
    static func write(to store: Store) throws -> [LargeData] {
        try all.map { try LargeData($0, in: store) }
    }
}
