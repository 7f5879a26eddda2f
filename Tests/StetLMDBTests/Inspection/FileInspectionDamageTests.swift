import StetLMDB
import StetTestSupport
import Testing

/// Twins of healthy files, each with one thing wrong.
@Suite struct FileInspectionDamageTests {
    @Test func aTruncatedFileIsShort() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        for lackingByteCount in [1, healthy.pageByteCount, healthy.bytes.count / 2] {
            var twin = healthy
            twin.bytes.removeLast(lackingByteCount)
            let damage = FileInspection.Damage(.shortFile, page: twin.pageCount)
            #expect(try directory.inspect(twin, walkingPages: false).damages == [damage])
            let damages = try directory.inspect(twin).damages
            #expect(damages.contains(damage))
            #expect(damages.contains { $0.kind == .pageOutOfRange })
        }
    }

    @Test func everyZeroedOrGarbagePageIsFoundByItsNumber() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        var random = SeededGenerator(seed: 5)
        for page in healthy.headedPages {
            var zeroed = healthy
            zeroed.zeroPage(page)
            #expect(
                try directory.inspect(zeroed).damages == [.init(.wrongPageNumber, page: page)])
            var garbage = healthy
            for offset in garbage.range(of: page) {
                garbage.bytes[offset] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(try directory.inspect(garbage).damages.contains { $0.page == page })
        }
    }

    @Test func everyGarbageBodyUnderAGoodHeaderIsFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        var random = SeededGenerator(seed: 6)
        for page in healthy.headedPages where healthy.flags(of: page) != 4 {
            var twin = healthy
            for offset in twin.range(of: page).dropFirst(16) {
                twin.bytes[offset] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(try directory.inspect(twin).damages.contains { $0.page == page })
        }
    }

    @Test func swappedPagesAreBothFound() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileOfOneCommit()
        let leaves = try twin.children()
        let (one, other) = (twin.range(of: leaves[0]), twin.range(of: leaves[1]))
        let bytes = Array(twin.bytes[one])
        twin.bytes.replaceSubrange(one, with: twin.bytes[other])
        twin.bytes.replaceSubrange(other, with: bytes)
        #expect(
            try Set(directory.inspect(twin).damages) == [
                .init(.wrongPageNumber, page: leaves[0]), .init(.wrongPageNumber, page: leaves[1]),
            ])
    }

    @Test func aPageOfAnotherKindIsFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        for page in healthy.headedPages {
            var twin = healthy
            twin.set(UInt16(8), in: page, at: 10)
            #expect(try directory.inspect(twin).damages == [.init(.wrongPageKind, page: page)])
        }
    }

    @Test func wrongBoundsAreFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let leaf = try #require(healthy.headedPages.first { healthy.flags(of: $0) == 2 })
        let overflow = try #require(healthy.headedPages.first { healthy.flags(of: $0) == 4 })
        let lower: UInt16 = healthy.get(in: leaf, at: 12)
        let upper: UInt16 = healthy.get(in: leaf, at: 14)
        for (offset, value) in [
            (12, 0), (12, 16), (12, lower + 1), (12, upper + 2), (12, .max), (12, lower - 2),
            (14, lower - 1), (14, upper - 2), (14, 4_098), (14, .max),
        ] as [(Int, UInt16)] {
            var twin = healthy
            twin.set(value, in: leaf, at: offset)
            #expect(
                try directory.inspect(twin).damages == [.init(.wrongBounds, page: leaf)],
                "\(value) at \(offset)")
        }
        var twin = healthy
        twin.set(UInt32(0), in: overflow, at: 12)
        #expect(try directory.inspect(twin).damages == [.init(.wrongBounds, page: overflow)])
    }

    @Test func wrongNodesAreFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let leaf = try healthy.children()[0]
        let node = healthy.nodeOffset(0, in: leaf)
        for (offset, value) in [
            (16, 0), (16, UInt16(node + 1)), (16, 4_094), (16, .max),  // where the node is
            (node, .max), (node + 2, .max),  // the value's size
            (node + 4, 2), (node + 4, 4), (node + 4, .max),  // what the value is
            (node + 6, 0), (node + 6, 512), (node + 6, .max),  // the key's size
        ] as [(Int, UInt16)] {
            var twin = healthy
            twin.set(value, in: leaf, at: offset)
            #expect(
                try directory.inspect(twin).damages == [.init(.wrongNode, page: leaf)],
                "\(value) at \(offset)")
        }
    }

    @Test func pageNumbersOutOfRangeAreFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let branch = try #require(healthy.headedPages.first { healthy.flags(of: $0) == 1 })
        let node = healthy.nodeOffset(0, in: branch)
        for page in [0, 1, healthy.pageCount, 0xffff_ffff] {
            var twin = healthy
            twin.set(UInt32(page), in: branch, at: node)
            #expect(try directory.inspect(twin).damages == [.init(.pageOutOfRange, page: page)])
        }
        var twin = healthy
        twin.set(UInt64.max - 1, in: 1, at: 88 + 40)
        #expect(try directory.inspect(twin).damages == [.init(.pageOutOfRange, page: .max)])
    }

    @Test func aPageWithTwoParentsIsFound() throws {
        let directory = try InspectionDirectory()
        var twin = try directory.fileOfOneCommit()
        let branch = try #require(twin.headedPages.first { twin.flags(of: $0) == 1 })
        let child: UInt32 = twin.get(in: branch, at: twin.nodeOffset(0, in: branch))
        twin.set(child, in: branch, at: twin.nodeOffset(1, in: branch))
        #expect(
            try directory.inspect(twin).damages == [.init(.pageUsedTwice, page: Int(child))])
        twin.set(UInt32(branch), in: branch, at: twin.nodeOffset(1, in: branch))
        #expect(
            try directory.inspect(twin).damages == [.init(.pageUsedTwice, page: branch)])
    }

    @Test func keysOutOfOrderAreFoundInAPageAndAgainstItsParent() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        let leaf = try #require(healthy.headedPages.last { healthy.flags(of: $0) == 2 })
        var twin = healthy
        twin.set(UInt16(healthy.nodeOffset(1, in: leaf)), in: leaf, at: 16)
        twin.set(UInt16(healthy.nodeOffset(0, in: leaf)), in: leaf, at: 18)
        #expect(try directory.inspect(twin).damages == [.init(.keysOutOfOrder, page: leaf)])

        let branch = try #require(healthy.headedPages.first { healthy.flags(of: $0) == 1 })
        let children = try healthy.children()
        for (byte, misplaced) in [(0, children[0]), (0xff, children[1])] as [(UInt8, Int)] {
            // The separator of the second child in its parent: too low for the keys of the first
            // child, or too high for the second's.
            twin = healthy
            twin.set(byte, in: branch, at: healthy.nodeOffset(1, in: branch) + 8)
            #expect(
                try directory.inspect(twin).damages.contains(
                    .init(.keysOutOfOrder, page: misplaced)))
        }
    }

    @Test func wrongCountsAreFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        // The fields of the unnamed table in the meta page: levels, pages of three kinds, entries,
        // flags.
        for offset in [6, 8, 16, 24, 32] {
            var twin = healthy
            twin.bytes[twin.pageByteCount + 88 + offset] ^= 1
            #expect(
                try directory.inspect(twin).damages == [.init(.wrongCount, page: 1)],
                "offset \(offset)")
        }
        var twin = healthy
        twin.bytes[twin.pageByteCount + 88 + 4] ^= 4
        #expect(try directory.inspect(twin).damages == [.init(.wrongNode, page: 1)])
    }

    @Test func aTreeOfTooManyLevelsIsNotFollowed() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileOfOneCommit()
        for levels in [31, 32] {
            let twin = healthy.withFreeList(branchLevels: levels)
            let damages = try directory.inspect(twin).damages
            let isTooDeep = damages.contains { $0.kind == .tooDeep }
            #expect(isTooDeep == (levels == 32))
            #expect(damages.contains { $0.kind == .wrongPageKind } == false)
        }
    }

    // MARK: The free list

    @Test func aPageThatIsUsedAndFreeOrNeitherIsFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileWithFreePages()
        let entry = try healthy.freeListEntry()

        var twin = healthy
        twin.setFreePage(0, to: healthy.pageCount - 1, entry)
        let isUsed = !entry.freed.contains(healthy.pageCount - 1)
        try #require(isUsed)
        try #require(entry.freed[0] < healthy.pageCount - 1)
        #expect(
            try Set(directory.inspect(twin).damages) == [
                .init(.pageUsedAndFree, page: healthy.pageCount - 1),
                .init(.pageLeaked, page: entry.freed[0]),
            ])
        twin = healthy
        twin.set(UInt64(entry.freed.count - 1), in: entry.page, at: entry.offset)
        let lowest = try #require(entry.freed.last)
        #expect(try directory.inspect(twin).damages == [.init(.pageLeaked, page: lowest)])
    }

    @Test func aFreeListThatCannotBeIsFound() throws {
        let directory = try InspectionDirectory()
        let healthy = try directory.fileWithFreePages()
        let entry = try healthy.freeListEntry()

        var twin = healthy
        twin.setFreePage(1, to: entry.freed[0], entry)
        #expect(
            try Set(directory.inspect(twin).damages) == [
                .init(.pageFreeTwice, page: entry.freed[0]),
                .init(.keysOutOfOrder, page: entry.page),
                .init(.pageLeaked, page: entry.freed[1]),
            ])
        for outside in [0, 1, healthy.pageCount] {
            twin = healthy
            let index = outside < 2 ? entry.freed.count - 1 : 0
            twin.setFreePage(index, to: outside, entry)
            #expect(
                try Set(directory.inspect(twin).damages) == [
                    .init(.pageOutOfRange, page: outside),
                    .init(.pageLeaked, page: entry.freed[index]),
                ])
        }
        for count in [UInt64(entry.freed.count + 1), .max] {
            twin = healthy
            twin.set(count, in: entry.page, at: entry.offset)
            #expect(try directory.inspect(twin).damages == [.init(.wrongNode, page: entry.page)])
        }
    }
}
