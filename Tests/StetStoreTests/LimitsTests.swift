import Foundation
import StetStore
import Testing

struct LimitsTests {
    private let tag = ObjectKey(Number.tag, 1)

    private func edit(_ byteCount: Int) -> Edit {
        Edit(tag, from: nil, to: [.data(Data(count: byteCount))])
    }

    @Test func anAttributeOfTheLargestSizeIsStored() throws {
        let library = try Library()
        let commit = try library.commit([edit(Limits.attributeByteCount)])
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1))
        #expect(try library.file.read { try $0.commit(1) } == commit)
    }

    @Test func aLargerAttributeIsRefusedAndNothingIsWritten() throws {
        let library = try Library()
        let before = try library.file.dump()
        let error = thrown(StoreError.self) {
            try library.commit([edit(Limits.attributeByteCount + 1)])
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.contains("\(Limits.attributeByteCount)") == true)
        #expect(try library.file.dump() == before)
    }

    @Test func anUpdateToALargerAttributeIsRefusedToo() throws {
        let library = try Library()
        try library.commit([edit(1)])
        let large: [Value] = [.data(Data(count: Limits.attributeByteCount + 1))]
        let error = thrown(StoreError.self) { try library.commit([library.edit(tag, large)]) }
        #expect(error?.code == .limitExceeded)
        #expect(library.file.feed.head == 1)
    }

    @Test func theLimitsAreThoseThatAreDocumented() {
        #expect(Limits.attributeByteCount == 67_108_864)
        #expect(Limits.changesPerCommit == 10_000_000)
        #expect(Limits.commitByteCount == 1_073_741_824)
        #expect(Limits.labelByteCount == 1_024 && Limits.authorByteCount == 255)
        #expect(Limits.entityCount == 250 && Limits.propertyCount == 1_024)
        #expect(Limits.nameByteCount == 255)
    }
}
