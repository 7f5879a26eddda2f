import Foundation

/// A store that a checker is to look at, and what was promised of it.
struct CheckRequest {
    let path: String
    /// A file of promises, a line each, and how many of its lines count.
    var acknowledgements = (file: "-", count: 0)
    var schema = CheckedSchema.campaign

    /// How long the checker may take for one store.
    fileprivate static let limit = Duration.seconds(20)
}

/// How the checker ended with one store.
enum CheckOutcome: Hashable {
    case answered(Answer)
    /// The checker died, and how.
    case died(String)
    /// It did not answer in time.
    case hung

    /// What is wrong; nil when the store is whole.
    var problem: String? {
        switch self {
        case .answered(let answer): answer.problem.map { "\(answer.stage): \($0)" }
        case .died(let how): "the checker died: \(how)"
        case .hung: "the checker did not answer within \(CheckRequest.limit)"
        }
    }
}

/// Has children look at stores; one outcome for each.
///
/// A child looks at one store after the other; when it dies, the store that it was at is to blame,
/// and another child goes on with the next.
func answers(to requests: [CheckRequest]) throws -> [CheckOutcome] {
    var outcomes: [CheckOutcome] = []
    let decoder = JSONDecoder()
    while outcomes.count < requests.count {
        let rest = requests[outcomes.count...]
        let child = try Child(
            ["check"]
                + rest.flatMap {
                    [
                        $0.path, $0.acknowledgements.file, "\($0.acknowledgements.count)",
                        $0.schema.rawValue,
                    ]
                })
        for _ in rest {
            guard let line = child.nextLine(within: CheckRequest.limit) else {
                // Its output has ended, so it ends at once unless it hangs.
                outcomes.append(
                    child.end(within: .milliseconds(1)).map { .died("\($0)") } ?? .hung)
                break
            }
            outcomes.append(.answered(try decoder.decode(Answer.self, from: Data(line.utf8))))
        }
    }
    return outcomes
}

extension Child {
    /// Lets a writer make one commit, which must not wait for what dead ones have left; what it
    /// said, and what is wrong.
    static func commitAtOnce(to path: String, stream: Int) throws -> (
        lines: [String], problem: String?
    ) {
        let child = try Child(
            ["write", path, "--seed", "1", "--stream", "\(stream)", "--commits", "1"])
        let isDone = child.end(within: .seconds(20)) == .exited(0) && !child.lines.isEmpty
        let word = child.lines.last ?? "no word within 20 s"
        return (child.lines, isDone ? nil : "the next writer did not commit: \(word)")
    }
}
