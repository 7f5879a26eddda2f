/// A question about the packages of an archive; both programs give the same answers.
enum PackageQuestion: String, CaseIterable {
    case name = "W20"
    case prefix = "W21"
    case contains = "W22"
    case dependents = "W23"
    case twoHops = "W24"
    case threeHops = "W24c"
    case twoHopsFromHub = "W24h"
    case manyDependents = "W25"
    case mostNeeded = "W26"
    case largest = "W27"
    case largestByName = "W27m"
    case huge = "W28"
    case mostDepended = "W29"

    /// The number of times that it is asked in one measurement.
    var repetitions: Int {
        switch self {
        case .name: 1_000
        case .prefix, .dependents, .largest, .largestByName, .huge: 50
        case .twoHops, .threeHops: 10
        case .contains, .twoHopsFromHub, .manyDependents, .mostNeeded, .mostDepended: 3
        }
    }

    /// True when it concerns all packages, and false when an index leads to those that it finds.
    var readsAll: Bool {
        switch self {
        case .contains, .manyDependents, .mostNeeded, .mostDepended: true
        case .name, .prefix, .dependents, .twoHops, .threeHops, .twoHopsFromHub, .largest,
            .largestByName, .huge:
            false
        }
    }

    var description: String {
        switch self {
        case .name: "the package with a name"
        case .prefix: "those whose names begin with a text, by name"
        case .contains: "the count of those with a word in the summary, without regard to case"
        case .dependents: "those that need a package, which 100 do, by name"
        case .twoHops: "those that need one that needs it"
        case .threeHops: "and those one step further"
        case .twoHopsFromHub: "two steps from a package that 5,000 need"
        case .manyDependents: "those that more than 1,000 others need, by name"
        case .mostNeeded: "the ten that most others need"
        case .largest: "the 20 largest of a section"
        case .largestByName: "the 20 largest of a section, those of one size by name"
        case .huge: "the first 50 above 10 MiB, by name"
        case .mostDepended: "the ten whose dependents are largest in total"
        }
    }
}

/// The texts that the questions contain.
struct PackageTerms {
    let name: String
    let prefix: String
    let word = "database"
    let needed: String
    let hub: String
    let section: String

    init(_ list: PackageList) {
        self.init(
            list, list.packages[list.packages.count / 2],
            needed: list.names(neededBy: 100, limit: 1)[0],
            hub: list.names(neededBy: 5_000, limit: 1)[0])
    }

    private init(
        _ list: PackageList, _ package: ListedPackage, needed: String, hub: String
    ) {
        self.needed = needed
        self.hub = hub
        name = package.name
        prefix = String(name.prefix(5))
        section = list.sections[package.section]
    }

    /// Returns the texts of several turns, about packages from all parts of the archive.
    static func turns(_ count: Int, _ list: PackageList) -> [PackageTerms] {
        let needed = list.names(neededBy: 100, limit: count)
        let hubs = list.names(neededBy: 5_000, limit: 10)
        return (0..<count).map { turn in
            PackageTerms(
                list, list.packages[turn * (list.packages.count / count)], needed: needed[turn],
                hub: hubs[turn % hubs.count])
        }
    }
}
