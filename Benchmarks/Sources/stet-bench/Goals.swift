import FoundationEssentials

/// The goal of Stet in one workload, from `goals.json`; it has one of the last four properties.
struct Goal: Decodable {
    let workload: String
    /// The program that is to reach it; nil for `stet`.
    let of: String?
    /// The program that Stet is compared with.
    let program: String?
    /// Stet's speed as a part of the other program's, at least.
    let ratio: Double?
    /// The amount by which Stet's figure may exceed that of the other program.
    let excess: Double?
    /// Stet's figure as a multiple of the other program's, at most.
    let multiple: Double?
    /// The limit of Stet's figure.
    let limit: Double?

    static func read(from path: String) throws -> [Goal] {
        try JSONDecoder().decode([Goal].self, from: Data(contentsOf: URL(filePath: path)))
    }

    var sentence: String {
        if let ratio { return "speed at least \(number(ratio))" }
        if let excess { return "at most \(number(excess)) more" }
        if let multiple { return "at most \(number(multiple)) times" }
        return "at most \(number(limit ?? 0))"
    }

    /// Returns the value that the goal is about, and whether it is reached; the value is nil when
    /// one of the two programs has no figure.
    func outcome(_ figures: [Figure]) -> (value: Double?, isReached: Bool) {
        func figure(_ program: String) -> Figure? {
            figures.first { $0.workload == workload && $0.program == program }
        }
        guard let stet = figure(of ?? Program.stet.rawValue) else { return (nil, false) }
        if let limit { return (stet.median, stet.median <= limit) }
        guard let other = program.flatMap(figure) else { return (nil, false) }
        if let excess {
            let value = stet.median - other.median
            return (value, value <= excess)
        }
        if let multiple {
            let value = stet.median / other.median
            return (value, value <= multiple)
        }
        guard let ratio, let value = speed(of: stet, beside: other) else { return (nil, false) }
        return (value, value >= ratio)
    }
}
