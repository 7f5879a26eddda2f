import StetLMDB

/// The keys of an index of words or substrings: its number, then 0 for the totals, or 1, a word or
/// trigram, 0 and, unless the list of postings begins there, the short id of the first object of a
/// chunk, or 2 and the first half of ids that objects share.
package enum TextKey {
    private static let halfByteCount = 8
    private static let totals: UInt8 = 0
    private static let postings: UInt8 = 1
    private static let sharedHalf: UInt8 = 2
    private static let end: UInt8 = 0

    /// Returns the key of the totals of an index.
    package static func totals(_ number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number), totals]
    }

    /// Returns the beginning of the keys of all first halves of ids that objects share.
    package static func sharedHalves(_ number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number), sharedHalf]
    }

    /// Returns the key of a first half of ids that objects share.
    package static func sharedHalf(_ number: Int, _ half: UInt64) -> [UInt8] {
        sharedHalves(number) + withUnsafeBytes(of: half.bigEndian) { Array($0) }
    }

    /// Returns the beginning of the keys of a word, or of all words that begin with it.
    package static func list(_ number: Int, _ word: [UInt8], isPrefix: Bool = false) -> [UInt8] {
        var key: [UInt8] = []
        word.withUnsafeBytes { append(number, $0, to: &key) }
        if isPrefix { key.removeLast() }
        return key
    }

    static func append(_ number: Int, _ word: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: number >> 8))
        bytes.append(UInt8(truncatingIfNeeded: number))
        bytes.append(postings)
        bytes.append(contentsOf: word)
        bytes.append(end)
    }

    /// Returns whether the key of a list is that of a word in an index.
    static func isList(
        _ key: UnsafeRawBufferPointer, of word: UnsafeRawBufferPointer, _ number: Int
    ) -> Bool {
        key.count == word.count + 4 && key[0] == UInt8(truncatingIfNeeded: number >> 8)
            && key[1] == UInt8(truncatingIfNeeded: number)
            && UnsafeRawBufferPointer(rebasing: key[3..<key.count - 1]).compare(word) == 0
    }

    /// Returns the key without the object of a chunk.
    ///
    /// - Throws: `DecodingFailure` when it is not the key of a chunk.
    package static func list(
        of key: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard key.count > 4, key[2] == postings,
            let end = key[3...].firstIndex(of: end), end > 3,
            [0, halfByteCount, 2 * halfByteCount].contains(key.count - end - 1)
        else { throw DecodingFailure("a key of an index of words that is malformed") }
        return UnsafeRawBufferPointer(rebasing: key[...end])
    }

    /// Returns the short id of the first object of a chunk that is not the first one of its list.
    ///
    /// - Throws: `DecodingFailure` when the key has another number of bytes.
    static func id(
        of key: UnsafeRawBufferPointer, in list: [UInt8]
    ) throws(DecodingFailure) -> ObjectID {
        func half(_ offset: Int) -> UInt64 {
            UInt64(
                bigEndian: key.loadUnaligned(fromByteOffset: list.count + offset, as: UInt64.self))
        }
        switch key.count - list.count {
        case halfByteCount: return ObjectID(high: half(0), low: 0)
        case 2 * halfByteCount: return ObjectID(high: half(0), low: half(halfByteCount))
        default: throw DecodingFailure("a key of an index of words that is malformed")
        }
    }

    /// Appends the short id of the first object of a chunk to the key of a list, without the second
    /// half if that is 0.
    static func append(_ id: ObjectID, to key: inout [UInt8]) {
        id.append(to: &key)
        if id.low == 0 { key.removeLast(halfByteCount) }
    }
}
