import StetContract
import StetTestSupport
import Testing

/// The library beside a reference in plain Swift, in random steps; `make campaign NAME=contract`
/// runs more.
@MainActor @Suite struct ContractModelTests {
    @Test(arguments: ContractChecker.Mode.allCases)
    func theLibraryShowsWhatTheReferenceShows(_ mode: ContractChecker.Mode) async throws {
        var checker = ContractChecker()
        for seed in 1...repetitions(30) {
            let difference = try await checker.run(seed: UInt64(seed), mode)
            #expect(difference == nil)
        }
        #expect(checker.counts["committed", default: 0] > repetitions(50))
    }
}
