import Glibc

/// Constant bytes that many values share, such as the body of a commit for its saver and all its
/// observers.
package final class ByteStorage: Sendable {
    /// The address of the memory, constant after `init`, freed in `deinit`.
    nonisolated(unsafe) private let base: UnsafeMutableRawPointer
    /// The offset of the first byte in the memory.
    private let start: Int
    package let count: Int

    fileprivate init(adopting base: UnsafeMutableRawPointer, from start: Int, count: Int) {
        self.base = base
        self.start = start
        self.count = count
    }

    deinit { free(base) }

    /// The bytes, valid as long as this object exists.
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + start, count: count)
    }
}

/// A growing buffer of bytes with one owner, to which encoders append.
@usableFromInline
package struct ByteBuffer: ~Copyable {
    @usableFromInline package private(set) var base: UnsafeMutableRawPointer
    @usableFromInline package private(set) var capacity: Int
    @usableFromInline package var count = 0

    package init(capacity: Int = 1_024) {
        base = Self.resize(nil, to: capacity)
        self.capacity = capacity
    }

    deinit { free(base) }

    /// Allocates memory of the C library, whose `realloc` moves large blocks by their page tables.
    ///
    /// Large buffers request large pages: a page fault per 4 KiB, for bytes that are written once,
    /// took more than a third of a large save.
    private static func resize(
        _ memory: UnsafeMutableRawPointer?, to byteCount: Int
    ) -> UnsafeMutableRawPointer {
        guard let base = realloc(memory, byteCount) else {
            trap("no memory for \(byteCount) bytes")
        }
        if byteCount >= 1 << 22 {
            let page = 4_096
            let start = (Int(bitPattern: base) + page - 1) / page * page
            let end = (Int(bitPattern: base) + byteCount) / page * page
            madvise(UnsafeMutableRawPointer(bitPattern: start), end - start, MADV_HUGEPAGE)
        }
        return base
    }

    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }

    /// Makes room for `additional` bytes after `count`.
    @inlinable
    package mutating func reserve(_ additional: Int) {
        if count &+ additional > capacity { grow(additional) }
    }

    @usableFromInline
    package mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, count + additional)
        base = Self.resize(base, to: larger)
        capacity = larger
    }

    /// Appends the little-endian bytes of an integer.
    @inlinable
    package mutating func append<Integer: FixedWidthInteger>(_ value: Integer) {
        reserve(MemoryLayout<Integer>.size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: Integer.self)
        count &+= MemoryLayout<Integer>.size
    }

    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    package mutating func appendZeros(_ byteCount: Int) {
        reserve(byteCount)
        // `initializeMemory` would be a loop over the bytes.
        memset(base + count, 0, byteCount)
        count &+= byteCount
    }

    @inlinable
    package mutating func append(_ id: ObjectID) {
        reserve(16)
        id.store(to: base + count)
        count &+= 16
    }

    /// Overwrites bytes that have been appended.
    @inlinable
    package mutating func overwrite<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int) {
        base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
    }

    /// Overwrites bytes that have been appended.
    package mutating func overwrite(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress else { return }
        (base + offset).copyMemory(from: source, byteCount: bytes.count)
    }

    /// Moves bytes to an earlier offset.
    package mutating func move(_ range: Range<Int>, to offset: Int) {
        memmove(base + offset, base + range.lowerBound, range.count)
    }

    /// Transfers the bytes from an offset on to a shared, constant owner.
    package consuming func finish(from start: Int = 0) -> ByteStorage {
        // Gives back what many bytes have been reserved for.
        if capacity - count >= 1 << 20 { base = Self.resize(base, to: max(count, 1)) }
        let storage = ByteStorage(adopting: base, from: start, count: count - start)
        discard self
        return storage
    }
}

/// Reads little-endian fields one after another; every read is checked, and none traps.
package struct ByteReader {
    package let bytes: UnsafeRawBufferPointer
    package private(set) var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var remaining: Int { bytes.count - offset }

    package mutating func read<Integer: FixedWidthInteger>(
        _ type: Integer.Type = Integer.self
    ) throws(DecodingFailure) -> Integer {
        guard remaining >= MemoryLayout<Integer>.size else { throw DecodingFailure("too short") }
        defer { offset += MemoryLayout<Integer>.size }
        return Integer(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    package mutating func read(
        byteCount: Int
    ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard byteCount >= 0, remaining >= byteCount else { throw DecodingFailure("too short") }
        defer { offset += byteCount }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + byteCount])
    }

    package mutating func readObjectID() throws(DecodingFailure) -> ObjectID {
        ObjectID(bytes: try read(byteCount: 16))
    }

    /// Reads a string of UTF-8 bytes that follow a 16-bit length.
    package mutating func readShortString() throws(DecodingFailure) -> String {
        let count = Int(try read(UInt16.self))
        guard let text = String(validating: try read(byteCount: count), as: UTF8.self) else {
            throw DecodingFailure("text that is not UTF-8")
        }
        return text
    }

    package func expectEnd() throws(DecodingFailure) {
        guard remaining == 0 else { throw DecodingFailure("\(remaining) bytes too many") }
    }
}

extension ByteBuffer {
    package mutating func append(shortString text: String) {
        trap(unless: text.utf8.count <= UInt16.max, "a name or label longer than its limit")
        append(UInt16(text.utf8.count))
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether both have the same bytes, by `memcmp`, because `elementsEqual` compares byte
    /// by byte.
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let one = baseAddress, let two = other.baseAddress else { return true }
        return memcmp(one, two, count) == 0
    }
}
