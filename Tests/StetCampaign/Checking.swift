import Foundation

/// A store that a checker is to examine, and the promises that were made for it.
struct CheckRequest {
    let path: String
    /// A file with one promise on each line, and the number of its lines that count.
    var acknowledgements = (file: "-", count: 0)
    /// The number of the last of these promises that a power cut may have taken.
    var unsyncedCount = 0
    var schema = CheckedSchema.campaign

    /// The maximum time of the checker for one store.
    fileprivate static let limit = Duration.seconds(60)
}

/// The outcome of the checker for one store.
enum CheckOutcome: Hashable {
    case answered(Answer)
    /// The checker died in the described way.
    case died(String)
    /// The checker did not answer in time.
    case hung

    /// A description of the problem; nil if the store is intact.
    var problem: String? {
        switch self {
        case .answered(let answer): answer.problem.map { "\(answer.stage): \($0)" }
        case .died(let how): "the checker died: \(how)"
        case .hung: "the checker did not answer within \(CheckRequest.limit)"
        }
    }
}

/// Lets children examine stores, and returns one outcome for each.
///
/// A child examines one store after the other; if it dies, the current store is to blame, and
/// another child continues with the next one.
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
                        "\($0.unsyncedCount)", $0.schema.rawValue,
                    ]
                })
        for _ in rest {
            guard let line = child.nextLine(within: CheckRequest.limit) else {
                // Its output has ended, so the child ends at once unless it hangs.
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
    /// Starts a process that has a store open until it is killed; returns when it does.
    static func holding(_ path: String, _ schema: CheckedSchema = .campaign) throws -> Child {
        let holder = try Child(["hold", path, "--schema", schema.rawValue])
        guard holder.nextLine(within: .seconds(60)) == "open" else {
            throw CampaignFailure("the store cannot be held")
        }
        return holder
    }

    /// Lets a writer make one commit, which must not wait for dead writers, and returns its output
    /// and a description of a problem.
    static func commitAtOnce(
        to path: String, stream: Int, command: String = "write"
    ) throws -> (lines: [String], problem: String?) {
        let child = try Child(
            [command, path, "--seed", "1", "--stream", "\(stream)", "--commits", "1"])
        let isDone = child.end(within: .seconds(20)) == .exited(0) && !child.lines.isEmpty
        let word = child.lines.last ?? "no word within 20 s"
        return (child.lines, isDone ? nil : "the next writer did not commit: \(word)")
    }
}
