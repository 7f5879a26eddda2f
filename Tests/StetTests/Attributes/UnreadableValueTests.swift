import Foundation
import Stet
import StetTestSupport
import Testing

// The same entities, as two versions of a program declare them.

private enum Newer {
    enum Status: String, RawAttribute { case draft, archived }
    struct Size: CodableAttribute { var width: Int }

    @Model final class Task {
        var status: Status = Status.draft
        var maybe: Status?
        var list: [Status] = []
        var size: Size?

        init() {}
    }
}

private enum Older {
    enum Status: String, RawAttribute { case draft }
    struct Size: CodableAttribute {
        var width: Int
        var height: Int
    }

    @Model final class Task {
        var status: Status = Status.draft
        var maybe: Status?
        var list: [Status] = []
        var size: Size?

        init() {}
    }
}

private struct Refusing: CodableAttribute {
    struct Refusal: Error, CustomStringConvertible { let description = "refused" }

    var isRefused = false

    func encode(to encoder: any Encoder) throws {
        if isRefused { throw Refusal() }
        var container = encoder.singleValueContainer()
        try container.encode(isRefused)
    }

    init(isRefused: Bool) { self.isRefused = isRefused }

    init(from decoder: any Decoder) throws {
        isRefused = try decoder.singleValueContainer().decode(Bool.self)
    }
}

@Model private final class Holder {
    var value: Refusing?
    var values: [Refusing] = []
    var numbers: [Double: Int] = [:]
    var title: String = ""

    init() {}
}

/// Values that are in the store and mean nothing to a type, and values that no store can keep.
@Suite struct UnreadableValueTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: ["status", "maybe", "list", "size"])
    func aValueThatMeansNothingToItsTypeIsAnErrorThatNamesItsProperty(property: String) throws {
        let newer = try Store.open(at: directory.file(), for: Newer.Task.self)
        let context = newer.context()
        let (task, other) = (Newer.Task(), Newer.Task())
        switch property {
        case "status": task.status = .archived
        case "maybe": task.maybe = .archived
        case "list": task.list = [.draft, .archived]
        default: task.size = Newer.Size(width: 1)
        }
        context.insert(task)
        context.insert(other)
        try context.save()
        newer.close()

        let older = try Store.open(at: directory.file(), for: Older.Task.self)
        let reading = older.context()
        let error = try #require(throws: StoreError.self) {
            try reading.object(Older.Task.self, id: task.id)
        }
        #expect(error.code == .unreadableValue)
        #expect(
            error.message
                == "Task.\(property) of object \(task.id) has a value that is not valid for its "
                + "type."
        )
        let unreadable = #expect(throws: StoreError.self) {
            try readValues(of: property, older.fetch(Older.Task.self))
        }
        #expect(unreadable?.code == .unreadableValue)
        #expect(try reading.object(Older.Task.self, id: other.id)?.status == .draft)
        #expect(try older.verify().problems == [])
        let changes = try #require(try older.journal().first).changes(of: Older.Task.self)
        #expect(changes.map(\.id) == [task.id, other.id].sorted())
        #expect(changes.first { $0.id == task.id }?.new.snapshot == nil)
        #expect(changes.first { $0.id == other.id }?.new.snapshot?.status == .draft)
    }

    private func readValues(
        of property: String, _ tasks: some ObjectQuery<Older.Task>
    ) throws {
        switch property {
        case "status": _ = try tasks.values(of: \.status)
        case "maybe": _ = try tasks.values(of: \.maybe, \.status)
        case "list": _ = try tasks.values(of: \.list)
        default: _ = try tasks.values(of: \.size)
        }
    }

    @Test(arguments: [
        ("status", Value.string("bogus")), ("maybe", .string("bogus")),
        ("list", .list([.string("draft"), .string("bogus")])),
        ("size", .codable("{\"width\":1}")), ("size", .codable("bogus")),
    ])
    func aChangeSetWithAValueThatMeansNothingToItsTypeDoesNotFit(
        property: String, value: Value
    ) throws {
        let store = try Store.open(at: directory.file(), for: Older.Task.self)
        let context = store.context()
        let task = Older.Task()
        context.insert(task)
        try context.save()
        let new = ObjectID()
        let values: [String: Value] = [
            "status": .string("draft"), "maybe": .null, "list": .list([]), "size": .null,
        ]
        let changes = ChangeSet(changes: [
            ObjectChange(
                entity: "Task", id: task.id, kind: .update,
                properties: [
                    PropertyChange(name: property, old: values[property] ?? .null, new: value)
                ]),
            ObjectChange(
                entity: "Task", id: new, kind: .insert,
                properties: values.merging([property: value]) { $1 }
                    .map { PropertyChange(name: $0, old: .null, new: $1) }),
        ])
        let error = try #require(throws: ChangeSetError.self) { try context.apply(changes) }
        #expect(error.problems.map(\.object) == [task.id, new])
        #expect(error.problems.map(\.property) == [property, property])
        #expect(error.problems.allSatisfy { $0.entity == "Task" })
        #expect(!"\(error)".contains("bogus"))
        #expect(!context.hasChanges)
        #expect(task.status == .draft)
        #expect(task.list.isEmpty)
        #expect(try context.fetch(Older.Task.self).count() == 1)
    }

    @Test func aRefreshThatMeetsSuchAValueThrowsAndRecovers() throws {
        let older = try Store.open(at: directory.file(), for: Older.Task.self)
        let reading = older.context()
        let task = Older.Task()
        reading.insert(task)
        try reading.save()
        let newer = try Store.open(at: directory.file(), for: Newer.Task.self)
        let writing = newer.context()
        let same = try #require(try writing.object(Newer.Task.self, id: task.id))
        same.status = .archived
        try writing.save()
        #expect(throws: StoreError.self) { try reading.refresh() }
        #expect(task.status == .draft)
        same.status = .draft
        try writing.save()
        try reading.refresh()
        #expect(task.status == .draft)
        #expect(!task.hasChanges)
    }

    // MARK: Values without a stored form

    private func holder() throws -> (ManagedContext, Holder) {
        let context = try Store.open(at: directory.file(), for: Holder.self).context()
        let holder = Holder()
        context.insert(holder)
        try context.save()
        return (context, holder)
    }

    @Test func aValueThatCannotBeEncodedIsAViolationAndIsNotLost() throws {
        let (context, holder) = try holder()
        holder.value = Refusing(isRefused: true)
        let error = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(error.code == .unstorable)
        #expect(error.violations.map(\.property) == ["value"])
        #expect(error.violations.map(\.message) == ["value can't be encoded: refused"])
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        #expect(holder.value == Refusing(isRefused: true))
        #expect(holder.hasChanges)
        holder.value?.isRefused = false
        holder.title = "mended"
        #expect(try context.save()?.changeSet.changes.first?["value"]?.new == .codable("false"))
    }

    @Test func everyValueWithoutAFormIsTold() throws {
        let (context, holder) = try holder()
        holder.numbers = [.nan: 1, -Double.nan: 2]
        try context.validate()
        holder.values = [Refusing(isRefused: false), Refusing(isRefused: true)]
        holder.numbers = Dictionary(uniqueKeysWithValues: [(Double.nan, 1), (Double.nan, 2)])
        let error = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(
            error.violations.map(\.message) == [
                "values has an element that can't be encoded",
                "numbers has two keys that are stored as the same bytes",
            ])
    }

    @Test func aChangeSetWithAValueThatMeansNothingIsRefused() throws {
        let context = try Store.open(at: directory.file(), for: Older.Task.self).context()
        let task = Older.Task()
        context.insert(task)
        try context.save()
        func apply(_ name: String, _ value: Value) throws {
            let old = name == "status" ? Value.string("draft") : name == "list" ? .list([]) : .null
            let property = PropertyChange(name: name, old: old, new: value)
            try context.apply(
                ChangeSet(changes: [
                    ObjectChange(
                        entity: "Task", id: task.id, kind: .update, properties: [property])
                ]))
        }
        for value in [Value.string("archived"), .string("")] {
            #expect(throws: ChangeSetError.self) { try apply("status", value) }
        }
        #expect(throws: ChangeSetError.self) { try apply("size", .codable("{}")) }
        #expect(throws: ChangeSetError.self) { try apply("list", .list([.int(1)])) }
        #expect(throws: ChangeSetError.self) { try apply("status", .null) }
        #expect(!context.hasChanges)
        #expect(task.status == .draft)
        try apply("list", .list([.string("draft")]))
        try apply("size", .codable("{\"height\":2,\"width\":1}"))
        #expect(task.list == [.draft])
        #expect(task.size?.height == 2)
    }

    @Test func mergingNeverDropsAValueThatCannotBeEncoded() throws {
        let store = try Store.open(at: directory.file(), for: Holder.self)
        let mine = store.context()
        let holder = Holder()
        mine.insert(holder)
        try mine.save()
        let others = store.context()
        try #require(try others.object(Holder.self, id: holder.id)).title = "theirs"
        try others.save()
        holder.value = Refusing(isRefused: true)
        mine.mergePolicy = .mergeContextWins
        try? mine.refresh()
        #expect(holder.value == Refusing(isRefused: true))
        #expect(holder.hasChanges)
        #expect(throws: (any Error).self) { try mine.save(onFailure: .keepPending) }
        #expect(holder.value == Refusing(isRefused: true))
    }

    @Test func typesOfElementsAreTypesOfTheSchema() throws {
        _ = try Store.open(at: directory.file(), for: Mixed.One.Box.self)
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: directory.file(), for: Mixed.Two.Box.self)
        }
        #expect(error.code == .modelMismatch)
        for text in [
            "Box.list is [int] in the store and [string] in the model",
            "Box.map is [string: int]? in the store and [string: double]? in the model",
            "Box.width is int16 in the store and int8 in the model",
        ] {
            #expect(error.message.contains(text), "\(error.message)")
        }
    }
}

private enum Mixed {
    enum One {
        @Model final class Box {
            var list: [Int] = []
            var map: [String: Int]?
            var width: Int16 = 0

            init() {}
        }
    }

    enum Two {
        @Model final class Box {
            var list: [String] = []
            var map: [String: Double]?
            var width: Int8 = 0

            init() {}
        }
    }
}
