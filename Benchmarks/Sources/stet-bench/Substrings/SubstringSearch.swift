/// A search for a part of texts without regard to case; both programs find the same number.
enum SubstringSearch: String, CaseIterable {
    case word = "W36"
    case rare = "W37"
    case common = "W38"
    case most = "W38b"
    case missing = "W39"

    /// The number of times that it is asked in one measurement.
    var repetitions: Int {
        switch self {
        case .word, .common, .most: 5
        case .rare, .missing: 20
        }
    }

    var description: String {
        switch self {
        case .word: "the count of texts that contain \"\(part)\""
        case .rare: "the count of those that contain \"\(part)\", which few do"
        case .common: "the count of those that contain \"\(part)\", which every tenth does"
        case .most: "the count of those that contain \"\(part)\", which more than a quarter do"
        case .missing: "the count of those that contain \"\(part)\", which none do"
        }
    }

    var part: String {
        switch self {
        case .word: "database"
        case .rare: "abase s"
        case .common: "dev"
        case .most: "lib"
        case .missing: "no database"
        }
    }
}
