import Stet
import StetTestSupport
import Testing

@Model private final class Label {
    @Attribute(.length(1...3)) var name: String
    @Attribute(.range(1...)) var weight: Int

    init(name: String, weight: Int) { (self.name, self.weight) = (name, weight) }
}

/// The two texts of an error: for people, and for developers.
@Suite struct ViolationTextTests {
    private let context: ManagedContext

    init() throws { context = try Store.inMemory(for: Label.self).context() }

    private func refusal() throws -> ValidationError {
        try #require(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
    }

    @Test func theDescriptionIsTheMessagesAlone() throws {
        context.insert(Label(name: "", weight: 0))
        context.insert(Label(name: "long name", weight: 1))
        let error = try refusal()
        let messages = error.violations.map(\.message).joined(separator: "\n")
        #expect(error.violations.count == 3)
        #expect(error.description == messages)
        #expect(error.description(in: .english) == messages)
    }

    @Test func theDebugDescriptionTellsObjectsApartAndShowsNoValues() throws {
        let short = Label(name: "", weight: 0)
        let long = Label(name: "long name", weight: 1)
        for label in [short, long] { context.insert(label) }
        let lines = String(reflecting: try refusal()).split(separator: "\n").map(String.init)
        #expect(
            Set(lines) == [
                "tooShort Label \(short.id) name: name must be at least 1 character",
                "tooSmall Label \(short.id) weight: weight must be at least 1",
                "tooLong Label \(long.id) name: name can't be longer than 3 characters",
            ])
    }

    @Test func aCodePrintsItsName() throws {
        #expect("\(Violation.Code.tooShort)" == "tooShort")
        #expect("\(Violation.Code(domain: "Shop", number: 7))" == "Shop 7")
        #expect("\(Violation.Code(domain: "Stet", number: 999))" == "Stet 999")
    }
}
