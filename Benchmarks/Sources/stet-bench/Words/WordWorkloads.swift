import Glibc
import Stet

/// Searches for words: W30 to W35, and the index for them, in the descriptions of packages.
struct WordWorkloads {
    private let stet: StetTexts
    private let grdb: GRDBTexts
    private let terms: WordTerms
    private let directory: String

    init(_ options: Options, directory: String) throws {
        let list =
            try options.index.map { try PackageList(path: $0) }
            ?? PackageList(count: options.packageCount)
        let texts = list.packages.map(\.summary)
        terms = WordTerms(texts)
        self.directory = directory
        stet = try StetTexts(texts, path: "\(directory)/texts.stet")
        grdb = try GRDBTexts(texts, path: "\(directory)/texts.sqlite")
    }

    /// One round: both programs build their index, answer in turn and remove it.
    func run(_ measurements: inout Measurements) throws {
        let clock = ContinuousClock()
        let path = "\(directory)/indexed.stet"
        try stet.copy(to: path)
        defer { for suffix in ["", "-lock"] { unlink(path + suffix) } }
        let before = try byteCount(path)
        var opened: Store?
        let building = try clock.measure { opened = try StetTexts.open(path) }
        guard let store = opened else { throw Failure("no store") }
        measurements.add(building / .milliseconds(1), .milliseconds, "words: index", .stet)
        let indexing = try clock.measure { try grdb.buildIndex() }
        measurements.add(indexing / .milliseconds(1), .milliseconds, "words: index", .grdbTuned)
        let size = Double(try byteCount(path) - before) / 1_048_576
        measurements.add(size, .mebibytes, "words: size", .stet)
        measurements.add(
            Double(try grdb.indexByteCount()) / 1_048_576, .mebibytes, "words: size", .grdbTuned)
        for search in WordSearch.allCases { try run(search, store, &measurements) }
        store.close()
        try grdb.removeIndex()
    }

    private func run(
        _ search: WordSearch, _ store: Store, _ measurements: inout Measurements
    ) throws {
        let terms = search.terms(terms)
        let found = try grdb.all(terms)
        guard !found.isEmpty else { throw Failure("\(search.rawValue) finds nothing: \(terms)") }
        let own = try StetTexts.all(terms, in: store)
        // The programs split words with punctuation differently (docs/Performance.md).
        let differing = found.symmetricDifference(own).count
        guard differing * 50 <= found.count else {
            throw Failure(
                "\(search.rawValue) finds \(own.count) instead of \(found.count): \(terms)")
        }
        try measure(search, .stet, &measurements) {
            search == .count
                ? try StetTexts.count(terms, in: store)
                : try StetTexts.best(terms, in: store).count
        }
        try measure(search, .grdbTuned, &measurements) {
            search == .count ? try grdb.count(terms) : try grdb.best(terms).count
        }
    }

    private func measure(
        _ search: WordSearch, _ program: Program, _ measurements: inout Measurements,
        _ answer: () throws -> Int
    ) throws {
        let time = try ContinuousClock().measure {
            for _ in 0..<search.repetitions {
                if try answer() == 0 { throw Failure("\(search.rawValue) finds nothing") }
            }
        }
        measurements.add(
            time / .milliseconds(1) / Double(search.repetitions), .milliseconds, search.rawValue,
            program)
    }

    /// The number of bytes of the pages of the store that are in use.
    private func byteCount(_ path: String) throws -> Int {
        let inspection = try StoreInspection.inspect(path)
        return inspection.usedPageCount * inspection.pageByteCount
    }
}
