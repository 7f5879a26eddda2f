/// Numbers that are sorted together with their places.
package struct NumberOrder: ~Copyable {
    /// A number, and the place that it had at first.
    struct Entry {
        var number: UInt64
        let place: Int
    }

    /// The number of entries up to which sorting by insertion is faster.
    private static let smallCount = 64

    let entries: UnsafeMutableBufferPointer<Entry>
    /// Room for as many entries.
    private let others: UnsafeMutableBufferPointer<Entry>
    /// For each of eight bytes, how many numbers have each value.
    private let counts: UnsafeMutableBufferPointer<Int>

    /// Creates a number of entries that are 0.
    init(count: Int) {
        entries = .allocate(capacity: count)
        others = .allocate(capacity: count)
        counts = .allocate(capacity: count > Self.smallCount ? 8 << 8 : 0)
        for place in entries.indices {
            entries.initializeElement(at: place, to: Entry(number: 0, place: place))
        }
    }

    deinit {
        entries.deallocate()
        others.deallocate()
        counts.deallocate()
    }

    /// Returns the places of numbers in ascending order; equal numbers keep their order.
    ///
    /// - Complexity: O(numbers).
    package static func sorted(_ numbers: some Collection<UInt64>) -> [Int] {
        let order = NumberOrder(count: numbers.count)
        for (place, number) in zip(order.entries.indices, numbers) {
            order.entries[place].number = number
        }
        order.sort(0..<order.entries.count)
        return order.places
    }

    /// The places in the order of the entries.
    var places: [Int] { borrowing get { entries.map(\.place) } }

    /// Sorts a range of the entries; those with equal numbers keep their order.
    borrowing func sort(_ range: Range<Int>) {
        range.count > Self.smallCount ? sortByDigits(range) : sortByInsertion(range)
    }

    /// Calls `body` for each run of several equal numbers in a sorted range.
    @inline(__always)
    borrowing func forEachRun(in range: Range<Int>, _ body: (Range<Int>) -> Void) {
        var start = range.lowerBound
        while start < range.upperBound {
            var end = start + 1
            while end < range.upperBound, entries[end].number == entries[start].number { end += 1 }
            if end - start > 1 { body(start..<end) }
            start = end
        }
    }

    private borrowing func sortByInsertion(_ range: Range<Int>) {
        for place in range.dropFirst() {
            let entry = entries[place]
            var free = place
            while free > range.lowerBound, entries[free - 1].number > entry.number {
                entries[free] = entries[free - 1]
                free -= 1
            }
            entries[free] = entry
        }
    }

    /// Sorts by one byte of the numbers after another, the last one first, without those that are
    /// all equal.
    private borrowing func sortByDigits(_ range: Range<Int>) {
        var source = UnsafeMutableBufferPointer(rebasing: entries[range])
        var target = UnsafeMutableBufferPointer(rebasing: others[range])
        guard countBytes(of: source) else { return }
        for digit in 0..<8 {
            let shift = UInt64(digit * 8)
            let places = UnsafeMutableBufferPointer(
                rebasing: counts[digit << 8..<(digit + 1) << 8])
            if places[Int(source[0].number >> shift & 0xff)] == range.count { continue }
            var next = 0
            for byte in 0..<256 { (places[byte], next) = (next, next + places[byte]) }
            for entry in source {
                let byte = Int(entry.number >> shift & 0xff)
                target.initializeElement(at: places[byte], to: entry)
                places[byte] += 1
            }
            swap(&source, &target)
        }
        if source.baseAddress != entries.baseAddress! + range.lowerBound {
            _ = target.update(fromContentsOf: source)
        }
    }

    /// Counts how many numbers have each byte; returns whether the entries need to be sorted.
    private borrowing func countBytes(
        of entries: UnsafeMutableBufferPointer<Entry>
    ) -> Bool {
        counts.initialize(repeating: 0)
        var isSorted = true
        var previous: UInt64 = 0
        for entry in entries {
            isSorted = isSorted && previous <= entry.number
            previous = entry.number
            for digit in 0..<8 {
                counts[digit << 8 | Int(entry.number >> UInt64(digit * 8) & 0xff)] += 1
            }
        }
        return !isSorted
    }
}
