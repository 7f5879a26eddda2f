import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Locker {
    #Unique<Locker>(\.room, \.number)
    #Unique<Locker>(\.owner, where: { !$0.isFree && $0.number > 0 })
    @Attribute(.trimmed, .lowercased) var room: String?
    var number: Int
    @Attribute(.trimmed) var owner: String = ""
    var isFree: Bool = true
    @Attribute(.unique) var label: String?
    var row: LockerRow?
    #Unique<Locker>(\.row, \.note)
    var note: String = ""

    init(_ room: String?, _ number: Int) {
        self.room = room
        self.number = number
    }
}

@Model private final class LockerRow {
    @Relationship(inverse: \Locker.row) var lockers: OrderedToMany<Locker>

    init() {}
}

@Model private final class Scan {
    #Unique<Scan>(\.name, where: { $0.file != nil })
    var name: String
    var file: LargeData?

    init(_ name: String) { self.name = name }
}

/// Uniqueness in the check of one property, for a field of a form.
struct FieldUniquenessTests {
    private let store: Store
    private let context: ManagedContext
    private let locker: Locker

    init() throws {
        store = try Store.inMemory(for: Locker.self, LockerRow.self)
        context = store.context()
        locker = Locker("a", 1)
        locker.owner = "Ann"
        locker.isFree = false
        locker.label = "one"
        context.insert(locker)
        try context.save()
    }

    /// Returns the rules that a property breaks, and the objects that have the values.
    private func broken<T: StoredValue>(
        _ object: Locker, _ property: KeyPath<Locker.Snapshot, T>
    ) -> [String] {
        do {
            _ = try object.validate(property)
            return []
        } catch let error as ValidationError {
            return error.violations.map { violation in
                "\(violation.rule ?? "?") \(violation.others == [locker.id] ? "locker" : "other")"
            }
        } catch {
            return ["\(error)"]
        }
    }

    @Test func valuesOfSeveralPropertiesAreUnique() throws {
        let other = Locker(" A ", 2)
        context.insert(other)
        #expect(broken(other, \.room) == [])
        other.number = 1
        #expect(broken(other, \.room) == ["#Unique(room, number) locker"])
        #expect(broken(other, \.number) == ["#Unique(room, number) locker"])
        #expect(broken(other, \.owner) == [])
        #expect(broken(other, \.label) == [])
        #expect(other.room == " A ")
        other.room = nil
        #expect(broken(other, \.number) == [])
    }

    @Test func aConditionDecides() throws {
        let other = Locker("b", 0)
        other.owner = " Ann "
        context.insert(other)
        #expect(broken(other, \.owner) == [])
        other.isFree = false
        #expect(broken(other, \.owner) == [])
        other.number = 3
        let rule = "#Unique(owner) locker"
        #expect(broken(other, \.owner) == [rule])
        #expect(broken(other, \.isFree) == [rule])
        #expect(broken(other, \.number) == [rule])
        #expect(broken(other, \.room) == [])
        locker.isFree = true
        #expect(broken(other, \.owner) == [])
        #expect(broken(locker, \.owner) == [])
    }

    @Test func pendingObjectsCount() throws {
        let (one, two) = (Locker("c", 1), Locker("c", 1))
        context.insert(one)
        context.insert(two)
        #expect(broken(one, \.room) == ["#Unique(room, number) other"])
        two.number = 2
        #expect(broken(one, \.room) == [])
        one.label = "one"
        #expect(broken(one, \.label) == [".unique locker"])
        locker.label = "two"
        #expect(broken(one, \.label) == [])
        context.rollback()
        let three = Locker("a", 1)
        context.insert(three)
        #expect(broken(three, \.number) == ["#Unique(room, number) locker"])
        context.delete(locker)
        #expect(broken(three, \.number) == [])
        try context.save()
    }

    /// Pending references have no positions yet.
    @Test func membersOfAnOrderedRelationship() throws {
        let row = LockerRow()
        context.insert(row)
        row.lockers.append(locker)
        locker.note = "x"
        let other = Locker("d", 1)
        other.note = "x"
        row.lockers.append(other)
        #expect(broken(other, \.note) == ["#Unique(row, note) locker"])
        other.note = "y"
        #expect(broken(other, \.note) == [])
        try context.save()
        let third = Locker("e", 1)
        third.note = "y"
        context.insert(third)
        #expect(broken(third, \.note) == [])
        third.row = row
        #expect(broken(third, \.note) == ["#Unique(row, note) other"])
        #expect(broken(third, \.row) == ["#Unique(row, note) other"])
    }

    @Test func aConditionReadsLargeData() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Scan.self)
        let context = store.context()
        let (one, two) = (Scan("a"), Scan("a"))
        context.insert(one)
        context.insert(two)
        one.file = try LargeData(Data("x".utf8), in: store)
        #expect(try two.validate(\.name) == "a")
        two.file = try LargeData(Data("y".utf8), in: store)
        let error = try #require(throws: ValidationError.self) { try two.validate(\.name) }
        #expect(error.violations.map(\.others) == [[one.id]])
        one.name = "b"
        try context.save()
        two.name = "b"
        #expect(throws: ValidationError.self) { try two.validate(\.file) }
    }

    @Test func eachPropertyReportsWhatASaveReports() throws {
        let other = Locker("A", 1)
        other.owner = "Ann"
        other.isFree = false
        other.label = "one"
        context.insert(other)
        let error = try #require(throws: ValidationError.self) { try context.validate() }
        let all = Set(error.violations.map { $0.rule ?? "?" })
        #expect(all == ["#Unique(room, number)", "#Unique(owner)", ".unique"])
        let single = broken(other, \.room) + broken(other, \.owner) + broken(other, \.label)
        #expect(Set(single) == Set(all.map { "\($0) locker" }))
    }
}
