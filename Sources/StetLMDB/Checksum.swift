/// XXH64 (the XXH64 specification, github.com/Cyan4973/xxHash, doc/xxhash_spec.md): 64 bits at
/// memory speed.
///
/// It detects accidents, not attacks; the journal's SHA-256 chain detects attacks on history.
///
/// All of it can be inlined, because every record that is read is checked.
package enum Checksum {
    @inlinable package static var prime1: UInt64 { 0x9E37_79B1_85EB_CA87 }
    @inlinable package static var prime2: UInt64 { 0xC2B2_AE3D_27D4_EB4F }
    @inlinable package static var prime3: UInt64 { 0x1656_67B1_9E37_79F9 }
    @inlinable package static var prime4: UInt64 { 0x85EB_CA77_C2B2_AE63 }
    @inlinable package static var prime5: UInt64 { 0x27D4_EB2F_1656_67C5 }

    @inlinable @inline(__always)
    package static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        value << count | value >> (64 - count)
    }

    @inlinable @inline(__always)
    package static func round(_ accumulator: UInt64, _ lane: UInt64) -> UInt64 {
        rotate(accumulator &+ lane &* prime2, 31) &* prime1
    }

    @inlinable @inline(__always)
    package static func avalanche(_ value: UInt64) -> UInt64 {
        var hash = value
        hash = (hash ^ hash >> 33) &* prime2
        hash = (hash ^ hash >> 29) &* prime3
        return hash ^ hash >> 32
    }

    /// Returns the hash of `bytes`.
    @inlinable
    package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        guard let base = bytes.baseAddress else { return avalanche(seed &+ prime5) }
        let count = bytes.count
        var offset = 0
        var hash: UInt64
        if count >= 32 {
            var lane1 = seed &+ prime1 &+ prime2
            var lane2 = seed &+ prime2
            var lane3 = seed
            var lane4 = seed &- prime1
            repeat {
                lane1 = round(lane1, word(base, offset))
                lane2 = round(lane2, word(base, offset &+ 8))
                lane3 = round(lane3, word(base, offset &+ 16))
                lane4 = round(lane4, word(base, offset &+ 24))
                offset &+= 32
            } while offset &+ 32 <= count
            hash = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
            hash = (hash ^ round(0, lane1)) &* prime1 &+ prime4
            hash = (hash ^ round(0, lane2)) &* prime1 &+ prime4
            hash = (hash ^ round(0, lane3)) &* prime1 &+ prime4
            hash = (hash ^ round(0, lane4)) &* prime1 &+ prime4
        } else {
            hash = seed &+ prime5
        }
        return finish(hash &+ UInt64(count), base, offset, count)
    }

    @inlinable @inline(__always)
    package static func finish(
        _ start: UInt64, _ base: UnsafeRawPointer, _ from: Int, _ count: Int
    ) -> UInt64 {
        var hash = start
        var offset = from
        while offset &+ 8 <= count {
            hash = rotate(hash ^ round(0, word(base, offset)), 27) &* prime1 &+ prime4
            offset &+= 8
        }
        if offset &+ 4 <= count {
            let half = UInt32(
                littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            hash = rotate(hash ^ UInt64(half) &* prime1, 23) &* prime2 &+ prime3
            offset &+= 4
        }
        while offset < count {
            let byte = base.load(fromByteOffset: offset, as: UInt8.self)
            hash = rotate(hash ^ UInt64(byte) &* prime5, 11) &* prime1
            offset &+= 1
        }
        return avalanche(hash)
    }

    @inlinable @inline(__always)
    package static func word(_ base: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Mixes further words into a hash, for fields that are known later than the bytes.
    @inlinable @inline(__always)
    package static func combine(_ hash: UInt64, _ one: UInt64, _ other: UInt64) -> UInt64 {
        avalanche(round(round(hash, one), other))
    }
}
