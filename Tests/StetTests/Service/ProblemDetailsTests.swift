import Foundation
import Stet
import StetTestModels
import Testing

/// A refused save as `application/problem+json`.
@Suite struct ProblemDetailsTests {
    private func refused(_ messages: MessageTable = .english) throws -> (ValidationError, ObjectID)
    {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        configuration.messages = messages
        let store = try Store.inMemory(
            for: Notebook.self, Article.self, configuration: configuration)
        let context = store.context()
        let article = Article(title: " ")
        article.body = "secret"
        context.insert(article)
        context.report(
            article, \.body, "this {entity} is closed", code: .init(domain: "Desk", number: 4),
            reason: "it was archived")
        context.report(Violation(entity: "request", message: "the request has no state"))
        let error = #expect(throws: ValidationError.self) { try context.save() }
        return (try #require(error), article.id)
    }

    @Test func everyViolationIsAnErrorOfTheProblem() throws {
        let (error, id) = try refused()
        var problem = error.problem
        problem.instance = "/articles/1"
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(problem), as: UTF8.self)
        #expect(
            text == """
                {
                  "code" : "validation",
                  "detail" : "the request has no state\\ntitle must be at least 1 character\\n\
                this Article is closed",
                  "errors" : [
                    {
                      "code" : 1550,
                      "detail" : "the request has no state",
                      "domain" : "Stet",
                      "entity" : "request"
                    },
                    {
                      "code" : 1670,
                      "detail" : "title must be at least 1 character",
                      "domain" : "Stet",
                      "entity" : "Article",
                      "object" : "\(id)",
                      "pointer" : "#/title"
                    },
                    {
                      "code" : 4,
                      "detail" : "this Article is closed",
                      "domain" : "Desk",
                      "entity" : "Article",
                      "object" : "\(id)",
                      "pointer" : "#/body",
                      "reason" : "it was archived"
                    }
                  ],
                  "instance" : "/articles/1",
                  "status" : 422,
                  "title" : "The changes are not valid.",
                  "type" : "about:blank"
                }
                """)
        #expect(!text.contains("secret"))
    }

    @Test func aProblemCanBeToldInAnotherLanguage() throws {
        let (error, _) = try refused()
        let problem = error.problem(in: .simplifiedChinese)
        let expected = error.violations.map { $0.message(in: .simplifiedChinese) }
        #expect(problem.errors.map(\.detail) == expected)
        #expect(problem.detail == expected.joined(separator: "\n"))
        #expect(expected != error.violations.map(\.message))
    }
}
