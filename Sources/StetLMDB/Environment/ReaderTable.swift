import Glibc
import Synchronization

/// LMDB's table of readers in the lock file, by the layout of LMDB 0.9 (`MDB_txninfo` and
/// `MDB_reader` of mdb.c).
///
/// Other processes change it at any time.
struct ReaderTable: @unchecked Sendable {  // every word that changes is read and written whole
    /// A slot that a thread has taken.
    struct Slot {
        fileprivate let index: Int
        let process: Int32
        let thread: UInt
        /// The number of the commit that it sees; nil when no read is open in it.
        let transaction: Int?
    }

    private static let slotByteCount = 64
    private static let headerByteCount = 128
    private static let readerCountOffset = 56
    private static let processOffset = 8
    private static let threadOffset = 16

    /// Bytes of a lock file with room for `slots`.
    static func byteCount(slots: Int) -> Int { headerByteCount + max(slots, 1) * slotByteCount }

    private let bytes: Mapping?

    /// The table of an open lock file; empty when there is none.
    init(_ descriptor: Int32?) {
        bytes = descriptor.flatMap { Mapping($0) }
    }

    /// The slots that there are.
    var capacity: Int {
        bytes.map { max(($0.count - Self.headerByteCount) / Self.slotByteCount, 0) } ?? 0
    }

    /// The slots that were ever taken since the first process opened the file, from the first one.
    var usedCount: Int {
        guard let bytes else { return 0 }
        let count = bytes.start.load(fromByteOffset: Self.readerCountOffset, as: UInt32.self)
        return min(Int(count), capacity)
    }

    /// The slots that are taken.
    var slots: [Slot] {
        guard let bytes else { return [] }
        return (0..<usedCount).compactMap { index in
            let slot = bytes.start + offset(index)
            let process = slot.load(fromByteOffset: Self.processOffset, as: Int32.self)
            if process == 0 { return nil }
            let transaction = slot.load(as: UInt.self)
            return Slot(
                index: index, process: process,
                thread: slot.load(fromByteOffset: Self.threadOffset, as: UInt.self),
                transaction: transaction == .max ? nil : Int(truncatingIfNeeded: transaction))
        }
    }

    /// Frees a slot unless another process has it by now.
    @discardableResult
    func free(_ slot: Slot) -> Bool {
        guard let bytes else { return false }
        return (bytes.start + offset(slot.index) + Self.processOffset)
            .assumingMemoryBound(to: Atomic<Int32>.self).pointee
            .compareExchange(
                expected: slot.process, desired: 0, ordering: .sequentiallyConsistent
            ).exchanged
    }

    private func offset(_ index: Int) -> Int { Self.headerByteCount + index * Self.slotByteCount }

    /// A file in memory, shared with those who have it open.
    private final class Mapping: @unchecked Sendable {  // its address and size are constant
        let start: UnsafeMutableRawPointer
        let count: Int

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0,
                case let count = Int(status.st_size), count >= ReaderTable.headerByteCount,
                let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
                start != MAP_FAILED
            else { return nil }
            self.start = start
            self.count = count
        }

        deinit { munmap(start, count) }
    }
}
