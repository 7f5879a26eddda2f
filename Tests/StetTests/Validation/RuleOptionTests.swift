import Foundation
import Stet
import StetTestSupport
import Testing

private enum Size: String, RawAttribute { case small, large }

/// A function that would show whether it has run twice.
private func quoted(_ text: String) -> String { "<\(text)>" }

@Model private final class Entry {
    @Attribute(.matches("[a-z]+(-[a-z]+)*")) var slug: String = "a"
    @Attribute(.oneOf("red", "é")) var color: String = "red"
    @Attribute(.oneOf(1, 2, 3)) var level: Int8 = 1
    @Attribute(.oneOf(Size.small)) var size: Size? = nil
    @Attribute(.range(Decimal(string: "0.1")!...9)) var price: Decimal = 1
    @Attribute(.range(...Date(timeIntervalSinceReferenceDate: 0))) var day: Date = Date.distantPast
    @Attribute(.trimmed, .lowercased, .nfc) var mail: String = ""
    @Attribute(.trimmed, .normalized(by: quoted)) var quote: String = ""
    @Attribute(.normalized(by: quoted), .trimmed) var note: String? = nil

    init() {}
}

@Model private final class BadPattern {
    static let pattern = "("
    @Attribute(.matches(BadPattern.pattern)) var text: String = ""

    init() {}
}

@Suite struct RuleOptionTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private let entry = Entry()

    init() throws {
        store = try Store.open(at: directory.file(), for: Entry.self)
        context = store.context()
        context.insert(entry)
        try context.save()
    }

    private func violations(_ edit: () -> Void) throws -> [Violation] {
        edit()
        do {
            try context.save()
            return []
        } catch let error as ValidationError {
            return error.violations
        }
    }

    @Test func aPatternMatchesTextAsAWholeUpTo4KiB() throws {
        #expect(try violations { entry.slug = "ab-cd" } == [])
        for text in ["", "ab-", "Ab", "ab\n", String(repeating: "a", count: 4_097)] {
            let found = try violations { entry.slug = text }
            #expect(found.map(\.message) == ["slug is not in the right form"], "\(text)")
            #expect(found.map(\.code.number) == [1680])
            #expect(found.map(\.rule) == [".matches(\"[a-z]+(-[a-z]+)*\")"])
        }
        #expect(try violations { entry.slug = String(repeating: "a", count: 4_096) } == [])
    }

    @Test func aPatternThatIsNoneMakesASchemaThatIsRefused() throws {
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: directory.file("other"), for: BadPattern.self)
        }
        #expect(error.code == .invalidSchema)
        #expect(
            error.message == "The schema is not usable: "
                + ".matches(\"(\") can't be a rule for BadPattern.text: a group is not closed.")
        #expect(!FileManager.default.fileExists(atPath: directory.file("other")))
    }

    @Test func aValueIsOneOfThoseThatAreNamed() throws {
        #expect(try violations { entry.color = "e\u{301}" } == [])
        let red = try violations { entry.color = "Red" }
        #expect(red.map(\.message) == ["color must be one of \"red\", \"é\""])
        #expect(red.map(\.code) == [.notOneOf])
        #expect(red.map(\.value) == [.string("Red")])
        #expect(try violations { entry.level = 3 } == [])
        #expect(
            try violations { entry.level = 4 }.map(\.message) == ["level must be one of 1, 2, 3"])
        #expect(try violations { entry.size = .small } == [])
        #expect(
            try violations { entry.size = .large }.map(\.message)
                == ["size must be one of \"small\""])
    }

    @Test func decimalsAndDatesHaveBounds() throws {
        #expect(try violations { entry.price = Decimal(string: "0.1")! } == [])
        #expect(
            try violations { entry.price = Decimal(string: "0.09")! }.map(\.code.number) == [1620])
        #expect(
            try violations { entry.price = Decimal(string: "9.01")! }.map(\.code.number) == [1610])
        #expect(try violations { entry.day = Date(timeIntervalSinceReferenceDate: 0) } == [])
        #expect(
            try violations { entry.day = Date(timeIntervalSinceReferenceDate: 1) }
                .map(\.code.number) == [1630])
        #expect(
            try violations { entry.day = Date(timeIntervalSinceReferenceDate: .nan) }
                .map(\.message) == ["day is not a date"])
    }

    @Test func normalisersRunInTheirOrderAndOnce() throws {
        #expect(try violations { entry.mail = " E\u{301}@X.ORG " } == [])
        #expect(Array(entry.mail.unicodeScalars) == Array("\u{e9}@x.org".unicodeScalars))
        #expect(try violations { entry.quote = " a " } == [])
        #expect(entry.quote == "<a>")
        #expect(try violations { entry.note = " a " } == [])
        #expect(entry.note == "< a >")
        #expect(try violations { entry.mail = "b" } == [])
        #expect(entry.quote == "<a>")
        #expect(entry.note == "< a >")
        #expect(try Entry.validate(" É ", for: \.mail) == "é")
        #expect(try Entry.validate(" a ", for: \.quote) == "<a>")
        #expect(try Entry.validate(nil, for: \.note) == nil)
    }

    @Test func whatASaveHasNormalisedIsNormalisedAgainOnlyWhenItIsEditedAgain() throws {
        entry.quote = "a"
        entry.level = 9
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        #expect(entry.quote == "a")
        entry.level = 2
        #expect(try context.save() != nil)
        #expect(entry.quote == "<a>")
    }

    @Test func theSchemaIsReadBackWithEveryRule() throws {
        store.close()
        let again = try Store.open(at: directory.file(), for: Entry.self)
        #expect(try again.context().fetch(Entry.self).all().map(\.slug) == ["a"])
    }
}
