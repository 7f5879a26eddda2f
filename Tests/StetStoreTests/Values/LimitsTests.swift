import Foundation
import StetStore
import Testing

/// Each limit at, below and above.
///
/// The largest ones are lowered here; that they are the documented ones where nobody lowers them is
/// a test of its own.
struct LimitsTests {
    private let library: Library

    init() throws { library = try Library() }

    private func tag(_ number: Int) -> ObjectKey { ObjectKey(Number.tag, number) }

    private func insert(_ number: Int, byteCount: Int) -> Edit {
        Edit(tag(number), from: nil, to: [.data(Data(count: byteCount))])
    }

    private func limits(
        _ path: WritableKeyPath<ChangeSetBuilder.SizeLimits, Int>, _ value: Int
    ) -> ChangeSetBuilder.SizeLimits {
        var limits = ChangeSetBuilder.SizeLimits()
        limits[keyPath: path] = value
        return limits
    }

    private func refusal(_ message: String, _ advice: String) -> StoreError {
        StoreError(.limitExceeded, message: message, advice: advice)
    }

    /// Returns the error of a commit; a refused one must have written nothing, and the store
    /// continues.
    private func refused(
        _ edits: [Edit], _ note: EditNote = EditNote(),
        _ limits: ChangeSetBuilder.SizeLimits = ChangeSetBuilder.SizeLimits()
    ) throws -> StoreError? {
        let before = try library.file.dump()
        let head = library.file.feed.head
        let error = thrown(StoreError.self) {
            try library.file.commit(library.file.encode(edits, note, limits: limits))
        }
        #expect(try error == nil || library.file.dump() == before)
        #expect(library.file.feed.head == (error == nil ? head.next : head))
        return error
    }

    @Test func theLimitsAreThoseThatAreDocumented() {
        #expect(Limits.attributeByteCount == 67_108_864)
        #expect(Limits.changesPerCommit == 10_000_000)
        #expect(Limits.commitByteCount == 1_073_741_824)
        #expect(Limits.labelByteCount == 1_024)
        #expect(Limits.authorByteCount == 255)
        #expect(Limits.entityCount == 250)
        #expect(Limits.propertyCount == 1_024)
        #expect(Limits.nameByteCount == 255)
        let usual = ChangeSetBuilder(schema: .library).limits
        #expect(usual.attributeByteCount == Limits.attributeByteCount)
        #expect(usual.changesPerCommit == Limits.changesPerCommit)
        #expect(usual.commitByteCount == Limits.commitByteCount)
    }

    // MARK: Attributes

    @Test func anAttributeOfTheLargestSizeIsStored() throws {
        let commit = try library.commit([insert(1, byteCount: Limits.attributeByteCount)])
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1))
        #expect(try library.file.read { try $0.commit(1) } == commit)
    }

    @Test func aLargerAttributeIsRefusedInAnInsertAndInAnUpdate() throws {
        let limit = Limits.attributeByteCount
        let expected = refusal(
            "Tag.mark has \(limit + 1) bytes; the limit is \(limit).",
            "Keep it in a file of its own, and its name in the store.")
        #expect(try refused([insert(1, byteCount: limit + 1)]) == expected)
        try library.commit([insert(1, byteCount: 1)])
        let update = library.edit(tag(1), [.data(Data(count: limit + 1))])
        #expect(try refused([update]) == expected)
        #expect(library.file.feed.head == 1)
    }

    @Test(arguments: [99, 100, 101])
    func theBytesOfStringsAndDataAreCounted(byteCount: Int) throws {
        let limits = limits(\.attributeByteCount, 100)
        let advice = "Keep it in a file of its own, and its name in the store."
        func expected(_ name: String) -> StoreError? {
            if byteCount <= 100 { return nil }
            return refusal("\(name) has \(byteCount) bytes; the limit is 100.", advice)
        }
        #expect(
            try refused([insert(1, byteCount: byteCount)], EditNote(), limits)
                == expected("Tag.mark"))
        // The limit counts bytes of UTF-8, not characters.
        let name = String(repeating: "é", count: byteCount / 2) + (byteCount % 2 == 1 ? "e" : "")
        let notebook = Edit(
            ObjectKey(Number.notebook, 1), from: nil, to: [.string(name), .null])
        #expect(try refused([notebook], EditNote(), limits) == expected("Notebook.name"))
        #expect(try library.file.verify().isClean)
    }

    @Test func aLargeAttributeMayBeDeleted() throws {
        let values: [Value] = [.data(Data(count: 101))]
        try library.commit([Edit(tag(1), from: nil, to: values)])
        let delete = library.edit(tag(1), nil)
        #expect(try refused([delete], EditNote(), limits(\.attributeByteCount, 100)) == nil)
    }

    // MARK: Commits

    @Test(arguments: [4, 5, 6])
    func theChangesOfACommitAreCounted(count: Int) throws {
        let edits = (0..<count).map { insert($0, byteCount: 1) }
        let expected = refusal(
            "The commit changes \(count) objects; the limit is 5.", "Save in several commits.")
        #expect(
            try refused(edits, EditNote(), limits(\.changesPerCommit, 5))
                == (count > 5 ? expected : nil))
        #expect(try refused([insert(9, byteCount: 1)]) == nil)
        #expect(try library.file.verify().isClean)
    }

    @Test func theBytesOfACommitAreCountedInRecordsAndJournal() throws {
        let edits = (0..<3).map { insert($0, byteCount: 1_000) }
        func refused(_ limit: Int) throws -> StoreError? {
            try self.refused(edits, EditNote(), limits(\.commitByteCount, limit))
        }
        func refusal(_ subject: String, _ count: Int, _ limit: Int) -> StoreError {
            self.refusal(
                "\(subject) \(count) bytes; the limit is \(limit).", "Save in several commits.")
        }
        // A record's body has a bitmap of 8 bytes, a slot of 8, and the value.
        let records = 3 * 1_016
        // A change has 48 bytes before the body; the attributes have 23 without texts.
        let journal = records + 3 * 48 + 23
        #expect(
            try refused(records - 1)
                == refusal("The records of the commit have", records, records - 1))
        #expect(try refused(records) == refusal("The commit has", journal, records))
        #expect(try refused(journal - 1) == refusal("The commit has", journal, journal - 1))
        #expect(try refused(journal) == nil)
        #expect(try library.file.verify().isClean)
    }

    @Test func oneByteLessThanTheLimitOfACommitPasses() throws {
        let limits = limits(\.commitByteCount, 1_000)
        // Below, at and above the limit, which leaves 913 bytes for the value.
        for (byteCount, isRefused) in [(912, false), (913, false), (914, true)] {
            let edit = insert(byteCount, byteCount: byteCount)
            #expect(try (refused([edit], EditNote(), limits) != nil) == isRefused)
        }
    }

    // MARK: What is said about a commit

    @Test(arguments: ["label", "author", "scope"], [-1, 0, 1])
    func theTextsOfACommitAreCountedInBytes(name: String, difference: Int) throws {
        let limit = name == "label" ? Limits.labelByteCount : Limits.authorByteCount
        let byteCount = limit + difference
        for text in [
            String(repeating: "x", count: byteCount),
            String(repeating: "x", count: byteCount - 2) + "é",
        ] {
            var note = EditNote()
            switch name {
            case "label": note.label = text
            case "author": note.author = text
            default: note.scope = text
            }
            let expected = refusal(
                "The \(name) of a commit has \(byteCount) bytes; the limit is \(limit).",
                "Shorten it.")
            let edit = insert(Int(library.file.feed.head.number), byteCount: 1)
            #expect(try refused([edit], note) == (difference > 0 ? expected : nil))
        }
        #expect(try library.file.verify().isClean)
    }

    // MARK: Schemas

    /// A schema, opened as a store where it is usable.
    private func problem(_ entities: [Entity]) throws -> String? {
        do {
            let schema = try Schema(entities: entities)
            let directory = try StoreDirectory()
            let file = try directory.open(schema: schema)
            defer { file.close() }
            #expect(try file.verify().isClean)
            return nil
        } catch let error as StoreError {
            #expect(error.code == .invalidSchema)
            #expect(error.advice == "Change the models.")
            return error.message
        }
    }

    @Test(arguments: [-1, 0, 1])
    func theEntitiesOfASchemaAreCounted(difference: Int) throws {
        let count = Limits.entityCount + difference
        let entities = (0..<count).map { Entity(name: "E\($0)", properties: []) }
        #expect(
            try problem(entities)
                == (difference > 0
                    ? "The schema is not usable: 251 entities, the limit is 250." : nil))
    }

    @Test(arguments: [-1, 0, 1])
    func thePropertiesOfAnEntityAreCounted(difference: Int) throws {
        let properties = (0..<Limits.propertyCount + difference).map {
            Property(name: "p\($0)", type: .int)
        }
        #expect(
            try problem([Entity(name: "E", properties: properties)])
                == (difference > 0
                    ? "The schema is not usable: E has 1025 properties, the limit is 1024." : nil))
    }

    @Test(arguments: [-255, -254, -1, 0, 1])
    func theBytesOfNamesAreCounted(difference: Int) throws {
        let name = String(repeating: "n", count: Limits.nameByteCount + difference)
        let isUsable = 1...255 ~= name.utf8.count
        #expect(
            try problem([Entity(name: name, properties: [])])
                == (isUsable
                    ? nil : "The schema is not usable: an entity's name needs 1 to 255 bytes."))
        #expect(
            try problem([Entity(name: "E", properties: [Property(name: name, type: .int)])])
                == (isUsable
                    ? nil : "The schema is not usable: a property's name needs 1 to 255 bytes."))
    }

    @Test func aRecordOfTheMostPropertiesIsStored() throws {
        let properties = (0..<Limits.propertyCount).map {
            Property(name: "p\($0)", type: $0.isMultiple(of: 2) ? .int : .string, isOptional: true)
        }
        let library = try Library(
            schema: Schema(entities: [Entity(name: "E", properties: properties)]))
        let key = ObjectKey(1, 1)
        let values: [Value] = properties.indices.map { slot in
            slot % 3 == 0 ? .null : slot.isMultiple(of: 2) ? .int(slot) : .string("text \(slot)")
        }
        try library.commit([Edit(key, from: nil, to: values)])
        try library.commit([library.edit(key, values.reversed().map { _ in .null })])
        for revision in [1, 2] as [Revision] {
            #expect(
                try library.file.objects(asOf: revision) == library.expected(asOf: revision))
        }
        #expect(try library.file.verify().isClean)
    }
}
