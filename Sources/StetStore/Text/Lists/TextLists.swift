import StetLMDB

/// The places of lists of postings, each once, numbered in the order in which they were added.
package struct TextLists: Sendable {
    /// Differs in each process, so that nobody can choose words with equal hashes.
    private static let seed = UInt64.random(in: .min ... .max)

    /// The bytes of all places, in the order of their numbers.
    private(set) var bytes: [UInt8] = []
    /// The end of each place in `bytes`.
    private var ends: [Int] = []
    /// A hash table with open addressing, of which at least a half is empty: the upper half of a
    /// hash, and the number of its list plus 1; 0 where there is none.
    private var table: [UInt64] = []

    package init() {}

    var count: Int { ends.count }

    /// The bytes of a list's place.
    func range(_ number: Int) -> Range<Int> { (number == 0 ? 0 : ends[number - 1])..<ends[number] }

    /// Returns the place of a list.
    package subscript(number: Int) -> ArraySlice<UInt8> { bytes[range(number)] }

    /// Returns the number of the list of a term in an index, which is added unless it is there.
    mutating func number(_ index: Int, _ term: UnsafeRawBufferPointer) -> Int {
        if ends.count * 2 >= table.count { grow() }
        let hash = Checksum.hash(term, seed: Self.seed &+ UInt64(index)) & ~UInt64(UInt32.max)
        var slot = Int(hash >> 32) & (table.count - 1)
        while table[slot] != 0 {
            let number = Int(table[slot] & UInt64(UInt32.max)) - 1
            if table[slot] & ~UInt64(UInt32.max) == hash, isList(number, of: term, index) {
                return number
            }
            slot = (slot + 1) & (table.count - 1)
        }
        TextKey.append(index, term, to: &bytes)
        ends.append(bytes.count)
        table[slot] = hash | UInt64(UInt32(ends.count))
        return ends.count - 1
    }

    private func isList(_ number: Int, of term: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        bytes.withUnsafeBytes { bytes in
            TextKey.isList(UnsafeRawBufferPointer(rebasing: bytes[range(number)]), of: term, index)
        }
    }

    private mutating func grow() {
        let entries = table
        table = [UInt64](repeating: 0, count: max(entries.count * 2, 64))
        for entry in entries where entry != 0 {
            var slot = Int(entry >> 32) & (table.count - 1)
            while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
            table[slot] = entry
        }
    }

    /// Returns the numbers of the lists in the order of their places.
    func sorted() -> [Int] { ByteOrder.sorted(bytes, (0..<count).map(range)) }
}
