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
        needed = list.name(neededBy: 100)
        hub = list.name(neededBy: 5_000)
        name = list.packages[list.packages.count / 2].name
        prefix = String(name.prefix(5))
        section = list.sections[list.packages[list.packages.count / 2].section]
    }
}
