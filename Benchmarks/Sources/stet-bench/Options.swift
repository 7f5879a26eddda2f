/// The options of the command line, and the sizes that follow from them.
struct Options {
    static let usage = """
        usage: stet-bench [--quick] [--rounds N] [--directory PATH] [--only WORK]
                          [--programs NAMES] [--index FILE] [--renew-plots]
          --quick      smaller sizes and two rounds: under four minutes
          --rounds     how often the programs take turns, 5 unless said otherwise
          --directory  where the stores are made and removed again, on a real disk;
                       .build of the current directory unless said otherwise
          --only       one workload, such as W2b, or one group: peers, reading, editing,
                       members, contexts, packages, words, substrings, large, memory,
                       observation, feeds, growth, archives
          --programs   those of the group peers that take turns, such as stet-logged,grdb;
                       all unless said otherwise
          --renew-plots  writes the plots of the groups growth and archives to Benchmarks/plots,
                       which is under version control, and not to Benchmarks/.results/plots
          --index      the index of an archive, a file Packages of Debian, for the groups
                       packages, words and substrings; without it made-up ones of the same number
        """

    enum Group: String, CaseIterable {
        case peers, reading, editing, members, contexts, packages, words, substrings, large, memory,
            observation, feeds, growth, archives
    }

    var isQuick = false
    var renewsPlots = false
    var rounds: Int?
    var directory = ".build"
    var groups = Group.allCases
    var workloads = Workload.allCases
    var programs = Program.allCases
    /// The path of the index of an archive.
    var index: String?
    private var only: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--renew-plots": renewsPlots = true
            case "--rounds":
                guard let text = rest.popFirst(), let number = Int(text), number > 0 else {
                    throw Failure(Self.usage)
                }
                rounds = number
            case "--directory":
                guard let path = rest.popFirst() else { throw Failure(Self.usage) }
                directory = path
            case "--only":
                guard let text = rest.popFirst() else { throw Failure(Self.usage) }
                try limit(to: text)
            case "--programs":
                let names = rest.popFirst()?.split(separator: ",") ?? []
                programs = names.compactMap { Program(rawValue: String($0)) }
                guard programs.count == names.count, !names.isEmpty else {
                    throw Failure(Self.usage)
                }
            case "--index":
                guard let path = rest.popFirst() else { throw Failure(Self.usage) }
                index = path
            default: throw Failure(Self.usage)
            }
        }
    }

    private mutating func limit(to name: String) throws {
        only = name
        if let group = Group(rawValue: name) {
            groups = [group]
        } else if let workload = Workload(rawValue: name) {
            groups = [.peers]
            workloads = [workload]
        } else {
            throw Failure(Self.usage)
        }
    }

    /// A run of a part leaves the figures of the whole run alone.
    var resultsName: String { only.map { "only-\($0)" } ?? "latest" }

    var roundCount: Int { rounds ?? (isQuick ? 2 : 5) }

    /// The articles of the first commit, and of the store that is read.
    var storedCount: Int { isQuick ? 50_000 : 200_000 }
    /// The number of articles that are read by id.
    var readCount: Int { isQuick ? 20_000 : 50_000 }
    /// The number of articles that one commit changes or deletes.
    var changedCount: Int { storedCount / 2 }
    /// The number of articles that the undone commit has changed.
    var undoneCount: Int { 10_000 }
    /// The commits of the journals in which one is undone.
    var journalLengths: [Int] {
        isQuick ? [1_000, 10_000] : [10_000, 100_000, 1_000_000, 5_000_000]
    }
    /// The objects of the stores in which some are looked for.
    var storeSizes: [Int] {
        isQuick ? [10_000, 50_000] : [10_000, 100_000, 1_000_000, 10_000_000]
    }
    /// The packages of the archives that are asked the same questions; one of 10,000,000 has about
    /// 40,000,000 dependencies.
    var archiveSizes: [Int] {
        isQuick ? [10_000, 50_000] : [10_000, 100_000, 1_000_000, 10_000_000]
    }
    /// The sizes of relationships that get one member more.
    var memberCounts: [Int] { isQuick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000] }
    /// The number of members that are added, one per commit.
    var addedMembers: Int { 200 }
    /// The number of commits that a context is behind.
    var commitsBehind: Int { isQuick ? 1_000 : 10_000 }
    /// The commits that live queries follow.
    var observedCommits: Int { isQuick ? 20 : 40 }
    /// The number of times that commits with and without feeds take turns, and the commits of each.
    var feedBlocks: Int { isQuick ? 4 : 20 }
    var feedCommits: Int { 200 }
    /// The commits of another process.
    var foreignCommits: Int { isQuick ? 20 : 100 }
    /// The packages of a made-up archive.
    var packageCount: Int { isQuick ? 20_000 : 63_000 }
    /// The bytes of one large value.
    var largeByteCount: Int { isQuick ? 128 << 20 : 1 << 30 }
    /// The number of articles that are pending when a context is rolled back or a save refused.
    var pendingCount: Int { 10_000 }
    /// The articles of a commit of middle size, and how many of those there are.
    var middleCommitCount: Int { 1_000 }
    var middleCommits: Int { isQuick ? 10 : 20 }
    /// The commits of one article: of one writer, of 16, of 64.
    var smallCommits: Int { isQuick ? 250 : 1_000 }
    var commitsBy16: Int { isQuick ? 640 : 1_600 }
    var commitsBy64: Int { isQuick ? 1_280 : 3_200 }
    var openCount: Int { isQuick ? 20 : 100 }
}
