import Foundation
import StetTestSupport
import Testing

@testable import Stet
@testable import StetStore

@Model private final class Stamped {
    @Attribute(.stamped(.insert)) var made: Date
    @Derived var since: Date { made }
    var text: String

    init(_ text: String) { self.text = text }
}

/// New objects whose bodies are copied without a header, sealed or with derived values, behind
/// those of an object that was edited and has not changed: these may be as long as a header.
struct EntryLayoutOfSavesTests {
    @Test func aSealedObjectBehindAnUnchangedOneHasItsOwnHeader() async throws {
        let clinic = try await Clinic()
        var damaged: [Int] = []
        for count in 1...160 {
            let context = clinic.store.context(author: "doctor")
            let old = Client(name: String(repeating: "a", count: count))
            context.insert(old)
            try await context.save()
            old.ward = 1
            old.ward = 0
            let new = Client(name: "b")
            context.insert(new)
            do {
                let commit = try #require(try await context.save())
                if commit.changeSet.changes.map(\.id) != [new.id] { damaged.append(count) }
                let read = try clinic.store.file.read { try $0.commit(commit.revision) }
                if read.changeSet.changes.map(\.id) != [new.id] { damaged.append(count) }
            } catch {
                damaged.append(count)
            }
        }
        #expect(damaged == [])
        #expect(try clinic.store.file.verify().problems.isEmpty)
    }

    @Test func anObjectWithADerivedValueBehindAnUnchangedOneHasItsOwnHeader() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Stamped.self)
        var damaged: [Int] = []
        for count in 1...160 {
            let context = store.context(author: "me")
            let old = Stamped(String(repeating: "a", count: count))
            context.insert(old)
            try context.save()
            old.text = "b"
            old.text = String(repeating: "a", count: count)
            for other in 0..<2 {
                let new = Stamped(String(repeating: "b", count: other))
                context.insert(new)
                do {
                    let commit = try #require(try context.save())
                    let read = try store.file.read { try $0.commit(commit.revision) }
                    if read.changeSet.changes.map(\.id) != [new.id] { damaged.append(count) }
                } catch {
                    damaged.append(count)
                }
            }
        }
        #expect(damaged == [])
        #expect(try store.verify().problems.isEmpty)
    }
}
