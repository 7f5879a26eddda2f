import Foundation
import StetLMDB
import StetStore
import Testing

struct StoreFileTests {
    let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private let tag = ObjectKey(Number.tag, 1)

    private func insert(_ file: StoreFile, _ number: Int = 1) throws -> Commit {
        try file.commit([Edit(ObjectKey(Number.tag, number), from: nil, to: [.data(Data([7]))])])
    }

    private func error(_ body: () throws -> StoreFile) -> StoreError? {
        thrown(StoreError.self, body)
    }

    // MARK: Opening

    @Test func aNewStoreIsEmptyAndHasNoOtherFilesThanItsOwn() throws {
        let file = try directory.open()
        #expect(directory.names == ["test.stet", "test.stet-lock"])
        #expect(file.path == directory.file())
        #expect(file.schema == .library)
        #expect(file.feed.head == 0)
        #expect(!file.isClosed)
        #expect(try file.objects(asOf: 0) == [:])
        #expect(try file.verify().isClean)
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.file())
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func aStoreOpensAgainWithWhatWasCommitted() throws {
        let first = try directory.open()
        let commit = try insert(first)
        let id = first.storeID
        first.close()
        let second = try directory.open()
        #expect(second !== first)
        #expect(second.storeID == id)
        #expect(second.feed.head == 1)
        #expect(try second.read { try $0.commit(1) } == commit)
        #expect(try second.object(tag, asOf: 1)?.cells == [.bytes([7])])
        #expect(try insert(second, 2).revision == 2)
        #expect(try second.verify().isClean)
    }

    @Test func aStoreThatCannotBeMadeLeavesNoFile() throws {
        let error = error { try directory.open(mapByteCount: 8_192) }
        #expect(error?.code == .mapFull)
        #expect(directory.names == [])
    }

    @Test func twoStoresHaveTwoIdentities() throws {
        let (one, other) = (try directory.open("a.stet"), try directory.open("b.stet"))
        #expect(one.storeID != other.storeID)
    }

    @Test func openingTwiceSharesEverything() throws {
        let first = try directory.open()
        let second = try directory.open()
        #expect(first === second)
        second.close()
        #expect(first.isClosed)
    }

    @Test func aStoreWithoutEntitiesOpens() throws {
        let file = try directory.open(schema: Schema(entities: []))
        #expect(try file.verify().isClean)
        file.close()
        #expect(try directory.open(schema: Schema(entities: [])).schema.entities == [])
    }

    @Test func storesWithTheMostEntitiesOpen() throws {
        let entities = (0..<Limits.entityCount).map { Entity(name: "E\($0)", properties: []) }
        let file = try directory.open(schema: Schema(entities: entities))
        let key = ObjectKey(EntityNumber(Limits.entityCount), 1)
        _ = try file.commit([Edit(key, from: nil, to: [])])
        file.close()
        let again = try directory.open(schema: Schema(entities: entities))
        #expect(try again.objects(asOf: 1) == [key: Shown(revision: 1, cells: [])])
        #expect(try again.verify().isClean)
    }

    @Test func manyThreadsThatMakeTheSameStoreGetOneStore() async throws {
        let directory = directory
        let files = try await withThrowingTaskGroup { group in
            for _ in 0..<6 { group.addTask { try directory.open() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(files.allSatisfy { $0 === files[0] })
        #expect(directory.names == ["test.stet", "test.stet-lock"])
    }

    // MARK: Closing

    @Test func aClosedStoreRefusesEverything() throws {
        let file = try directory.open()
        let set = try file.encode([Edit(tag, from: nil, to: [.data(Data())])])
        file.close()
        file.close()
        #expect(file.isClosed)
        #expect(thrown(StoreError.self) { try file.commit(set) }?.code == .storeClosed)
        #expect(thrown(StoreError.self) { try file.read { _ in } }?.code == .storeClosed)
        let error = thrown(StoreError.self) { try file.verify() }
        #expect(error?.code == .storeClosed)
        #expect(error?.path == directory.file())
        #expect(error?.advice == "Open it again.")
    }

    // MARK: Schemas

    @Test func otherModelsAreRefusedInWordsAndChangeNothing() throws {
        try directory.open().close()
        let before = try directory.bytes()
        let other = Entity(name: "Tag", properties: [Property(name: "mark", type: .int)])
        let error = error {
            try directory.open(schema: Schema(entities: [.article, .notebook, other]))
        }
        #expect(error?.code == .modelMismatch)
        #expect(error?.path == directory.file())
        #expect(
            error?.description == "The store was made for other models: Tag.mark is data in the "
                + "store and int in the model. Open it with the models it was made for, or with a "
                + "plan that migrates it.")
        #expect(try directory.bytes() == before)
        // Opening is also refused while the store is open, which stays open.
        let file = try directory.open()
        let refusal = self.error { try directory.open(schema: Schema(entities: [.tag])) }
        #expect(refusal?.code == .modelMismatch)
        #expect(
            refusal?.message == "The store is open in this process with other models: removes the "
                + "entity Article with all of its objects; removes the entity Notebook with all of "
                + "its objects.")
        #expect(try insert(file).revision == 1)
    }

    @Test func changedRulesAreTakenOver() throws {
        try directory.open().close()
        let ruled = Entity(
            name: "Tag", properties: [Property(name: "mark", type: .data, rules: [.notEmpty])])
        let schema = try Schema(entities: [.article, .notebook, ruled])
        let file = try directory.open(schema: schema)
        #expect(file.schema == schema)
        let stored = try #require(try file.dump()[""]?[Array("schema".utf8)])
        #expect(try stored.withUnsafeBytes { try Schema(decoding: $0) } == schema)
        #expect(try file.verify().isClean)
    }

    // MARK: What is not a store

    @Test func anEnvironmentOfSomebodyElseIsNotAStore() throws {
        let environment = try Environment.open(at: directory.file(), small())
        try environment.write { transaction in
            try [UInt8]([1]).withUnsafeBytes { try transaction.put($0, for: $0, in: .unnamed) }
        }
        environment.close()
        let before = try directory.bytes()
        let error = error { try directory.open() }
        #expect(error?.code == .notAStore)
        #expect(error?.path == directory.file())
        #expect(
            error?.message == "The file is an LMDB environment, but not a Stet store.")
        #expect(try directory.bytes() == before)
    }

    private func small() -> Environment.Configuration {
        var configuration = Environment.Configuration()
        configuration.mapByteCount = 1 << 20
        return configuration
    }

    @Test(arguments: [1, 100, 4_096, 20_000])
    func aFileOfOtherBytesIsNotAStore(byteCount: Int) throws {
        let bytes = Data(repeating: 0x53, count: byteCount)
        try directory.write(bytes)
        let error = error { try directory.open() }
        #expect(error?.code == .notAStore)
        #expect(error?.path == directory.file())
        #expect(try directory.bytes() == bytes)
        #expect(directory.names == ["test.stet"])
    }

    @Test func anEmptyFileIsNotAStoreAndStaysEmpty() throws {
        try directory.write(Data())
        let error = error { try directory.open() }
        #expect(error?.code == .notAStore)
        #expect(try directory.bytes() == Data())
    }

    @Test func aDirectoryIsNotAStore() throws {
        try FileManager.default.createDirectory(
            atPath: directory.file(), withIntermediateDirectories: false)
        #expect(error { try directory.open() }?.path == directory.file())
        #expect(directory.names == ["test.stet"])
    }

    @Test func aSymbolicLinkIsRefused() throws {
        try directory.open().close()
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("link.stet"), withDestinationPath: directory.file())
        let error = error { try directory.open("link.stet") }
        #expect(error?.systemCode == ELOOP)
    }

    @Test func aMissingDirectoryIsToldWithThePathOfTheStore() throws {
        let path = directory.file("missing/test.stet")
        let error = error { try StoreFile.open(at: path, schema: .library) }
        #expect(error?.code == .notFound)
        #expect(error?.path == path)
        #expect(error?.advice == "Create the directory first, or correct the path.")
    }

    @Test func aTruncatedStoreIsDamagedAndLeftAsItIs() throws {
        let file = try directory.open()
        for number in 1...20 { _ = try insert(file, number) }
        file.close()
        let whole = try directory.bytes()
        for count in [whole.count / 2, 3 * 4_096, 2 * 4_096, 5_000, 100, 1] {
            try directory.write(whole.prefix(count))
            let error = error { try directory.open() }
            let isTyped = [.damaged, .notAStore].contains(error?.code)
            #expect(isTyped, "\(count) of \(whole.count) bytes: \(String(describing: error))")
            #expect(try directory.bytes() == whole.prefix(count))
        }
        try directory.write(whole)
        #expect(try directory.open().verify().isClean)
    }

    @Test func aStoreOfALaterFormatIsRefused() throws {
        let file = try directory.open()
        let key = Array("stet".utf8)
        var identity = try #require(try file.dump()[""]?[key])
        identity[4] = 3  // behind the four bytes of the magic number
        try file.tamper(nil, key, identity)
        file.close()
        let error = error { try directory.open() }
        #expect(error?.code == .newerFormat)
        #expect(error?.message == "The store has format 3; this version reads format 1.")
    }

    @Test func noByteOfTheIdentityCanChangeUnnoticed() throws {
        let file = try directory.open()
        let identity = try #require(try file.dump()[""]?[Array("stet".utf8)])
        file.close()
        let whole = try directory.bytes()
        let range = try #require(whole.firstRange(of: identity))
        for offset in range {
            var damaged = whole
            damaged[offset] ^= 0x10
            try directory.write(damaged)
            #expect(error { try directory.open() } != nil, "byte \(offset - range.lowerBound)")
        }
    }

    @Test func noByteOfTheHeadCanChangeUnnoticed() throws {
        var file = try directory.open()
        _ = try file.commit([Edit(tag, from: nil, to: [.data(Data())])])
        file.close()
        let whole = try directory.bytes()
        file = try directory.open()
        let head = try #require(try file.dump()[""]?[Array("head".utf8)])
        file.close()
        let range = try #require(whole.firstRange(of: head))
        for offset in range {
            var damaged = whole
            damaged[offset] ^= 1
            try directory.write(damaged)
            #expect(error { try directory.open() } != nil, "byte \(offset - range.lowerBound)")
        }
    }

    @Test(arguments: ["head", "schema", "schema.checksum", "stet"])
    func aStoreWithoutOneOfItsKeysIsRefused(key: String) throws {
        let file = try directory.open()
        try file.tamper(nil, Array(key.utf8), nil)
        file.close()
        let error = error { try directory.open() }
        #expect(error?.code == (key == "stet" ? .notAStore : .damaged))
    }

    // MARK: What is said about a commit

    @Test func anEmptyAuthorIsAnotherThanNone() throws {
        let file = try directory.open()
        let edit = Edit(tag, from: nil, to: [.data(Data())])
        let commit = try file.commit([edit], EditNote(author: "", label: ""))
        #expect(commit.author == "")
        #expect(commit.scope == nil)
        #expect(commit.label == "")
        #expect(try file.read { try $0.commit(1) } == commit)
    }

    // MARK: Full

    @Test func aFullStoreSaysSoAndGoesOnReading() throws {
        let file = try directory.open(mapByteCount: 2 << 20)
        let library = [Edit(tag, from: nil, to: [.data(Data(count: 1 << 20))])]
        let before = try file.dump()
        let error = thrown(StoreError.self) { try file.commit(library) }
        #expect(error?.code == .mapFull)
        #expect(error?.systemCode == LMDBError.mapFull)
        #expect(try file.dump() == before)
        #expect(try insert(file).revision == 1)
        #expect(try file.verify().isClean)
    }
}
