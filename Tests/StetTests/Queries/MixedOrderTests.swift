import Stet
import StetTestSupport
import Testing

@Model private final class Track {
    #Index<Track>(\.album, \.plays, \.title)
    var album: String
    var plays: Int
    var title: String

    init(_ album: String, _ plays: Int, _ title: String) {
        self.album = album
        self.plays = plays
        self.title = title
    }
}

/// Orders in which one property ascends and another descends, with groups of all sizes: an index
/// is read in another way where a group has more than 64 objects or texts that do not fit.
@Suite struct MixedOrderTests {
    private struct Line: Hashable, CustomStringConvertible {
        let plays: Int
        let title: String
        var description: String { "\(plays) \(title.prefix(4))\(title.count)" }
    }

    /// The number of tracks with 0, 1, 2 … plays.
    private static let sizes = [3, 63, 1, 64, 65, 0, 2, 130, 5]

    private let directory = TemporaryDirectory()
    private let context: ManagedContext
    private let lines: [Line]

    init() throws {
        context = try Store.open(at: directory.file(), for: Track.self).context()
        var lines: [Line] = []
        for (plays, size) in Self.sizes.enumerated() {
            for place in 0..<size {
                // Some titles differ only behind the end of their entries.
                let isLong = plays == 2 || plays == 6 || place == 62
                let start = isLong ? String(repeating: "x", count: 600) : ""
                lines.append(Line(plays: plays, title: "\(start)\(place * 37 % 131 + 1_000)"))
            }
        }
        for line in lines { context.insert(Track("A", line.plays, line.title)) }
        for plays in [0, 4, 8] { context.insert(Track("B", plays, "other")) }
        try context.save()
        self.lines = lines
    }

    private func sorted(_ plays: SortDirection, _ title: SortDirection) -> [Line] {
        lines.sorted { one, other in
            if one.plays != other.plays {
                return (one.plays < other.plays) == (plays == .ascending)
            }
            return (one.title < other.title) == (title == .ascending)
        }
    }

    private static let directions: [(SortDirection, SortDirection)] = [
        (.ascending, .descending), (.descending, .ascending),
    ]

    @Test("a part of a mixed order has the first objects", arguments: directions)
    func limitsAndOffsets(plays: SortDirection, title: SortDirection) throws {
        let query = context.fetch(Track.self) { $0.album == "A" }
            .sorted(by: \.plays, plays).then(by: \.title, title)
        let expected = sorted(plays, title)
        #expect(try query.limit(9).explain().hasPrefix("walk index (album, plays, title)"))
        for (offset, limit) in [(0, 1), (0, 64), (0, 70), (60, 90), (130, 140), (0, 400)] {
            let found = try query.offset(offset).limit(limit).values(of: \.plays, \.title)
                .map { Line(plays: $0, title: $1) }
            #expect(found == Array(expected.dropFirst(offset).prefix(limit)))
        }
    }

    @Test("pages of a mixed order have each object once", arguments: directions)
    func pages(plays: SortDirection, title: SortDirection) throws {
        let query = context.fetch(Track.self) { $0.album == "A" }
            .sorted(by: \.plays, plays).then(by: \.title, title)
        for size in [7, 66] {
            var found: [Line] = []
            var last: Track?
            while true {
                let page = try (last.map { query.after($0) } ?? query).limit(size).all()
                found += page.map { Line(plays: $0.plays, title: $0.title) }
                last = page.last
                if page.count < size { break }
            }
            #expect(found == sorted(plays, title))
        }
    }

    @Test("a range of a mixed order has no other objects", arguments: directions)
    func ranges(plays: SortDirection, title: SortDirection) throws {
        for least in Self.sizes.indices {
            let query = context.fetch(Track.self) {
                $0.album == "A"
                $0.plays >= least
                $0.plays < 7
            }
            let found = try query.sorted(by: \.plays, plays).then(by: \.title, title)
                .limit(1_000).values(of: \.plays, \.title).map { Line(plays: $0, title: $1) }
            #expect(found == sorted(plays, title).filter { $0.plays >= least && $0.plays < 7 })
        }
    }
}
