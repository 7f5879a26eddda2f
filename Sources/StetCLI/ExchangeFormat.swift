import ArgumentParser

/// The format of a file of objects.
enum ExchangeFormat: String, ExpressibleByArgument, CaseIterable {
    case csv, jsonl

    /// Creates the format that the name of a file stands for: JSON Lines if it does not end in
    /// ".csv".
    init(ofFile name: String) { self = name.lowercased().hasSuffix(".csv") ? .csv : .jsonl }
}
