/// The SplitMix64 generator: the same seed produces the same numbers on every run.
///
/// Source: Steele, Lea, Flood, “Fast Splittable Pseudorandom Number Generators”, OOPSLA 2014.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator whose state is `seed`.
    package init(seed: UInt64) {
        state = seed
    }

    /// Creates the generator of one member of a numbered family, so that member 417 is available
    /// without the 416 before it.
    package init(seed: UInt64, stream: Int) {
        state = Self.mix(seed ^ Self.mix(UInt64(bitPattern: Int64(stream)) &+ Self.increment))
    }

    package mutating func next() -> UInt64 {
        state &+= Self.increment
        return Self.mix(state)
    }

    private static let increment: UInt64 = 0x9e37_79b9_7f4a_7c15

    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
