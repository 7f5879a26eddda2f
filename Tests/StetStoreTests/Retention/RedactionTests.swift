import Foundation
import StetLMDB
import StetStore
import Testing

/// Values that are taken out of the journal: nothing else changes, and the chain still verifies.
struct RedactionTests {
    private let library: Library
    private let article = ObjectKey(Number.article, 101)
    private let other = ObjectKey(Number.article, 102)
    private let title: Slot = 0
    private let body: Slot = 3
    private let cover: Slot = 7

    init() throws { library = try Library() }

    private var file: StoreFile { library.file }

    private func values(_ title: String, body: String? = nil, cover: Data? = nil) -> [Value] {
        var values = [Value](repeating: .null, count: Entity.article.properties.count)
        values[0] = .string(title)
        values[1] = .int(1)
        values[3] = body.map(Value.string) ?? .null
        values[7] = cover.map(Value.data) ?? .null
        return values
    }

    private func save(_ key: ObjectKey, _ values: [Value]?, author: String? = "a") throws {
        try library.commit([library.edit(key, values)], EditNote(author: author))
    }

    @discardableResult
    private func redact(_ slots: Slot..., of key: ObjectKey? = nil) throws -> RedactionPlan {
        let key = key ?? article
        let request = RedactionRequest(entity: key.entity, object: key.id, slots: slots)
        let plan = try file.redactionPlan(request)
        let done = try file.redact(request)
        #expect(plan == done)
        #expect(try file.verify().problems == [])
        // A second redaction has nothing to do.
        #expect(try file.redact(request).revisions == [])
        return done
    }

    private func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
        thrown(StoreError.self, body)?.code
    }

    private func history(_ key: ObjectKey) throws -> [String] {
        try file.read { try $0.history(ofEntity: key.entity, key.id) }.map { change in
            change.change.properties.filter { ["title", "body", "cover"].contains($0.name) }
                .map { "\($0.name) \($0.oldText)>\($0.newText)" }.joined(separator: " ")
        }
    }

    /// Returns whether a text occurs anywhere in the tables of the store.
    private func isStored(_ text: String) throws -> Bool {
        let data = Data(text.utf8)
        return try file.dump().values.contains { table in
            table.contains {
                Data($0.key).range(of: data) != nil || Data($0.value).range(of: data) != nil
            }
        }
    }

    @Test func allImagesOfAPropertyGoAndEverythingElseStays() throws {
        try save(article, values("secret one", body: "kept"))
        try save(article, values("secret two", body: "kept"))
        try save(article, values("secret two", body: "also kept"))
        try save(article, values("public", body: "also kept"))
        let hashes = library.commits.map(\.hash)
        let plan = try redact(title)
        #expect(plan.revisions == [4, 2, 1])
        #expect(plan.valueCount == 4)
        #expect(
            try history(article) == [
                "title (redacted)>\"public\"", "body \"kept\">\"also kept\"",
                "title (redacted)>(redacted)",
                "title nil>(redacted) body nil>\"kept\" cover nil>nil",
            ])
        #expect(try !isStored("secret"))
        #expect(try isStored("also kept"))
        for number in 1...4 as ClosedRange<UInt64> {
            let commit = try file.read { try $0.commit(Revision(number)) }
            #expect(commit.hash == hashes[Int(number) - 1])
            #expect(commit.isRedacted == (number != 3))
        }
        #expect(
            try file.object(article, asOf: .max)?.cells
                == values("public", body: "also kept").map(\.cell))
        #expect(
            try file.object(article, asOf: 2)?.cells == values("", body: "kept").map(\.cell))
        try library.reopen()
        #expect(try file.verify().problems == [])
    }

    @Test func aPresentValueIsNotTakenOut() throws {
        try save(article, values("secret"))
        #expect(code { try redact(title) } == .valueInUse)
        try save(article, values("other"))
        try save(article, values("secret"))
        let dump = try file.dump()
        #expect(code { try redact(title) } == .valueInUse)
        #expect(code { try redact(body, title) } == .valueInUse)
        #expect(try file.dump() == dump)
        // Without a current value nothing is in use.
        #expect(try redact(body).revisions == [])
        try save(article, values("new"))
        #expect(try redact(title).revisions == [4, 3, 2, 1])
        #expect(try !isStored("secret"))
        #expect(try !isStored("other"))
    }

    @Test func aDeletedObjectLosesItsImagesInInsertionUpdateAndDeletion() throws {
        try save(article, values("secret", body: "b", cover: Data("hidden".utf8)))
        try save(article, values("secret two", body: "b", cover: Data("hidden".utf8)))
        try save(article, nil)
        #expect(try redact(title, cover).revisions == [3, 2, 1])
        #expect(try !isStored("secret"))
        #expect(try !isStored("hidden"))
        let told = try history(article)
        #expect(
            told == [
                "title (redacted)>nil body \"b\">nil cover (redacted)>nil",
                "title (redacted)>(redacted)",
                "title nil>(redacted) body nil>\"b\" cover nil>(redacted)",
            ])
        // A redacted object can be inserted and changed again.
        try save(article, values("again"))
        #expect(try file.verify().problems == [])
        #expect(try redact(title).revisions == [])
        try save(article, values("and again"))
        #expect(try redact(title).revisions == [5, 4])
        #expect(try !isStored("again\0"))
        #expect(try isStored("and again"))
    }

    @Test func anObjectThatOthersReferToAndThatRefersKeepsItsReferences() throws {
        try save(article, values("secret"))
        var referring = values("refers")
        referring[9] = .reference(article.id)
        try save(other, referring)
        try save(article, values("public"))
        try redact(title)
        #expect(try file.references() == library.expectedReferences)
        #expect(try file.objects(asOf: .max) == library.expected(asOf: 3))
    }

    @Test func unicodeAndLongValuesGo() throws {
        let texts = ["e\u{301}", "👩‍👩‍👧 secret", String(repeating: "Geheimnis ", count: 200)]
        for text in texts { try save(article, values(text, body: text)) }
        // Longer than a chunk, so that the layout of entries changes.
        let large = String(repeating: "0123456789", count: 9_000)
        try library.commit([
            library.edit(article, values(large, body: large)), library.edit(other, values("o")),
        ])
        try save(article, values("end"))
        let chunkCount = try #require(try file.dump()["journal"]).count
        #expect(chunkCount > 10)
        #expect(try redact(title, body).revisions == [5, 4, 3, 2, 1])
        for text in texts + [large] { #expect(try !isStored(text)) }
        #expect(try #require(try file.dump()["journal"]).count == 5)
        #expect(try file.objects(asOf: .max) == library.expected(asOf: 5))
    }

    @Test func aThousandChangesOfAnObjectGoInOneTransaction() throws {
        for number in 0..<1_000 {
            try library.commit([
                library.edit(article, values("secret \(number)")),
                library.edit(other, values("public \(number)")),
            ])
        }
        try save(article, values("end"))
        let before = try file.environment.statistics().lastTransaction
        let request = RedactionRequest(entity: 1, object: article.id, slots: [title])
        #expect(try file.redact(request).revisions.count == 1_001)
        #expect(try file.environment.statistics().lastTransaction == before + 1)
        #expect(try !isStored("secret"))
        #expect(try isStored("public 17"))
        #expect(try file.verify().problems == [])
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func randomHistoriesVerifyAfterRedactionsAndTrims(seed: UInt64) throws {
        var history = RandomHistory(seed: seed)
        for round in 0..<12 {
            for _ in 0..<8 {
                try library.commit(history.edits(of: library), EditNote(author: "a"))
            }
            let key = ObjectKey(1, 100 + Int.random(in: 0..<5, using: &history.random))
            let slots = (3...8).filter { _ in Bool.random(using: &history.random) }
                .map { Slot($0) }
            let request = RedactionRequest(entity: 1, object: key.id, slots: slots)
            let error = thrown(StoreError.self) { try file.redact(request) }
            #expect(error == nil || [.valueInUse, .notFound].contains(error?.code))
            if round % 3 == 1 {
                let revision = library.revision
                try file.trim(
                    through: Revision(
                        UInt64.random(in: 0...revision.number, using: &history.random)))
            }
            #expect(try file.verify().problems == [], "round \(round)")
            #expect(try file.objects(asOf: .max) == library.expected(asOf: library.revision))
        }
        // Objects without redactions are unchanged at every remaining revision.
        for number in try file.read({ try $0.floor() }).number...library.revision.number {
            let expected = library.expected(asOf: Revision(number)).filter { $0.key.entity != 1 }
            let shown = try file.objects(asOf: Revision(number)).filter { $0.key.entity != 1 }
            #expect(shown == expected, "\(number)")
        }
    }

    // MARK: Undo

    @Test func anUndoOfARedactedCommitIsPoppedAndSaysSo() throws {
        let owner = UndoOwner(author: "a", scope: nil)
        try save(other, values("first"))
        try save(article, values("secret"))
        try save(article, values("public"))
        try redact(title)
        let state = try file.objects(asOf: .max)
        #expect(code { try file.undo(.undo(owner)) } == .erased)
        #expect(try file.read { try $0.heads(of: owner) } == UndoHeads(undo: 2))
        #expect(code { try file.undo(.undo(owner), .overwrite) } == .erased)
        #expect(try file.objects(asOf: .max) == state)
        #expect(try file.read { try $0.heads(of: owner) } == UndoHeads(undo: 1))
        #expect(try file.undo(.undo(owner))?.cause == .undo(of: 1))
        #expect(code { try file.undo(.revert(2)) } == .erased)
        #expect(try file.verify().problems == [])
    }

    @Test func anUndoThatWasPreparedBeforeTheRedactionIsRefused() throws {
        try save(article, values("secret"))
        try save(article, values("public"))
        let owner = UndoOwner(author: "a", scope: nil)
        let undo = try #require(try file.preparedUndo(.undo(owner), author: "b"))
        let revert = try #require(try file.preparedUndo(.revert(2), author: "b"))
        try redact(title)
        for set in [undo, revert] {
            let refusal = thrown(CommitRefusal.self) { try file.commit(set) }
            #expect(refusal?.reasons == [.erased(2)])
        }
        #expect(try !isStored("secret"))
    }

    @Test func anUndoThatWasPreparedBeforeATrimIsRefused() throws {
        try save(article, values("one"))
        try save(article, values("two"))
        let owner = UndoOwner(author: "a", scope: nil)
        let set = try #require(try file.preparedUndo(.undo(owner)))
        try file.trim(through: 2)
        let refusal = thrown(CommitRefusal.self) { try file.commit(set) }
        #expect(refusal?.reasons == [.erased(2)])
        #expect(code { try file.undo(.undo(owner)) } == .historyTrimmed)
        #expect(try file.objects(asOf: .max) == library.expected(asOf: 2))
        #expect(try file.verify().problems == [])
    }

    // MARK: Hostile bytes

    @Test func everyAlteredByteOfARedactedEntryIsReported() throws {
        try save(article, values("secret", body: "b"))
        try save(article, values("public", body: "c"))
        try save(other, values("o"))
        try save(other, nil)
        try redact(title)
        try redact(title, of: other)
        var missed: [String] = []
        for (key, value) in try #require(try file.dump()["journal"]) {
            for index in value.indices {
                for bit in [0, 3, 7] {
                    var damaged = value
                    damaged[index] ^= 1 << UInt8(bit)
                    try file.tamper("journal", key, damaged)
                    let problems = (try? file.verify().problems) ?? ["refused"]
                    if problems.isEmpty { missed.append("\(key) \(index) \(bit)") }
                }
            }
            for count in 0..<value.count {
                try file.tamper("journal", key, Array(value.prefix(count)))
                let problems = (try? file.verify().problems) ?? ["refused"]
                if problems.isEmpty { missed.append("\(key) \(count)") }
            }
            try file.tamper("journal", key, value)
        }
        #expect(missed == [])
        #expect(try file.verify().problems == [])
    }
}
