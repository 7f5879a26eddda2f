import Foundation
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

private enum Mood: String, RawAttribute { case good }

@Model private final class Secretive {
    var mood: Mood = Mood.good
    @Attribute(.unique) var code: String = ""
    @Attribute(.matches("[0-9]+")) var digits: String = "1"
    @Attribute(.oneOf("a", "b")) var letter: String = "a"
    @Attribute(.length(...40)) var short: String = ""
    @Attribute(.range(...5)) var number: Int = 0

    init() {}
}

/// The texts of errors: they contain no values of a user, except on request.
@Suite struct ErrorTextTests {
    private let directory = TemporaryDirectory()
    private static let secret = "marker-of-a-secret"

    private func open() throws -> Store {
        try Store.open(at: directory.file(), for: Secretive.self)
    }

    private func expectSilence(_ error: any Error) {
        let text = "\(error) \(error.localizedDescription)"
        #expect(!text.contains(Self.secret), "\(text)")
        #expect(!text.contains("4711471147110"), "\(text)")
    }

    @Test func violationsNameNoValues() throws {
        let context = try open().context()
        for _ in 0..<2 {
            let object = Secretive()
            object.code = Self.secret
            object.digits = Self.secret
            object.letter = Self.secret
            object.short = String(repeating: Self.secret, count: 4)
            object.number = 4_711_471_147_110
            context.insert(object)
        }
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.count == 10)
        expectSilence(error)
    }

    @Test func conflictsNameTheirValuesOnlyWhenTheyAreAskedFor() throws {
        let store = try open()
        let (one, other) = (store.context(), store.context())
        let object = Secretive()
        one.insert(object)
        try one.save()
        try other.refresh()
        try #require(try other.object(Secretive.self, id: object.id)).code = Self.secret + "2"
        object.code = Self.secret
        try one.save()
        let error = try #require(throws: ConflictError.self) { try other.save() }
        expectSilence(error)
        #expect("\(error)".contains("code was changed here and in the store"))
        #expect(String(reflecting: error).contains("here \"\(Self.secret)2\""))
        #expect(String(reflecting: error).contains("in the store \"\(Self.secret)\""))
    }

    @Test func conflictsOfAnUndoNameTheirValuesOnlyWhenTheyAreAskedFor() throws {
        let store = try open()
        let context = store.context(author: "a")
        let object = Secretive()
        object.code = Self.secret + "1"
        context.insert(object)
        try context.save()
        object.code = Self.secret + "2"
        try context.save()
        let other = store.context(author: "b")
        try #require(try other.object(Secretive.self, id: object.id)).code = Self.secret + "3"
        try other.save()
        let error = try #require(throws: UndoConflictError.self) { try store.undo(author: "a") }
        expectSilence(error)
        #expect(
            "\(error)".contains(
                "code of Secretive \(object.id) has since been changed by commit 3 of b"))
        let asked = String(reflecting: error)
        for number in 1...3 { #expect(asked.contains("\"\(Self.secret)\(number)\"")) }

        // Another object takes the released value.
        try #require(try other.object(Secretive.self, id: object.id)).code = "free"
        let taker = Secretive()
        taker.code = Self.secret + "1"
        other.insert(taker)
        try other.save()
        let taken = try #require(throws: UndoConflictError.self) {
            try store.undo(author: "a", policy: .overwrite)
        }
        expectSilence(taken)
        #expect("\(taken)".contains("would have a value that Secretive \(taker.id) has by now"))
        #expect(String(reflecting: taken).contains("\"\(Self.secret)1\""))
    }

    @Test func aValueThatMeansNothingToItsTypeIsNotNamed() throws {
        let store = try open()
        let file = store.file
        let id = ObjectID()
        var changes = ChangeSetBuilder(schema: file.schema)
        let after = changes.encode(entity: 1) { writer in
            writer.write([
                .string(Self.secret), .string("c"), .string("1"), .string("a"), .string(""),
                .int(0),
            ])
        }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: id, base: .zero, before: 0..<0, after: after))
        _ = try file.commit(
            changes.encoded(attributes: CommitAttributes(), base: .zero, token: 1, time: 0))
        let error = try #require(throws: StoreError.self) {
            try store.context().object(Secretive.self, id: id)
        }
        #expect(error.code == .unreadableValue)
        #expect(
            error.message
                == "Secretive.mood of object \(id) has a value that is not valid for its type.")
        expectSilence(error)
    }

    @Test func textThatIsNoIDIsNotNamed() throws {
        let json = Data("[\"\(Self.secret)\"]".utf8)
        let error = try #require(throws: DecodingError.self) {
            try JSONDecoder().decode([ObjectID].self, from: json)
        }
        expectSilence(error)
    }

    @Test func aChangeSetThatDoesNotFitNamesNoValues() throws {
        let context = try open().context()
        let object = Secretive()
        context.insert(object)
        try context.save()
        let changes = ChangeSet(changes: [
            ObjectChange(
                entity: "Secretive", id: object.id, kind: .update,
                properties: [
                    PropertyChange(name: "number", old: .int(0), new: .string(Self.secret)),
                    PropertyChange(
                        name: "mood", old: .string("good"), new: .int(4_711_471_147_110)),
                ])
        ])
        let error = try #require(throws: ChangeSetError.self) { try context.apply(changes) }
        #expect(error.problems.count == 2)
        expectSilence(error)
    }
}
