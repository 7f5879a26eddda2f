import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

// Document 004: rules over several properties of a person.

extension Violation.Code {
    fileprivate static let driver = Violation.Code(domain: "Persons", number: 16)
}

@Model private final class Person {
    @Attribute(.notEmpty) var name: String
    var birthday: Date
    var hasLicence: Bool = false
    @Attribute(.range(1...)) var seats: Int = 1
    var luggage: Int = 0
    @Attribute(.stamped(.update)) var changed: Date

    init(name: String, birthday: Date) {
        self.name = name
        self.birthday = birthday
    }

    static var validators: Validators<Person> {
        Validators(
            .object(on: .insert, .update) { person in
                guard let new = person.new, new.hasLicence else { return }
                let year = 365.25 * 86_400
                if new.changed.timeIntervalSince(new.birthday) < 16 * year {
                    person.report(
                        \.hasLicence, "a driver is at least 16", code: .driver,
                        reason: "the law says so")
                }
            },
            .object(on: .insert, .update) { person in
                // Would trap for zero seats, which are invalid by themselves.
                guard let new = person.new, new.luggage / new.seats > 2 else { return }
                person.report("too much luggage")
            },
            .object(on: .update, evenIfInvalid: true) { person in
                if person.old?.birthday != person.new?.birthday {
                    person.report(\.birthday, "a birthday stays")
                }
            })
    }
}

@Suite struct PersonsTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private let old = Date(timeIntervalSinceReferenceDate: 0)
    private let young = Date(timeIntervalSinceReferenceDate: 10 * 365.25 * 86_400)

    init() throws {
        var configuration = Store.Configuration()
        configuration.clock = { Date(timeIntervalSinceReferenceDate: 20 * 365.25 * 86_400) }
        configuration.messages.names["Person.hasLicence"] = "licence"
        store = try Store.open(
            at: directory.file(), for: Person.self, configuration: configuration)
        context = store.context()
    }

    private func messages(_ body: () throws -> Void) throws -> [String] {
        do {
            try body()
            return []
        } catch let error as ValidationError {
            return error.violations.map(\.message)
        }
    }

    private func saved(_ birthday: Date) throws -> Person {
        let person = Person(name: "Ada", birthday: birthday)
        context.insert(person)
        try context.save()
        return person
    }

    @Test("E1 an object may be wrong for a while; it is checked by a save, or on request")
    func e1AWhile() throws {
        let person = try saved(old)
        person.name = ""
        person.seats = 0
        #expect(person.name.isEmpty)
        #expect(person.seats == 0)
        #expect(try messages { try context.validate() }.count == 2)
        #expect(person.name.isEmpty)
        #expect(person.seats == 0)
        try context.edit {
            try context.edit { person.luggage = 9 }
            person.name = "Grace"
            person.seats = 5
        }
        #expect(person.name == "Grace")
        #expect(person.luggage == 9)
        #expect(!context.hasChanges)
        person.seats = 1
        #expect(try messages { try context.save() } == ["too much luggage"])
        #expect(person.seats == 5)
    }

    @Test("E2 nobody under 16 has a licence, neither as a new person nor as a changed one")
    func e2Licences() throws {
        let person = try saved(young)
        person.hasLicence = true
        #expect(try messages { try context.save() } == ["a driver is at least 16"])
        #expect(!person.hasLicence)
        let other = Person(name: "Grace", birthday: young)
        other.hasLicence = true
        context.insert(other)
        #expect(try messages { try context.save() } == ["a driver is at least 16"])
        #expect(other.context == nil)
        let adult = Person(name: "Alan", birthday: old)
        adult.hasLicence = true
        context.insert(adult)
        #expect(try context.save() != nil)
        adult.hasLicence = false
        #expect(try context.save() != nil)
        adult.hasLicence = true
        #expect(try context.save() != nil)
    }

    @Test("E3 a violation has a message in a language, a reason, and the object")
    func e3WhatIsTold() throws {
        let person = try saved(young)
        person.hasLicence = true
        let error = try #require(throws: ValidationError.self) { try context.save() }
        let violation = try #require(error.violations.first)
        #expect(violation.object == person.id)
        #expect(violation.entity == "Person")
        #expect(violation.property == "hasLicence")
        #expect(violation.value == .bool(true))
        #expect(violation.code == .driver)
        #expect(violation.operation == .update)
        #expect(violation.message == "a driver is at least 16")
        #expect(violation.failureReason == "the law says so")
        var chinese = MessageTable.simplifiedChinese
        chinese.sentences["a driver is at least 16"] = "{property}：司机至少 16 岁"
        chinese.names["Person.hasLicence"] = "驾照"
        chinese.sentences["the law says so"] = "法律规定"
        #expect(violation.message(in: chinese) == "驾照：司机至少 16 岁")
        #expect(violation.failureReason(in: chinese) == "法律规定")
        let decoded = try JSONDecoder().decode(
            Violation.self, from: try JSONEncoder().encode(violation))
        #expect(decoded == violation)
        #expect(decoded.failureReason(in: chinese) == "法律规定")
        #expect(error.problem(in: chinese).errors.first?.reason == "法律规定")
        #expect(violation.redacted.value == nil)
        #expect(violation.redacted.object == person.id)
        person.name = ""
        let rule = try #require(throws: ValidationError.self) { try context.save() }
        #expect(rule.description(in: .simplifiedChinese) == "name不能为空")
    }

    @Test("E4 a wrong property misleads no validator of the object, unless it asks to run")
    func e4Misled() throws {
        let person = try saved(old)
        person.seats = 0
        person.luggage = 9
        #expect(try messages { try context.save() } == ["seats must be at least 1"])
        person.seats = 0
        person.birthday = young
        #expect(
            try messages { try context.save() } == [
                "a birthday stays", "seats must be at least 1",
            ])
        #expect(person.birthday == old)
        #expect(person.seats == 1)
        person.luggage = 9
        #expect(try messages { try context.save() } == ["too much luggage"])
        person.seats = 3
        #expect(try context.save() != nil)
    }
}
