import Foundation
import Stet

extension Store {
    /// Opens the store, and migrates one that the first version of the program has made.
    static func tracker(at path: String, configuration: Configuration = .init()) throws -> Store {
        try open(at: path, migrating: .tracker, configuration: configuration)
    }
}

extension MigrationPlan {
    /// The versions of the models.
    ///
    /// The second stores estimates as hours; nothing else needs code.
    static let tracker = MigrationPlan(
        .version(
            Version1.User.self, Version1.Project.self, Version1.Issue.self, Version1.Comment.self,
            Version1.Label.self),
        .version(User.self, Project.self, Issue.self, Comment.self, Label.self) { step in
            try step.forEach(Version1.Issue.self, Issue.self) { old, new in
                new.estimate = hours(old.estimate)
            }
        })
}

/// Returns the hours of "90m", "2h", "3d" or "1w"; nil for any other text.
///
/// A day has eight hours.
func hours(_ text: String) -> Int? {
    let text = text.filter { !$0.isWhitespace }.lowercased()
    guard let unit = text.last, let number = Double(text.dropLast()), (0...1_000).contains(number)
    else { return nil }
    let factors: [Character: Double] = ["m": 1.0 / 60, "h": 1, "d": 8, "w": 40]
    return factors[unit].map { Int((number * $0).rounded(.up)) }
}
