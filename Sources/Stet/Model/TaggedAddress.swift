import StetStore

/// An address with 16 bits beside it, in 8 bytes: addresses of a process have 48 bits.
@frozen
@usableFromInline
struct TaggedAddress: Equatable {
    @usableFromInline var bits: UInt

    @usableFromInline static var none: TaggedAddress { TaggedAddress(nil) }

    /// - Precondition: the address has 48 bits; see `check`.
    @inlinable
    init(_ address: UnsafeRawPointer?, tag: UInt16 = 0) {
        bits = UInt(bitPattern: address) | UInt(tag) << 48
    }

    @inlinable
    var address: UnsafeMutableRawPointer? {
        get { UnsafeMutableRawPointer(bitPattern: bits & Self.addressBits) }
        set { bits = bits & ~Self.addressBits | UInt(bitPattern: newValue) }
    }

    @inlinable
    var tag: UInt16 {
        get { UInt16(truncatingIfNeeded: bits >> 48) }
        set { bits = bits & Self.addressBits | UInt(newValue) << 48 }
    }

    @inlinable static var addressBits: UInt { 1 << 48 - 1 }

    /// Traps unless an address leaves room for a tag.
    static func check(_ address: UnsafeRawPointer) {
        trap(
            unless: UInt(bitPattern: address) & ~addressBits == 0,
            "The process uses addresses of more than 48 bits: run it without memory tagging.")
    }
}
