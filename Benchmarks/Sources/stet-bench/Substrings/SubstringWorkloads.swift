import Glibc
import Stet

/// Searches for parts of texts: W36 to W39, with and without an index of substrings, the index, and
/// saves that keep it, in the descriptions of packages.
struct SubstringWorkloads {
    private static let replacedCount = 200

    private let stet: StetTexts
    private let grdb: GRDBTexts
    private let directory: String
    /// Texts that replace others, and those that they replace.
    private let replaced: [(number: Int, text: String)]
    private let restored: [(number: Int, text: String)]
    /// A store with the index, whose records need no upcast.
    private let indexed: Store

    init(_ options: Options, directory: String) throws {
        let list =
            try options.index.map { try PackageList(path: $0) }
            ?? PackageList(count: options.packageCount)
        let texts = list.packages.map(\.summary)
        self.directory = directory
        stet = try StetTexts(texts, path: "\(directory)/parts.stet")
        grdb = try GRDBTexts(texts, path: "\(directory)/parts.sqlite")
        indexed = try StetTexts.makeIndexed(texts, path: "\(directory)/parts-indexed.stet")
        let numbers = (0..<min(Self.replacedCount, texts.count)).map {
            $0 * texts.count / Self.replacedCount
        }
        replaced = numbers.map { ($0, texts[($0 + 1) % texts.count]) }
        restored = numbers.map { ($0, texts[$0]) }
    }

    /// One round: both programs answer without an index, build it, answer with it and remove it.
    func run(_ measurements: inout Measurements) throws {
        let path = "\(directory)/indexed-parts.stet"
        try stet.copy(to: path)
        defer { for suffix in ["", "-lock"] { unlink(path + suffix) } }
        let plain = try StetTexts.openPlain(path)
        try search("scan", &measurements) { part in
            try StetTexts.count(with: part, inPlain: plain)
        } _: { part in
            try grdb.count(with: part, usesIndex: false)
        }
        try replace("without index", &measurements) { texts in
            try StetTexts.replace(texts, inPlain: plain)
        }
        plain.close()
        let before = try byteCount(path)
        var opened: Store?
        try measure("substrings: index", .stet, &measurements) {
            opened = try StetTexts.openIndexed(path)
        }
        opened?.close()
        try measure("substrings: index", .grdbTuned, &measurements) { try grdb.buildTrigrams() }
        let sizes = (try byteCount(path) - before, try grdb.indexByteCount("parts"))
        measurements.add(Double(sizes.0) / 1_048_576, .mebibytes, "substrings: size", .stet)
        measurements.add(Double(sizes.1) / 1_048_576, .mebibytes, "substrings: size", .grdbTuned)
        try search("index", &measurements) { part in
            try StetTexts.count(with: part, inIndexed: indexed)
        } _: { part in
            try grdb.count(with: part, usesIndex: true)
        }
        try replace("with index", &measurements) { texts in
            try StetTexts.replace(texts, inIndexed: indexed)
        }
        try grdb.removeTrigrams()
    }

    func close() { indexed.close() }

    private func search(
        _ name: String, _ measurements: inout Measurements,
        _ stet: @escaping (String) throws -> Int,
        _ grdb: @escaping (String) throws -> Int
    ) throws {
        for search in SubstringSearch.allCases {
            let label = "\(search.rawValue) \(name)"
            try expectEqual(try stet(search.part), try grdb(search.part), label)
            for (program, count) in [(Program.stet, stet), (.grdbTuned, grdb)] {
                let time = try ContinuousClock().measure {
                    for _ in 0..<search.repetitions { _ = try count(search.part) }
                }
                measurements.add(
                    time / .milliseconds(1) / Double(search.repetitions), .milliseconds, label,
                    program)
            }
        }
    }

    /// Replaces texts and restores them, each in a save of its own.
    private func replace(
        _ name: String, _ measurements: inout Measurements,
        _ stet: @escaping ([(number: Int, text: String)]) throws -> Void
    ) throws {
        let count = Double(replaced.count * 2)
        for (program, replace) in [(Program.stet, stet), (.grdbTuned, grdb.replace)] {
            let time = try ContinuousClock().measure {
                try replace(replaced)
                try replace(restored)
            }
            measurements.add(
                time / .milliseconds(1) / count, .milliseconds, "substrings: save \(name)",
                program)
        }
    }

    private func measure(
        _ name: String, _ program: Program, _ measurements: inout Measurements,
        _ body: () throws -> Void
    ) throws {
        let time = try ContinuousClock().measure(body)
        measurements.add(time / .milliseconds(1), .milliseconds, name, program)
    }

    /// The number of bytes of the pages of the store that are in use.
    private func byteCount(_ path: String) throws -> Int {
        let inspection = try StoreInspection.inspect(path)
        return inspection.usedPageCount * inspection.pageByteCount
    }
}
