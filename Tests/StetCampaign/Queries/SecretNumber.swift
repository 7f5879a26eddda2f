import Foundation
import StetStore
import StetTestSupport

/// A sealed number of a sample.
struct SecretNumber {
    static let numbers = [0, 1, 2, 3]

    let number: Int
    /// The box by whose key the number is sealed, which may be another one than the sample has now;
    /// nil until it is saved.
    let owner: ObjectID?
    let bytes: SealedBytes

    /// Returns a number of a sample; nil where it would have no owner.
    static func random(
        of sample: ObjectID, by box: ObjectID?, isSaved: Bool, _ random: inout SeededGenerator
    ) -> SecretNumber? {
        let number = random.pick(numbers)
        let isIndexed = !random.chance(3)
        if !isSaved {
            return SecretNumber(number: number, owner: nil, bytes: unsaved(number))
        }
        guard let box else { return nil }
        let place = SealedBytes.Place(owner: box, object: sample, label: QuerySchema.secretLabel)
        do {
            try keys.makeKeys(for: [box])
            if random.chance(500) { try keys.rotateKey(of: box) }
            let bytes = try SealedBytes(
                plaintext(number), at: place, isIndexed: isIndexed, by: keys)
            return SecretNumber(number: number, owner: box, bytes: bytes)
        } catch {
            fatalError("a number cannot be sealed: \(error)")
        }
    }

    /// Returns the comparison with a number of a box.
    static func match(_ number: Int, of box: ObjectID) -> SealedMatch {
        SealedMatch(unsaved(number), owner: box, labels: [QuerySchema.secretLabel])
    }

    private static func plaintext(_ number: Int) -> [UInt8] { [1, UInt8(number)] }
    private static func unsaved(_ number: Int) -> SealedBytes {
        SealedBytes(unsaved: plaintext(number))
    }

    private static let directory = TemporaryDirectory()
    /// The keys of the boxes of all trials, which have the same ids.
    private static let keys: KeyFile = {
        do {
            return try waiting {
                try await KeyFile.open(at: directory.file("keys"), provider: Diary.provider)
            }
        } catch {
            fatalError("there is no key file: \(error)")
        }
    }()
}
