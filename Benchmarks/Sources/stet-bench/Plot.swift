import FoundationEssentials
import Glibc

/// Figures over sizes, as a picture with a logarithmic axis of sizes and as a table.
struct Plot {
    /// The values of one line of the plot.
    struct Series {
        let name: String
        let points: [Point]
    }

    /// A figure of a size; the bar goes from `min` to `max`.
    struct Point {
        let size: Int
        let median: Double
        let min: Double
        let max: Double

        init(_ size: Int, _ figure: Figure) {
            (self.size, median, min, max) = (size, figure.median, figure.min, figure.max)
        }
    }

    let title: String
    /// The quantity that the sizes count.
    let sizes: String
    let unit: String
    let series: [Series]

    /// Writes the picture and, beside it, the table.
    func write(to directory: String, as name: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        for (kind, text) in [("svg", picture), ("md", table(name))] {
            try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(name).\(kind)"))
        }
    }

    // MARK: Table

    private func table(_ name: String) -> String {
        var lines = [
            "# \(title)", "", "![\(title)](\(name).svg)", "",
            "| | \(sizes) | median, \(unit) | min | max |", "|---|--:|--:|--:|--:|",
        ]
        for series in series {
            for point in series.points {
                let figures = [point.median, point.min, point.max].map(number)
                lines.append(
                    "| \(series.name) | \(point.size) | \(figures.joined(separator: " | ")) |")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Picture

    private static let colours = [
        "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
        "#17becf",
    ]
    private static let (width, height) = (640.0, 360.0)
    private static let (left, right, top, bottom) = (70.0, 160.0, 60.0, 50.0)

    private var points: [Point] { series.flatMap(\.points) }

    private func x(_ size: Int) -> Double {
        let logarithms = points.map { log10(Double($0.size)) }
        guard let first = logarithms.min(), let last = logarithms.max(), first < last else {
            return Self.left
        }
        let part = (log10(Double(size)) - first) / (last - first)
        return Self.left + part * (Self.width - Self.left - Self.right)
    }

    private func y(_ value: Double) -> Double {
        let part = value / highest
        return Self.height - Self.bottom - part * (Self.height - Self.top - Self.bottom)
    }

    /// The value of the topmost line of the grid.
    private var highest: Double {
        ((points.map(\.max).max() ?? 1) / step).rounded(.up) * step
    }

    /// Between two lines of the grid: 1, 2 or 5 times a power of ten, at most six of them.
    private var step: Double {
        let highest = Swift.max(points.map(\.max).max() ?? 1, .leastNormalMagnitude)
        let power = pow(10, log10(highest / 6).rounded(.down))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 * 6 >= highest } ?? highest
    }

    private var picture: String {
        let (width, height) = (Int(Self.width), Int(Self.height))
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" \
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            """,
            text(title, Self.left, 22, size: 14),
            text("\(sizes) (logarithmic)", Self.left, Self.height - 12),
        ]
        parts += grid
        for (index, series) in series.enumerated() {
            parts += line(series, Self.colours[index % Self.colours.count], row: index)
        }
        return parts.joined(separator: "\n") + "\n</svg>\n"
    }

    private var grid: [String] {
        let end = Self.width - Self.right
        let values = (0...Int((highest / step).rounded())).map { Double($0) * step }
        let rows = values.flatMap { value in
            [
                segment(Self.left, y(value), end, y(value), "#dddddd"),
                text(number(value), Self.left - 6, y(value) + 4, anchor: "end"),
            ]
        }
        let columns = Set(points.map(\.size)).sorted().map { size in
            text("\(size)", x(size), Self.height - Self.bottom + 18, anchor: "middle")
        }
        return rows + columns + [text(unit, Self.left, Self.top - 12)]
    }

    private func line(_ series: Series, _ colour: String, row: Int) -> [String] {
        let corners = series.points.map { "\(number(x($0.size))),\(number(y($0.median)))" }
        var parts = [
            """
            <polyline points="\(corners.joined(separator: " "))" fill="none" \
            stroke="\(colour)" stroke-width="2"/>
            """
        ]
        for point in series.points {
            let x = x(point.size)
            parts.append(segment(x, y(point.min), x, y(point.max), colour))
            parts.append(
                """
                <circle cx="\(number(x))" cy="\(number(y(point.median)))" r="3" fill="\(colour)"/>
                """)
        }
        let place = Self.top + Double(row) * 18
        let edge = Self.width - Self.right
        parts.append(segment(edge + 10, place, edge + 30, place, colour))
        return parts + [text(series.name, edge + 36, place + 4)]
    }

    private func segment(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String
    ) -> String {
        """
        <line x1="\(number(x1))" y1="\(number(y1))" x2="\(number(x2))" y2="\(number(y2))" \
        stroke="\(colour)"/>
        """
    }

    private func text(
        _ text: String, _ x: Double, _ y: Double, anchor: String = "start", size: Int = 12
    ) -> String {
        let escaped = text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;"][$0] ?? "\($0)" }
        return """
            <text x="\(number(x))" y="\(number(y))" text-anchor="\(anchor)" \
            font-size="\(size)">\(escaped.joined())</text>
            """
    }
}
