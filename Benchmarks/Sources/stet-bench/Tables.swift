/// Rows of text in columns: the first ones flush left, the others flush right.
private func columns(_ rows: [[String]], flushLeft: Int) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        var line = row.enumerated().map { column, text in
            let padding = String(repeating: " ", count: widths[column] - text.count)
            return column < flushLeft ? text + padding : padding + text
        }.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }.joined(separator: "\n")
}

/// The figures as lines of text.
func table(of figures: [Figure]) -> String {
    var stet: Figure?
    var last: String?
    let rows = figures.map { figure -> [String] in
        if figure.program == Program.stet.rawValue { stet = figure }
        let start = figure.workload == last ? ["", ""] : [figure.workload, figure.unit]
        last = figure.workload
        return start + [figure.program] + [figure.median, figure.min, figure.max].map(number)
            + [speed(of: stet, beside: figure).map(number) ?? ""]
    }
    let titles = ["workload", "unit", "program", "median", "min", "max", "Stet's speed"]
    return columns([titles] + rows, flushLeft: 3)
}

/// The goals as lines of text, and how many were reached.
func table(of goals: [Goal], _ figures: [Figure]) -> String {
    var reached = 0
    let rows = goals.map { goal -> [String] in
        let outcome = goal.outcome(figures)
        if outcome.isReached { reached += 1 }
        let state = outcome.value == nil ? "not run" : outcome.isReached ? "reached" : "MISSED"
        return [
            goal.workload, goal.of ?? Program.stet.rawValue, goal.program ?? "", goal.sentence,
            outcome.value.map(number) ?? "",
            state,
        ]
    }
    let titles = ["workload", "program", "beside", "goal", "is", ""]
    return columns([titles] + rows, flushLeft: 4)
        + "\n\(reached) of \(goals.count) goals reached; what did not run counts as missed."
}

/// Stet's speed as a part of the other program's; nil for counts, and where there is nothing to
/// compare.
func speed(of stet: Figure?, beside other: Figure) -> Double? {
    guard let stet, stet.workload == other.workload, other.program != stet.program,
        other.median > 0, stet.median > 0, let isTime = Unit(rawValue: other.unit)?.isTime
    else { return nil }
    return isTime ? other.median / stet.median : stet.median / other.median
}

func number(_ value: Double) -> String {
    if value >= 100 || value == 0 { return "\(Int(value.rounded()))" }
    let hundredths = Int((abs(value) * 100).rounded())
    let fraction = hundredths % 100
    return "\(value < 0 ? "-" : "")\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
}
