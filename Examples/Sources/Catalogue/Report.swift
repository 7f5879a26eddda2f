import Foundation

/// The output of the run, and the number of surprises.
final class Report {
    private(set) var surpriseCount = 0
    private var sectionCount = 0

    func heading(_ title: String) {
        sectionCount += 1
        print("\n\(sectionCount). \(title)")
    }

    func line(_ text: String) {
        print("   " + text)
    }

    /// Prints rows in columns that are as wide as necessary; the last one may be longer.
    func table(_ rows: [[String]]) {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        for row in rows {
            let cells = row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell.padded(to: widths[column])
            }
            line("  " + cells.joined(separator: "  "))
        }
    }

    /// Prints a claim, and counts a surprise if it does not hold.
    func check(_ claim: String, _ holds: Bool) {
        if !holds { surpriseCount += 1 }
        line(holds ? "[ok] \(claim)" : "[NOT SO] \(claim)")
    }

    /// Prints progress: on one line of a terminal, otherwise a line for each quarter.
    func progress(_ done: Int, of total: Int, _ what: String) {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let step = max(total / (isTerminal ? 100 : 4), 1)
        guard done == total || (done % step == 0 && total - done >= step) else { return }
        let text = "\(what): \(done) of \(total)"
        let isLast = done == total
        writeError(isTerminal ? "\r\(text)\(isLast ? "\r\u{1B}[K" : "")" : "\(text)\n")
    }
}

/// Writes to the standard error stream.
func writeError(_ text: String) {
    // Flushes standard output, so that it precedes the error.
    fflush(nil)
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(width - count, 0))
    }

    /// Returns at most `limit` characters, with an ellipsis if some are missing.
    func shortened(to limit: Int) -> String {
        count <= limit ? self : prefix(limit - 1) + "…"
    }
}

/// Returns a number with its noun: "1 change", "2 changes".
func counted(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}
