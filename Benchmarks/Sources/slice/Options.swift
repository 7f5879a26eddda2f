/// What the command line asks for, and the sizes that follow from it.
struct Options {
    static let usage = """
        usage: slice [--quick] [--rounds N] [--directory PATH] [--only reading|editing|saving]
          --quick      smaller sizes and two rounds: under a minute
          --rounds     how often the programs take turns, 5 unless said otherwise
          --directory  where the stores are made and removed again, on a real disk;
                       .build of the current directory unless said otherwise
          --only       one group of workloads
        """

    enum Group: String, CaseIterable { case reading, editing, saving }

    var isQuick = false
    var rounds: Int?
    var directory = ".build"
    var groups = Group.allCases

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--rounds":
                guard let text = rest.popFirst(), let number = Int(text), number > 0 else {
                    throw Failure(Self.usage)
                }
                rounds = number
            case "--directory":
                guard let path = rest.popFirst() else { throw Failure(Self.usage) }
                directory = path
            case "--only":
                guard let text = rest.popFirst(), let group = Group(rawValue: text) else {
                    throw Failure(Self.usage)
                }
                groups = [group]
            default: throw Failure(Self.usage)
            }
        }
    }

    /// A run of one group leaves the figures of the whole run alone.
    var resultsName: String { groups.count == 1 ? "slice-\(groups[0].rawValue)" : "slice" }

    var roundCount: Int { rounds ?? (isQuick ? 2 : 5) }

    /// The articles of the store that is read.
    var storedCount: Int { isQuick ? 100_000 : 200_000 }
    /// The articles that are pending when a context is put back or a save refused.
    var pendingCount: Int { 10_000 }
    /// The articles of one large commit.
    var largeCommitCount: Int { isQuick ? 50_000 : 100_000 }
    /// The articles of a commit of middle size, and how many of those there are.
    var middleCommitCount: Int { 1_000 }
    var middleCommits: Int { isQuick ? 10 : 20 }
    /// The commits of one article.
    var smallCommits: Int { isQuick ? 500 : 1_000 }
}
