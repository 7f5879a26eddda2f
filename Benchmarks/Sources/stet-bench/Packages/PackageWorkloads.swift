import Stet

/// Questions over relationships: W20 to W29, of the packages of an archive.
struct PackageWorkloads {
    private let stet: StetPackages
    private let grdb: GRDBPackages

    init(_ options: Options, directory: String) throws {
        let list =
            try options.index.map { try PackageList(path: $0) }
            ?? PackageList(count: options.packageCount)
        let terms = PackageTerms(list)
        stet = try StetPackages(list, terms, path: "\(directory)/packages.stet")
        grdb = try GRDBPackages(list, terms, path: "\(directory)/packages.sqlite")
        for question in PackageQuestion.allCases {
            let expected = try grdb.answer(question)
            try expectEqual(try stet.answer(question), expected, question.rawValue)
            guard !expected.isEmpty else { throw Failure("\(question.rawValue) finds nothing") }
        }
        let answers = try PackageQuestion.allCases.map { try stet.answer($0) }
        try stet.change()
        let first = try stet.store.view(asOf: 1)
        for (question, answer) in zip(PackageQuestion.allCases, answers) {
            try expectEqual(
                try stet.answer(question, in: first), answer, "\(question.rawValue) of the past")
        }
    }

    /// One round: each question by both programs, in turn, and of the first revision.
    func run(_ measurements: inout Measurements) throws {
        for question in PackageQuestion.allCases {
            let name = question.rawValue
            try measure(name, .stet, question, &measurements) { try stet.answer(question) }
            try measure(name, .grdbTuned, question, &measurements) { try grdb.answer(question) }
            let first = try stet.store.view(asOf: 1)
            try measure("\(name) as of 1", .stet, question, &measurements) {
                try stet.answer(question, in: first)
            }
        }
    }

    func close() { stet.store.close() }

    private func measure(
        _ name: String, _ program: Program, _ question: PackageQuestion,
        _ measurements: inout Measurements, _ answer: () throws -> [String]
    ) throws {
        let time = try ContinuousClock().measure {
            for _ in 0..<question.repetitions { _ = try answer() }
        }
        measurements.add(
            time / .milliseconds(1) / Double(question.repetitions), .milliseconds, name, program)
    }
}
