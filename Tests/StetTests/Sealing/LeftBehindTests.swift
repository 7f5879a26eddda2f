import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Model private final class Owner {
    var name: String

    init(_ name: String) { self.name = name }
}

@Model private final class Note {
    var owner: Owner?
    @Attribute(.sealed(by: \.owner)) var text: Sealed<String>?
    var title: String = ""

    init(of owner: Owner) { self.owner = owner }
}

/// Values that a revert has left sealed by the key of an earlier owner.
@Suite struct LeftBehindTests {
    private let directory = TemporaryDirectory()
    private let keys: KeyFile
    private let store: Store

    init() async throws {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
        var configuration = Store.Configuration()
        configuration.keys = keys
        store = try Store.open(
            at: directory.file(), for: Owner.self, Note.self, configuration: configuration)
    }

    /// Leaves a note that refers to the second owner, whose text is sealed by the first one.
    private func leave() async throws -> (note: ObjectID, first: ObjectID, second: ObjectID) {
        let context = store.context()
        let (ada, grace) = (Owner("Ada"), Owner("Grace"))
        let note = Note(of: ada)
        note.text = Sealed("flu")
        context.insert(note)
        context.insert(grace)
        try await context.save()
        note.text = nil
        let revision = try #require(try await context.save()).revision
        note.owner = grace
        try await context.save()
        try await store.revert(revision, author: "doctor")
        #expect(try owner(of: note.id) == ada.id)
        return (note.id, ada.id, grace.id)
    }

    private func owner(of note: ObjectID) throws -> ObjectID? {
        try store.object(Note.self, id: note)?.text?.bytes.place?.owner
    }

    @Test func anOwnerWithoutAKeyGetsOne() async throws {
        let (note, _, second) = try await leave()
        #expect(try keys.presentVersion(of: second) == nil)
        #expect(try await store.sealAnew(by: second) == 1)
        #expect(try owner(of: note) == second)
        #expect(try store.object(Note.self, id: note)?.text?.value == "flu")
        #expect(try await store.sealAnew(by: second) == 0)
        try keys.destroyKey(of: second)
        #expect(try store.object(Note.self, id: note)?.text?.isErased == true)
        #expect(try store.verify().problems == [])
    }

    @Test func anOwnerWithoutOtherValuesKeepsItsKey() async throws {
        let context = store.context()
        let owner = Owner("Ada")
        let note = Note(of: owner)
        note.text = Sealed("flu")
        context.insert(note)
        try await context.save()
        // An owner that nothing is sealed by gets no key.
        #expect(try await store.sealAnew(by: ObjectID()) == 0)
        #expect(try keys.presentVersion(of: ObjectID()) == nil)
        #expect(try await store.sealAnew(by: owner.id) == 0)
    }

    @Test func aValueThatDoesNotOpenStaysWhereItIs() async throws {
        let (note, first, second) = try await leave()
        try keys.destroyKey(of: first)
        #expect(try await store.sealAnew(by: second) == 0)
        #expect(try owner(of: note) == first)
        #expect(try keys.presentVersion(of: second) == nil)
    }
}
