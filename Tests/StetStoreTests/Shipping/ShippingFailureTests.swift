import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Files of a shipped journal that are damaged, missing or those of others, and calls that were
/// interrupted.
struct ShippingFailureTests {
    private let library: Library
    private let shipped: StoreDirectory
    private let restored: StoreDirectory

    /// A base of revision 0, and segments of the revisions 1 and 2, 3 and 4, 5.
    init() throws {
        library = try Library()
        shipped = try StoreDirectory()
        restored = try StoreDirectory()
        _ = try library.file.ship(to: shipped.path)
        for number in 1...5 {
            try commit(number)
            if number != 1, number != 3 { _ = try library.file.ship(to: shipped.path) }
        }
    }

    private func commit(_ number: Int) throws {
        try library.commit(
            [library.edit(ObjectKey(Number.tag, number), [.data(Data([UInt8(number)]))])])
    }

    private var segments: [String] { shipped.names.filter { $0.hasSuffix(".segment") } }

    private func restore(_ name: String = "restored.stet") throws -> StoreCopy {
        try StoreCopy.restore(
            from: shipped.path, to: restored.file(name), at: .bound(.latest))
    }

    @Test func theSegmentsAreThoseThatTheOtherTestsRelyOn() throws {
        #expect(segments.count == 3)
        #expect(try restore().report.revision == 5)
    }

    @Test func everyFlippedByteOfASegmentIsRefused() throws {
        let bytes = try [UInt8](shipped.bytes(segments[1]))
        let whole = try bytes.withUnsafeBytes { try JournalSegment(decoding: $0) }
        #expect(whole.range == 3...4)
        for offset in bytes.indices {
            for flip in [UInt8(1), 0x80] {
                var damaged = bytes
                damaged[offset] ^= flip
                let failure = thrown(DecodingFailure.self) {
                    try damaged.withUnsafeBytes { try JournalSegment(decoding: $0) }
                }
                #expect(failure != nil, "byte \(offset)")
            }
        }
        for count in 0..<bytes.count {
            let failure = thrown(DecodingFailure.self) {
                try bytes.prefix(count).withUnsafeBytes { try JournalSegment(decoding: $0) }
            }
            #expect(failure != nil, "\(count) bytes")
        }
    }

    @Test func aDamagedSegmentIsNamedAndNothingIsRestored() throws {
        var bytes = try shipped.bytes(segments[1])
        bytes[bytes.count / 2] ^= 4
        try shipped.write(bytes, to: segments[1])
        let error = thrown(StoreError.self) { try restore() }
        #expect(error?.code == .damaged)
        #expect(error?.path == shipped.file(segments[1]))
        #expect(restored.names == [])
        // The commits before it can be restored.
        let made = try StoreCopy.restore(
            from: shipped.path, to: restored.file(), at: .bound(2))
        #expect(made.report.revision == 2)
    }

    @Test func aDamagedLastSegmentIsNotContinued() throws {
        var bytes = try shipped.bytes(segments[2])
        bytes.removeLast()
        try shipped.write(bytes, to: segments[2])
        let error = thrown(StoreError.self) { try library.file.ship(to: shipped.path) }
        #expect(error?.code == .damaged)
        #expect(error?.path == shipped.file(segments[2]))
        // Without it, shipping continues after the one before it.
        try FileManager.default.removeItem(atPath: shipped.file(segments[2]))
        #expect(try library.file.ship(to: shipped.path).commitCount == 1)
        #expect(try restore().report.revision == 5)
    }

    @Test func aGapIsRefused() throws {
        let names = segments
        try FileManager.default.removeItem(atPath: shipped.file(names[1]))
        let error = thrown(StoreError.self) { try restore() }
        #expect(error?.code == .damaged)
        #expect(error?.path == shipped.file(names[2]))
        #expect(error?.message.contains("the commits after 2 are missing") == true)
        #expect(restored.names == [])
    }

    @Test func aSegmentThatHasTheNameOfAnotherIsRefused() throws {
        let names = segments
        try shipped.write(try shipped.bytes(names[0]), to: names[1])
        let error = thrown(StoreError.self) { try restore() }
        #expect(error?.code == .damaged)
        #expect(error?.path == shipped.file(names[1]))
    }

    @Test func anotherStoreShipsNothingToTheDirectory() throws {
        let other = try Library()
        let names = shipped.names
        let error = thrown(StoreError.self) { try other.file.ship(to: shipped.path) }
        #expect(error?.code == .wrongStore)
        #expect(error?.path == shipped.file(segments[2]))
        #expect(shipped.names == names)
    }

    @Test func aStoreThatWasRestoredToAnEarlierStateShipsNothingToTheDirectory() throws {
        let path = restored.file()
        _ = try StoreCopy.restore(from: shipped.path, to: path, at: .bound(3))
        let file = try StoreFile.open(at: path, schema: .library, .small())
        defer { file.close() }
        // Before, at and after the last shipped revision.
        for number in 100...103 {
            let error = thrown(StoreError.self) { try file.ship(to: shipped.path) }
            #expect(error?.code == .wrongStore)
            _ = try file.commit(
                [Edit(ObjectKey(Number.tag, number), from: nil, to: [.data(Data([9]))])])
        }
    }

    @Test func aSegmentOfAnotherHistoryIsRefused() throws {
        let path = restored.file("fork.stet")
        _ = try StoreCopy.restore(from: shipped.path, to: path, at: .bound(2))
        let fork = try StoreFile.open(at: path, schema: .library, .small())
        defer { fork.close() }
        let elsewhere = try StoreDirectory()
        _ = try fork.ship(to: elsewhere.path)
        for number in 50...51 {
            _ = try fork.commit(
                [Edit(ObjectKey(Number.tag, number), from: nil, to: [.data(Data([1]))])])
        }
        _ = try fork.ship(to: elsewhere.path)
        let foreign = try #require(elsewhere.names.first { $0.hasSuffix(".segment") })
        #expect(foreign == segments[1])
        try shipped.write(try elsewhere.bytes(foreign), to: foreign)
        let error = thrown(StoreError.self) { try restore() }
        #expect(error?.code == .damaged)
        #expect(error?.path == shipped.file(segments[2]))
    }

    @Test func whatAnInterruptedCallHasLeftIsRemoved() throws {
        // What a process leaves that is killed after the sync and before the renaming.
        let leftover = "segment.new-0123456789abcdef"
        try shipped.write(try shipped.bytes(segments[2]), to: leftover)
        try FileManager.default.removeItem(atPath: shipped.file(segments[2]))
        try commit(6)
        let shipment = try library.file.ship(to: shipped.path)
        #expect(shipment.commitCount == 2)
        #expect(shipment.revision == 6)
        #expect(!shipped.names.contains(leftover))
        #expect(try restore().report.revision == 6)
    }

    @Test func commitsThatWereTrimmedBeforeNeedANewBase() throws {
        for number in 6...9 { try commit(number) }
        try library.file.trim(through: 7)
        let error = thrown(StoreError.self) { try library.file.ship(to: shipped.path) }
        #expect(error?.code == .historyTrimmed)
        let shipment = try library.file.ship(to: shipped.path, makesBase: true)
        #expect(shipment.base == 9)
        #expect(shipment.revision == 9)
        #expect(try restore().report.revision == 9)
        try commit(10)
        #expect(try library.file.ship(to: shipped.path).commitCount == 1)
        #expect(try restore("later.stet").report.revision == 10)
        // The commits that nobody has shipped cannot be restored.
        let lost = thrown(StoreError.self) {
            try StoreCopy.restore(from: shipped.path, to: restored.file("lost"), at: .bound(7))
        }
        #expect(lost?.code == .damaged)
    }

    @Test func aSecondCallMeanwhileIsRefused() throws {
        let descriptor = open(shipped.path, O_RDONLY)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        let error = thrown(StoreError.self) { try library.file.ship(to: shipped.path) }
        #expect(error?.code == .storeBusy)
    }

    @Test func aDirectoryThatIsNotThereIsRefused() throws {
        let error = thrown(StoreError.self) {
            _ = try library.file.ship(to: shipped.file("nowhere"))
        }
        #expect(error?.code == .notFound)
        #expect(error?.path == shipped.file("nowhere"))
    }
}
