import Glibc
public import FoundationEssentials
import StetLMDB
import Synchronization

/// The lifelong identity of an object: assigned when the object is created, never temporary, never
/// reused, unchanged by undo, export and import.
///
/// It is a version 7 UUID (RFC 9562): the ids of one process ascend, so that records are appended.
public struct ObjectID: Hashable, Sendable {
    @usableFromInline package var high: UInt64
    @usableFromInline package var low: UInt64

    @inlinable
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id that is greater than every id that this process has created before.
    public init() {
        self = ObjectIDGenerator.shared.next()
    }

    /// Creates the id with the bytes of `uuid`, for ids from other sources.
    public init(_ uuid: UUID) {
        self = withUnsafeBytes(of: uuid.uuid) { ObjectID(bytes: $0) }
    }

    /// The 16 bytes as a UUID.
    public var uuid: UUID {
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &value) { store(to: $0.baseAddress!) }
        return UUID(uuid: value)
    }

    /// Two numbers that differ between processes, so that ids from outside cannot be chosen to
    /// have equal hashes.
    private static let secrets = (
        UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)
    )

    /// Returns the hash for sets and dictionaries, which look up ids in most reads and saves.
    ///
    /// It takes a few instructions, where `Hasher` takes about 20 ns.
    public func _rawHashValue(seed: Int) -> Int {
        hash(seed: seed, secrets: Self.secrets)
    }

    /// Mixes the bits twice: after a single multiplication, patterns of the ids are left in the
    /// hash where a secret ends in many zeros.
    package func hash(seed: Int, secrets: (UInt64, UInt64)) -> Int {
        let bits = Self.mix(
            high ^ secrets.0, low ^ secrets.1 ^ UInt64(truncatingIfNeeded: seed))
        return Int(truncatingIfNeeded: Self.mix(bits ^ secrets.1, 0x9E37_79B9_7F4A_7C15))
    }

    /// Folds the 128 bits of a product into 64.
    private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }

    /// The id for "no object" where a reference is stored inline; never the id of an object.
    @inlinable package static var none: ObjectID { ObjectID(high: 0, low: 0) }

    @inlinable
    package init(bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Writes the 16 bytes, most significant first: the order of bytes is the order of ids.
    @inlinable
    package func store(to pointer: UnsafeMutableRawPointer) {
        pointer.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
        pointer.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
}

extension ObjectID: Comparable {
    /// Compares two ids by the order in which ids are created and records are stored.
    public static func < (one: ObjectID, other: ObjectID) -> Bool {
        one.high != other.high ? one.high < other.high : one.low < other.low
    }
}

extension ObjectID: CustomStringConvertible, LosslessStringConvertible {
    /// The UUID in lower-case hexadecimal digits with hyphens.
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var shift = 128
            for index in 0..<36 {
                if Self.isHyphen(index) {
                    text[index] = UInt8(ascii: "-")
                    continue
                }
                shift -= 4
                let digit = UInt8((shift < 64 ? low >> shift : high >> (shift - 64)) & 0xf)
                text[index] = digit < 10 ? 0x30 + digit : 0x57 + digit
            }
            return 36
        }
    }

    /// Creates the id from the text of a UUID; nil when `description` is not one, or is the nil
    /// UUID.
    public init?(_ description: String) {
        guard description.utf8.count == 36 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (index, byte) in description.utf8.enumerated() {
            if Self.isHyphen(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Self.digit(byte) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | digit
        }
        self.init(high: high, low: low)
        if self == .none { return nil }
    }

    /// Returns whether the text of a UUID has a hyphen at an index.
    private static func isHyphen(_ index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x41...0x46: UInt64(byte - 0x37)
        case 0x61...0x66: UInt64(byte - 0x57)
        default: nil
        }
    }
}

extension ObjectID: Codable {
    /// Reads the text of an id.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "The text is not an object id (a UUID).")
        }
        self = id
    }

    /// Writes the id as text.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Creates ascending version 7 UUIDs: 48 bits of milliseconds, then a counter of 12 bits that
/// starts at random in each millisecond (RFC 9562 §6.2, method 1), then 62 random bits, so that ids
/// stay hard to guess.
///
/// So the first halves of ids differ, and indexes of texts name objects by these alone. When a
/// counter is exhausted, after 2,048 ids at least, the next millisecond is begun early.
///
/// A forked process starts again, because it has the same random numbers in memory as its siblings.
///
/// State: the last id and a block of random bytes, both guarded by the mutex.
final class ObjectIDGenerator: Sendable {
    static let shared = ObjectIDGenerator()

    private struct State {
        var milliseconds: UInt64 = 0
        /// The 12 bits of `rand_a`.
        var counter: UInt64 = 0
        var entropy = EntropyBlock()
        var forkGeneration = ProcessFork.generation
    }
    private let state = Monitor(State())
    /// The ids of the tasks of a test.
    @TaskLocal fileprivate static var sequence: ObjectIDSequence?
    /// False until a test has asked for them: looking for those of a task takes time.
    fileprivate let hasSequences = Atomic(false)

    func next() -> ObjectID {
        if hasSequences.load(ordering: .relaxed), let sequence = Self.sequence {
            return sequence.next()
        }
        return nextOfProcess()
    }

    func nextOfProcess() -> ObjectID {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = UInt64(now.tv_sec) &* 1_000 &+ UInt64(now.tv_nsec) / 1_000_000
        return state.withLock { state in
            if state.forkGeneration != ProcessFork.generation { state = State() }
            if milliseconds > state.milliseconds {
                state.milliseconds = milliseconds
                // Leaves at least half of the range for ids within the millisecond.
                state.counter = state.entropy.next() & 0x7ff
            } else {
                state.counter += 1
                if state.counter > 0xfff {
                    state.counter = 0
                    state.milliseconds += 1
                }
            }
            return ObjectID(
                high: state.milliseconds << 16 | 0x7000 | state.counter,
                low: 1 << 63 | state.entropy.next() >> 2
            )
        }
    }
}

/// Makes the ids 1, 2, 3 and so on.
private final class ObjectIDSequence: Sendable {
    private let count = Atomic<UInt64>(0)

    func next() -> ObjectID {
        let number = count.add(1, ordering: .relaxed).newValue
        return ObjectID(high: 0x7000, low: 1 << 63 | number)
    }
}

extension ObjectID {
    /// A new id that no test can determine: that of a store.
    static func ofStore() -> ObjectID { ObjectIDGenerator.shared.nextOfProcess() }

    /// Runs a closure in whose tasks new ids are 1, 2, 3 and so on.
    package static func withSequence(_ body: () async throws -> Void) async rethrows {
        ObjectIDGenerator.shared.hasSequences.store(true, ordering: .relaxed)
        try await ObjectIDGenerator.$sequence.withValue(ObjectIDSequence(), operation: body)
    }
}

/// Random 64-bit numbers of the system, fetched in blocks: a system call per number would cost more
/// than everything else that an id needs.
package struct EntropyBlock: Sendable {
    private var numbers: [UInt64] = []

    package init() {}

    package mutating func next() -> UInt64 {
        if numbers.isEmpty {
            numbers = [UInt64](repeating: 0, count: 256)
            numbers.withUnsafeMutableBytes { fillWithEntropy($0) }
        }
        return numbers.removeLast()
    }
}

/// Fills `buffer` with random bytes from the system.
package func fillWithEntropy(_ buffer: UnsafeMutableRawBufferPointer) {
    let error = Entropy.fill(buffer)
    trap(unless: error == 0, "The system has no source of random numbers (errno \(error))")
}
