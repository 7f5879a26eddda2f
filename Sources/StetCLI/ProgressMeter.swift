import ArgumentParser
import Glibc

/// The progress of a command, for people who wait: a bar on a terminal, once the command has lasted
/// for a second; elsewhere, if requested, a line for each percent.
///
/// State: the last share that was shown; one thread uses it.
final class ProgressMeter {
    enum Form { case bar, lines, none }

    private let form: Form
    private let text: (Int, Int) -> String
    private let elapsed: () -> Duration
    private let show: (String, JSON?) -> Void
    private var lastShare = -1

    private static let cellCount = 30
    private static let eraseLine = "\r\u{1B}[K"

    /// Creates a meter.
    ///
    /// - Parameters:
    ///   - form: the form in which progress is shown.
    ///   - text: describes the amount done, of all.
    ///   - elapsed: returns the time since the command began.
    ///   - show: writes a line in one of two forms, or, without JSON, text on a terminal.
    init(
        _ form: Form, _ text: @escaping (Int, Int) -> String, elapsed: @escaping () -> Duration,
        show: @escaping (String, JSON?) -> Void
    ) {
        self.form = form
        self.text = text
        self.elapsed = elapsed
        self.show = show
    }

    /// Shows the amount done, if its share of all has grown by a percent; an unknown amount of all,
    /// which is 0, is not shown.
    func report(_ doneCount: Int, of count: Int) {
        guard form != .none, count > 0 else { return }
        let share = Int(Double(doneCount) / Double(count) * 100)
        guard share > lastShare else { return }
        switch form {
        case .lines:
            show(
                text(doneCount, count),
                .object(["count": .integer(count), "doneCount": .integer(doneCount)]))
        case .bar:
            guard elapsed() >= .seconds(1) else { return }
            let filled = min(share, 100) * Self.cellCount / 100
            let cells =
                String(repeating: "#", count: filled)
                + String(repeating: "-", count: Self.cellCount - filled)
            show("\(Self.eraseLine)[\(cells)] \(share) %, \(text(doneCount, count))", nil)
        case .none: break
        }
        lastShare = share
    }

    /// Erases the bar.
    func end() {
        if form == .bar, lastShare >= 0 { show(Self.eraseLine, nil) }
    }
}

/// The options of commands that can report progress.
struct ProgressOptions: ParsableArguments {
    @Flag(help: "Reports progress on standard error, even if that is not a terminal.")
    var progress = false

    /// Returns a meter that describes the amount done, of all, with `text`.
    func meter(_ output: Output, _ text: @escaping (Int, Int) -> String) -> ProgressMeter {
        let isTerminal = isatty(STDERR_FILENO) != 0 && !output.isJSON
        let start = ContinuousClock.now
        return ProgressMeter(
            isTerminal ? .bar : progress ? .lines : .none, text,
            elapsed: { ContinuousClock.now - start },
            show: { text, json in
                if let json { output.note(text: text, json: json) } else { output.draw(text) }
            })
    }
}
