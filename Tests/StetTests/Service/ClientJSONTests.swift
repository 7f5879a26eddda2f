import Foundation
import Stet
import StetTestSupport
import StetTesting
import Testing

@Model private final class Song {
    var title: String
    var rating: Int = 0
    var price: Double = 0
    var made: Date?
    var album: Album?
    @Relationship var tags: ToMany<Label>
    var lines: OrderedToMany<Label>

    init(title: String) { self.title = title }
}

@Model private final class Album {
    var name: String
    init(name: String) { self.name = name }
}

@Model private final class Label {
    @Attribute(.notEmpty, .unique) var name: String
    init(name: String) { self.name = name }
}

/// The JSON of changes, commits and violations, which the page "JSON for clients" promises.
@Suite struct ClientJSONTests {
    private let store: Store
    private let encoder = JSONEncoder()

    init() throws {
        var configuration = Store.Configuration(clock: TestClock())
        configuration.mapByteCount = 1 << 28
        store = try Store.inMemory(
            for: Song.self, Album.self, Label.self, configuration: configuration)
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
    }

    private func json(_ value: some Encodable) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test("Service 5 an update has the old and the new value of each property by name")
    func updates() throws {
        let context = store.context(author: "ann")
        let song = Song(title: "a")
        context.insert(song)
        try context.save()
        song.title = "b"
        song.price = 2.5
        song.made = Date(timeIntervalSinceReferenceDate: 0)
        let commit = try #require(try context.save("rename"))
        let properties = """
            {"made":{"new":{"date":"2001-01-01T00:00:00Z"},"old":null},\
            "price":{"new":{"double":2.5},"old":{"double":0}},"title":{"new":"b","old":"a"}}
            """
        let change = """
            {"entity":"Song","id":"\(song.id)","kind":"update","properties":\(properties)}
            """
        #expect(try json(commit.changeSet) == #"{"changes":[\#(change)]}"#)
        #expect(try commit.changes(of: Song.self).map(json) == [change])
        #expect(
            try json(commit) == """
                {"author":"ann","cause":"edit","changes":[\(change)],"hash":"\(commit.hash)",\
                "id":\(try json(commit.id)),"label":"rename","revision":2,\
                "time":"2001-01-01T00:00:00Z"}
                """)
    }

    @Test("Service 5 insertions have new values, deletions old ones, relationships their members")
    func insertionsDeletionsAndMembers() throws {
        let context = store.context()
        let (song, label) = (Song(title: "a"), Label(name: "x"))
        song.tags = [label]
        context.insert(song)
        let inserted = try #require(try context.save()).changeSet
        let changed = try #require(inserted.changes.first { $0.id == song.id })
        #expect(
            try json(changed) == """
                {"entity":"Song","id":"\(song.id)","kind":"insert","properties":{"album":{},\
                "made":{},"price":{"new":{"double":0}},"rating":{"new":0},"title":{"new":"a"}},\
                "relationships":{"tags":{"added":["\(label.id)"]}}}
                """)
        context.delete(label)
        let deleted = try #require(try context.save()).changeSet
        let lost = try #require(deleted.changes.first { $0.id == label.id })
        #expect(
            try json(lost) == """
                {"entity":"Label","id":"\(label.id)","kind":"delete",\
                "properties":{"name":{"old":"x"}}}
                """)
    }

    @Test("Service 5 what is encoded is decoded as an equal change set, also with positions")
    func roundTrips() throws {
        let context = store.context()
        let song = Song(title: "a")
        song.album = Album(name: "b")
        song.lines = [Label(name: "x"), Label(name: "y")]
        song.made = Date(timeIntervalSinceReferenceDate: 0.123_456_789)
        context.insert(song)
        try context.save()
        song.lines.move(from: 0, to: 1)
        song.lines.append(Label(name: "z"))
        song.rating = -3
        let set = context.changes
        let coded = try JSONEncoder().encode(set)
        #expect(try JSONDecoder().decode(ChangeSet.self, from: coded) == set)
        let other = store.context()
        try other.apply(try JSONDecoder().decode(ChangeSet.self, from: coded))
        try other.save()
        let copy = try #require(try other.object(Song.self, id: song.id))
        #expect(copy.rating == -3)
        #expect(copy.lines.map(\.name) == ["y", "x", "z"])
    }

    @Test("Service 5 values are themselves, or an object with the name of their type")
    func values() throws {
        let id = try #require(ObjectID("01890a5d-ac96-774b-bcce-b302099a8057"))
        let values: [(Value, String)] = [
            (.null, "null"), (.bool(true), "true"), (.int(-3), "-3"), (.string("a"), #""a""#),
            (.list([.int(1), .null]), "[1,null]"), (.uint(3), #"{"uint":3}"#),
            (.double(3), #"{"double":3}"#), (.double(.nan), #"{"double":"7ff8000000000000"}"#),
            (.decimal(Decimal(string: "1.10")!), #"{"decimal":"1.1"}"#),
            (.data(Data([1, 2])), #"{"data":"AQI="}"#),
            (.reference(id), #"{"reference":"\#(id)"}"#),
            (.codable(#"{"x":1}"#), #"{"codable":"{\"x\":1}"}"#),
            (
                .dictionary([.string("k"): .int(1)]),
                #"{"dictionary":[{"key":"k","value":1}]}"#
            ),
            (.date(Date(timeIntervalSinceReferenceDate: 0)), #"{"date":"2001-01-01T00:00:00Z"}"#),
        ]
        for (value, text) in values { #expect(try json(value) == text) }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Value].self, from: Data(#"[{"int":1}]"#.utf8))
        }
    }

    @Test("Service 5 a violation has what a client needs, and comes back as it was")
    func violations() throws {
        let context = store.context()
        let label = Label(name: "")
        context.insert(label)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        let violation = try #require(error.violations.first)
        #expect(
            try json(violation) == """
                {"code":{"domain":"Stet","number":1670},"entity":"Label",\
                "message":"name can't be empty","object":"\(label.id)","operation":"insert",\
                "order":[0,0],"property":"name","rule":".notEmpty",\
                "sentence":{"key":"{property} can't be empty","properties":[]},"value":""}
                """)
        let back = try JSONDecoder().decode(Violation.self, from: encoder.encode(violation))
        #expect(back == violation)
        #expect(back.message(in: .simplifiedChinese) == "name不能为空")
        let own = Violation(entity: "Label", property: "name", message: "no such name")
        #expect(
            try json(own) == """
                {"code":{"domain":"Stet","number":1550},"entity":"Label",\
                "message":"no such name","property":"name"}
                """)
    }

    @Test("Service 5 a client's JSON needs only entity, id, kind and the values that change")
    func handwrittenChanges() throws {
        let context = store.context()
        let song = Song(title: "a")
        context.insert(song)
        try context.save()
        let text = """
            {"changes":[{"entity":"Song","id":"\(song.id)","kind":"update",
              "properties":{"title":{"old":"a","new":"c"}}}]}
            """
        try context.apply(try JSONDecoder().decode(ChangeSet.self, from: Data(text.utf8)))
        #expect(song.title == "c")
    }
}
