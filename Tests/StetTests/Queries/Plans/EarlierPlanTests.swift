import Stet
import StetTestSupport
import Testing

/// The models of this file.
enum Discs {
    @Model final class Album {
        @Attribute(.indexed) var name: String
        @Relationship(inverse: \Track.album) var tracks: ToMany<Track>

        init(_ name: String) { self.name = name }
    }

    @Model final class Track {
        #Index<Track>(\.genre, \.title)
        #Index<Track>(\.title, where: { $0.plays > 1_000 })
        @Attribute(.indexed) var title: String
        @Attribute(.searchable) var words: String
        @Attribute(.searchable) var notes: String = ""
        var genre: String
        var plays: Int
        var album: Album?
        @Relationship(inverse: \Track.covers) var covered: ToMany<Track>
        var covers: ToMany<Track>

        init(_ number: Int) {
            title = "track \(number)"
            words = "song \(number)"
            genre = "genre \(number % 5)"
            plays = number
        }
    }
}

private enum First {
    @Model final class Entry {
        @Attribute(.indexed) var code: String
        @Attribute(.indexed) var label: String

        init(_ code: String, _ label: String) { (self.code, self.label) = (code, label) }
    }
}

private enum Second {
    @Model final class Entry {
        @Attribute(.indexed) var label: String

        init(_ label: String) { self.label = label }
    }
}

/// Queries of an earlier revision use the indexes for all objects in which they still describe it.
@Suite struct EarlierPlanTests {
    private typealias Album = Discs.Album
    private typealias Track = Discs.Track

    private let store: Store

    init() throws { store = try Store.inMemory(for: Discs.Track.self, Discs.Album.self) }

    /// Inserts 400 tracks on 4 albums, of which the later ones cover earlier ones.
    private func insertTracks() throws {
        let context = store.context()
        let albums = (0..<4).map { Album("album \($0)") }
        let tracks = (0..<400).map(Track.init)
        for object in albums { context.insert(object) }
        for (number, track) in tracks.enumerated() {
            context.insert(track)
            track.album = albums[number % 4]
            for divisor in 2...9 where number > 0 && number.isMultiple(of: divisor) {
                track.covered.append(tracks[number / divisor])
            }
        }
        try context.save()
    }

    private func change(_ edit: (Track) throws -> Void) throws {
        let context = store.context()
        for track in try context.fetch(Track.self).all() { try edit(track) }
        try context.save()
    }

    private func readCount(_ query: SnapshotFetch<Track>) throws -> Int {
        let analysis = try query.explain(analyze: true)
        let match = try #require(analysis.firstMatch(of: #/after reading (\d+) records/#))
        return try #require(Int(match.1))
    }

    // MARK: Costs

    /// A query that does not read how often tracks were played.
    enum Question: CaseIterable {
        case title, page, covering, covered, mostCovered, album, word

        func query(_ all: SnapshotFetch<Discs.Track>) -> SnapshotFetch<Discs.Track> {
            switch self {
            case .title: all.filter { $0.title == "track 77" }
            case .page: all.filter { $0.genre == "genre 3" }.sorted(by: \.title).limit(5)
            case .covering: all.filter { $0.covered.any { $0.title == "track 10" } }
            case .covered: all.filter { $0.covers.count > 5 }
            case .mostCovered: all.sorted(by: { $0.covers.count }, .descending).limit(3)
            case .album: all.filter { $0.album?.name == "album 2" }
            case .word: all.matching("77")
            }
        }
    }

    @Test(arguments: Question.allCases)
    func changesOfWhatAQueryDoesNotReadCostItNothing(question: Question) throws {
        try insertTracks()
        let present = question.query(store.fetch(Track.self))
        let (expected, count) = (try present.all().map(\.title), try readCount(present))
        try change { $0.plays += 1 }
        let former = question.query(try store.view(asOf: 1).fetch(Track.self))
        #expect(try former.all().map(\.title) == expected)
        #expect(try readCount(former) <= count)
    }

    @Test func onlyOwnersOfChangedListsAreCountedOneByOne() throws {
        try insertTracks()
        let query = { (all: SnapshotFetch<Track>) in all.filter { $0.covers.count > 5 } }
        let expected = try query(store.fetch(Track.self)).all().map(\.title)
        let count = try readCount(query(store.fetch(Track.self)))
        let context = store.context()
        let last = try #require(
            try context.fetch(Track.self) { $0.title == "track 360" }.first())
        let changed = last.covered.count
        last.covered = ToMany()
        try context.save()
        #expect(changed == 7)
        let view = try store.view(asOf: 1)
        #expect(try query(view.fetch(Track.self)).all().map(\.title) == expected)
        #expect(try readCount(query(view.fetch(Track.self))) <= count + 20)
    }

    @Test func changesOfLinksThatWereTrimmedAreNotCounted() throws {
        try insertTracks()
        let context = store.context()
        try change { $0.covered = ToMany() }
        try change { $0.plays += 1 }
        #expect(try context.fetch(Track.self) { $0.title == "track 7" }.count() == 1)
        try store.requestTrim(before: 3).confirm()
        let error = try #require(throws: StoreError.self) {
            try context.fetch(Track.self) { $0.covers.count > 5 }.count()
        }
        #expect(error.code == .snapshotTooOld)
        try context.refresh()
        #expect(try context.fetch(Track.self) { $0.covers.count > 5 }.count() == 0)
    }

    // MARK: Results

    @Test func whatAQueryReadsIsThatOfTheRevision() throws {
        try insertTracks()
        try change { track in
            track.plays += 1_000
            track.words += " again"
            if track.genre == "genre 3" { track.genre = "genre 4" }
        }
        try change { $0.notes = "track" }
        let (first, second) = (try store.view(asOf: 1), try store.view(asOf: 2))
        #expect(try first.fetch(Track.self) { $0.genre == "genre 3" }.count() == 80)
        #expect(try second.fetch(Track.self) { $0.genre == "genre 3" }.count() == 0)
        #expect(try first.fetch(Track.self).matching("again").count() == 0)
        #expect(try second.fetch(Track.self).matching("again").count() == 400)
        #expect(try second.fetch(Track.self).matching("track").count() == 0)
        #expect(try first.fetch(Track.self) { $0.plays > 1_000 }.values(of: \.title) == [])
        // The index has the title, which has not changed, and the genre, which has.
        let genres = try first.fetch(Track.self) { $0.title == "track 3" }.values(of: \.genre)
        #expect(genres == ["genre 3"])
        let titles = first.fetch(Track.self) { $0.genre == "genre 3" && $0.title > "track 39" }
        #expect(
            try titles.sorted(by: \.title).values(of: \.title, \.genre).map(\.0) == [
                "track 393", "track 398", "track 43", "track 48", "track 53", "track 58",
                "track 63", "track 68", "track 73", "track 78", "track 8", "track 83", "track 88",
                "track 93", "track 98",
            ])
    }

    @Test func entriesShowNoValuesThatHaveChanged() throws {
        try insertTracks()
        try change { $0.title = "new \($0.title)" }
        let view = try store.view(asOf: 1)
        let ofGenre = view.fetch(Track.self) { $0.genre == "genre 3" }
        #expect(
            try Set(ofGenre.values(of: \.title))
                == Set(stride(from: 3, to: 400, by: 5).map { "track \($0)" }))
        #expect(
            try ofGenre.sorted(by: \.plays).limit(2).values(of: \.title) == ["track 3", "track 8"])
        #expect(try ofGenre.min(\.title) == "track 103")
    }

    /// The numbers of members at one revision, by titles of tracks and names of albums.
    private struct Numbers {
        var covers: [String: Int] = [:]
        var tracks: [String: Int] = [:]

        init() {}

        init(_ context: ManagedContext) throws {
            for track in try context.fetch(Track.self).all() {
                covers[track.title] = track.covers.count
            }
            for album in try context.fetch(Album.self).all() {
                tracks[album.name] = album.tracks.count
            }
        }
    }

    /// Inserts, links, moves and deletes tracks and albums at random.
    private func edit(
        _ context: ManagedContext, round: Int, _ random: inout SeededGenerator
    ) throws {
        func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
        let added = (0..<8).map { Track(round * 100 + $0) }
        let album = Album("album \(round)")
        let tracks = try context.fetch(Track.self).all() + added
        let albums = try context.fetch(Album.self).all() + [album]
        for object in added { context.insert(object) }
        context.insert(album)
        for _ in 0..<20 {
            let track = try #require(tracks.randomElement(using: &random))
            let other = try #require(tracks.randomElement(using: &random))
            if track.covered.contains(other) {
                track.covered.remove(other)
            } else {
                track.covered.append(other)
            }
            track.album = chance(5) ? nil : albums.randomElement(using: &random)
        }
        for track in tracks where chance(30) { context.delete(track) }
        if chance(4) { context.delete(albums[0]) }
        try context.save()
    }

    @Test(arguments: 1...4)
    func numbersOfMembersAreThoseOfTheRevision(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let context = store.context()
        var states = [Numbers()]
        for round in 0..<12 {
            try edit(context, round: round, &random)
            states.append(try Numbers(context))
        }
        for (number, state) in states.enumerated() {
            let view = try store.view(asOf: Revision(UInt64(number)))
            for least in [0, 1, 2, 4] {
                let tracks = view.fetch(Track.self) { $0.covers.count > least }
                let covers = state.covers.filter { $0.value > least }
                #expect(try Set(tracks.values(of: \.title)) == Set(covers.keys))
                #expect(try tracks.count() == covers.count)
                // A sum is computed for each.
                let computed = view.fetch(Track.self) { $0.covers.count + 0 > least }
                #expect(try Set(computed.values(of: \.title)) == Set(covers.keys))
                let albums = view.fetch(Album.self) { $0.tracks.count > least }
                #expect(
                    try Set(albums.values(of: \.name))
                        == Set(state.tracks.filter { $0.value > least }.keys))
            }
            let most = view.fetch(Track.self).sorted(by: { $0.covers.count }, .descending)
                .then(by: \.title).limit(6)
            let covers = state.covers.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            #expect(try most.values(of: \.title) == covers.prefix(6).map(\.key))
            let largest = view.fetch(Album.self).sorted(by: { $0.tracks.count }, .descending)
                .then(by: \.name).limit(2)
            let tracks = state.tracks.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            #expect(try largest.values(of: \.name) == tracks.prefix(2).map(\.key))
        }
    }

    @Test func commitsOfAnEarlierSchemaNumberSlotsDifferently() throws {
        let directory = TemporaryDirectory()
        let first = try Store.open(at: directory.file(), for: First.Entry.self)
        let context = first.context()
        let entry = First.Entry("a", "former")
        context.insert(entry)
        try context.save()
        entry.label = "latter"
        try context.save()
        first.close()
        let second = try Store.open(at: directory.file(), for: Second.Entry.self)
        let view = try second.view(asOf: 1)
        #expect(try view.fetch(Second.Entry.self) { $0.label == "former" }.count() == 1)
        #expect(try view.fetch(Second.Entry.self) { $0.label == "latter" }.count() == 0)
        second.close()
    }
}
