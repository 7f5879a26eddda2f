/// A search for words; both programs find the same texts.
enum WordSearch: String, CaseIterable {
    case rare = "W30"
    case common = "W31"
    case both = "W32"
    case phrase = "W33"
    case beginning = "W34"
    case count = "W35"

    /// The number of times that it is asked in one measurement.
    var repetitions: Int {
        switch self {
        case .rare: 200
        case .common, .both, .phrase, .beginning, .count: 20
        }
    }

    var description: String {
        switch self {
        case .rare: "the best ten texts with a rare word"
        case .common: "the best ten with a common word"
        case .both: "the best ten with two common words"
        case .phrase: "the best ten with two words side by side"
        case .beginning: "the best ten with a word that begins with three letters"
        case .count: "the count of those with a common word"
        }
    }

    func terms(_ terms: WordTerms) -> String {
        switch self {
        case .rare: terms.rare
        case .common, .count: terms.common
        case .both: "\(terms.common) \(terms.other)"
        case .phrase: "\"\(terms.phrase)\""
        case .beginning: "\(terms.other.prefix(3))*"
        }
    }
}

/// The words that the searches contain.
struct WordTerms {
    /// A word of about thirty texts.
    let rare: String
    /// The two words that most texts contain.
    let common: String
    let other: String
    /// The pair of neighbours that most texts contain.
    let phrase: String

    init(_ texts: [String]) {
        var counts: [Substring: Int] = [:]
        var pairs: [String: Int] = [:]
        for text in texts {
            // The words that every program separates alike.
            let words = text.split(separator: " ").filter { word in
                word.count > 3 && word.utf8.allSatisfy { (0x61...0x7a).contains($0) }
            }
            for word in Set(words) { counts[word, default: 0] += 1 }
            for (one, next) in zip(words, words.dropFirst()) where text.contains("\(one) \(next)") {
                pairs["\(one) \(next)", default: 0] += 1
            }
        }
        let order = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        common = order.first.map(String.init) ?? ""
        other = order.dropFirst().first.map(String.init) ?? ""
        rare =
            counts.min { (abs($0.value - 30), $0.key) < (abs($1.value - 30), $1.key) }
            .map { String($0.key) } ?? ""
        phrase = pairs.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
    }
}
