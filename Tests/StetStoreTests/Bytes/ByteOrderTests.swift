import StetTestSupport
import Testing

@testable import StetStore

@Suite struct ByteOrderTests {
    /// The kinds of parts: what they have in common, and how they differ.
    enum Kind: CaseIterable {
        case few, numbered, random, ascending, long, equal, ended

        func part(_ number: Int, _ random: inout SeededGenerator) -> [UInt8] {
            func bytes(_ count: Int, _ range: ClosedRange<UInt8>) -> [UInt8] {
                (0..<count).map { _ in UInt8.random(in: range, using: &random) }
            }
            switch self {
            case .few: return bytes(.random(in: 0...12, using: &random), 1...3)
            case .numbered: return Array("article \(Int.random(in: 0..<900, using: &random))".utf8)
            case .random: return [0, 1] + bytes(16, 0...255)
            case .ascending: return Array("article \(number + 1_000)".utf8)
            // Differences at any distance, or only in the length.
            case .long:
                let common = [UInt8](repeating: 7, count: .random(in: 0..<40, using: &random))
                return common + bytes(.random(in: 0...1, using: &random), 1...9)
            case .equal: return bytes(3, 1...2)
            // Zeros inside, and an end that makes no part the beginning of another one.
            case .ended: return bytes(.random(in: 0...20, using: &random), 0...1) + [2]
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func partsAreInTheOrderOfTheirBytesAndEqualOnesInTheirOwn(kind: Kind) {
        var random = SeededGenerator(seed: 1)
        for count in [0, 1, 2, 3, 10, 40, 64, 65, 100, 1_000] {
            for _ in 0..<10 {
                let values = (0..<count).map { kind.part($0, &random) }
                var bytes: [UInt8] = []
                let parts = values.map { value in
                    bytes += value
                    defer { if Bool.random(using: &random) { bytes += [3, 0] } }
                    return bytes.count - value.count..<bytes.count
                }
                let expected = values.indices.sorted { one, other in
                    values[one] == values[other]
                        ? one < other : values[one].lexicographicallyPrecedes(values[other])
                }
                #expect(ByteOrder.sorted(bytes, parts) == expected, "\(kind), \(count)")
            }
        }
    }

    @Test func numbersAreInAscendingOrderAndEqualOnesInTheirOwn() {
        var random = SeededGenerator(seed: 2)
        for bits in [0, 1, 8, 20, 64] as [UInt64] {
            for count in [0, 1, 2, 64, 65, 700] {
                let numbers = (0..<count).map { _ in bits == 0 ? 7 : random.next() >> (64 - bits) }
                let expected = numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
                #expect(NumberOrder.sorted(numbers) == expected, "\(bits) bits, \(count)")
            }
        }
    }
}
