import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Queries of a revision, and the changes of later commits that they take into account.
struct ForeignChangesTests {
    /// Returns the numbers of tags with articles, and with more than one.
    private static func tagCounts(
        _ state: WorkingState, _ reader: borrowing StoreReader
    ) throws -> [Int] {
        let articles = QueryMembers(owner: .root, entity: "Tag", relationship: 0, scope: 1)
        return try (0...1).map { least in
            var query = StoreQuery(entity: Shelf.Number.tag)
            query.condition = .comparison(
                .greater, .members(.count, articles, .everything), .constant(.int(least)))
            return try QueryRun(QueryState(reader, QueryState.View(state)), query).count()
        }
    }

    private static func shelf() throws -> Shelf {
        let shelf = try Shelf()
        try shelf.commit(
            [
                .tag(301): [], .article(101): [.string("a"), .null],
                .article(102): [.string("b"), .null],
            ], [.tagging(101, 301): .present(nil)])
        return shelf
    }

    /// Two reads of one view, of which the one that began first counts last.
    @Test func anEarlierReadCountsNothingOfLaterCommits() throws {
        nonisolated(unsafe) let shelf = try Self.shelf()
        try shelf.commit([.tag(302): []])
        try shelf.file.read { reader in
            let foreign = try onThread {
                try shelf.commit([:], [.tagging(102, 301): .present(nil)])
                return try shelf.file.read { reader in
                    let state = WorkingState(Shelf.schema, at: 1)
                    let counts = try Self.tagCounts(state, reader)
                    #expect(counts == [1, 0])
                    return state.foreign
                }
            }
            #expect(foreign.end == 3)
            let state = WorkingState(Shelf.schema, since: foreign)
            let counts = try Self.tagCounts(state, reader)
            #expect(counts == [1, 0])
            #expect(state.foreign.end == 2)
            #expect(state.foreign.areIncluded(in: foreign))
            #expect(!foreign.areIncluded(in: state.foreign))
        }
        let now = try shelf.file.read { reader in
            try Self.tagCounts(WorkingState(Shelf.schema, at: 3), reader)
        }
        #expect(now == [1, 1])
    }

    @Test(arguments: [2, 3])
    func listsAreNotCountedFromMoreThanTheLimit(limit: Int) throws {
        let shelf = try Self.shelf()
        try shelf.commit([:], [.tagging(102, 301): .present(nil)])
        try shelf.commit([:], [.tagging(101, 301): .absent])
        // Three lists have changed: those of two articles, and that of the tag.
        let counts = try shelf.file.read { reader in
            try ([1, 2] as [Revision]).map { revision in
                let state = WorkingState(Shelf.schema, at: revision, limit: limit)
                return try Self.tagCounts(state, reader)
            }
        }
        #expect(counts == [[1, 0], [1, 1]])
    }

    #if STET_FAULTS
        /// A read that fails at any place leaves nothing counted twice or not at all.
        @Test(arguments: [LMDBError.Operation.get, .cursor])
        func countsAreRightAfterAReadThatFailed(operation: LMDBError.Operation) throws {
            let shelf = try Self.shelf()
            try shelf.commit([:], [.tagging(102, 301): .present(nil)])
            try shelf.commit([:], [.tagging(101, 301): .absent])
            try shelf.commit([.tag(302): []], [.tagging(101, 302): .present(nil)])
            let faults = shelf.file.environment.faults
            var failureCount = 0
            for place in 1...60 {
                let state = WorkingState(Shelf.schema, at: 1)
                faults.failNext(operation, after: place, code: LMDBError.inputOutput)
                let failure = thrown(StoreError.self) {
                    let counts = try shelf.file.read { try Self.tagCounts(state, $0) }
                    #expect(counts == [1, 0], "\(place)")
                }
                faults.disarm()
                if failure != nil { failureCount += 1 }
                let counts = try shelf.file.read { try Self.tagCounts(state, $0) }
                #expect(counts == [1, 0], "\(place)")
            }
            // Some reads failed, and the last places are behind the end of the reads.
            #expect((2..<60).contains(failureCount))
        }
    #endif
}
