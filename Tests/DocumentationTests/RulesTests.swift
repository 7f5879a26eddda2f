import Foundation
import Stet
import Testing

@Model final class Account {
    @Attribute(.trimmed, .lowercased, .matches("[^@]+@[^@]+"), .unique) var address: String
    @Attribute(.required, .length(1...25)) var nickname: String?
    @Attribute(.oneOf("free", "paid")) var plan: String = "free"
    @Attribute(.range(16...)) var age: Int
    @Attribute(.stamped(.update)) var changed: Date
    init(address: String, age: Int) {
        self.address = address
        self.age = age
    }
}

extension Account {
    static var validators: Validators<Account> {
        Validators { validation in
            guard let old = validation.old, let new = validation.new else { return }
            if old.plan == "paid", new.plan == "free", new.age < 18 {
                validation.report(\.plan, "ask a parent first")
            }
        }
    }
}

/// The code of Rules.md.
@Suite struct RulesTests {
    private let context: ManagedContext

    init() throws { context = try Store.inMemory(for: Account.self).context() }

    private func refusal(of account: Account) throws -> ValidationError {
        context.insert(account)
        return try #require(throws: ValidationError.self) { try context.save() }
    }

    @Test func aSaveReportsEveryRuleThatAValueBreaks() throws {
        let account = Account(address: "nowhere", age: 9)
        account.plan = "gold"
        let codes = try refusal(of: account).violations.map(\.code)
        #expect(Set(codes) == [.wrongPattern, .required, .notOneOf, .tooSmall])
    }

    @Test func anAddressIsNormalizedBeforeItIsChecked() throws {
        let address = try Account.validate(" Ann@Example.org ", for: \.address)
        #expect(address == "ann@example.org")
    }

    @Test func aValidatorSeesOldAndNewValues() throws {
        let account = Account(address: "ann@example.org", age: 17)
        account.nickname = "Ann"
        account.plan = "paid"
        context.insert(account)
        try context.save()
        account.plan = "free"
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.message) == ["ask a parent first"])
        #expect(account.plan == "paid")
    }

    @Test func aTableNamesPropertiesForUsers() throws {
        let account = Account(address: "ann@example.org", age: 9)
        account.nickname = "Ann"
        let error = try refusal(of: account)
        var table = MessageTable.english
        table.names["Account.age"] = "your age"
        let text = error.description(in: table)
        #expect(text == "your age must be at least 16")
    }
}
