/// The bytes of a frame of the log: room for its head, and a payload that grows.
///
/// State: belongs to the thread that writes.
package final class FrameBuffer {
    private var start: UnsafeMutableRawPointer
    private var capacity = 1 << 14
    /// The number of bytes, with those of the head.
    private(set) var count = LogFrame.byteCount

    package init() { start = .allocate(byteCount: capacity, alignment: 16) }

    deinit { start.deallocate() }

    /// The head and the payload.
    var bytes: UnsafeMutableRawBufferPointer { .init(start: start, count: count) }

    var payload: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[LogFrame.byteCount...])
    }

    /// Removes the payload, and returns the memory of a large one.
    func removeAll() {
        count = LogFrame.byteCount
        guard capacity > 1 << 20 else { return }
        start.deallocate()
        capacity = 1 << 14
        start = .allocate(byteCount: capacity, alignment: 16)
    }

    /// Appends `byteCount` bytes without a value, and returns their offset.
    @discardableResult
    func extend(by byteCount: Int) -> Int {
        let offset = count
        count += byteCount
        if count > capacity { grow() }
        return offset
    }

    private func grow() {
        let larger = max(count, capacity * 2)
        let copy = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        copy.copyMemory(from: start, byteCount: capacity)
        start.deallocate()
        (start, capacity) = (copy, larger)
    }

    package func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        let offset = extend(by: bytes.count)
        (start + offset).copyMemory(from: source, byteCount: bytes.count)
    }

    func append(_ word: UInt32) {
        let offset = extend(by: MemoryLayout<UInt32>.size)
        (start + offset).storeBytes(of: word.littleEndian, as: UInt32.self)
    }

    /// Fills bytes that `extend(by:)` has appended.
    func fill(_ offset: Int, from source: UnsafeRawPointer, byteCount: Int) {
        (start + offset).copyMemory(from: source, byteCount: byteCount)
    }

    /// Appends zeros up to a multiple of `byteCount`.
    func pad(to byteCount: Int) {
        let rest = count % byteCount
        if rest == 0 { return }
        let offset = extend(by: byteCount - rest)
        (start + offset).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount - rest)
    }
}
