import Stet
import StetStore
import Testing

/// HandlingErrors.md beside the public interface and the errors themselves.
@Suite struct ErrorPageTests {
    private static let codeTypes = [
        "StoreError.Code": "store.", "SubscriptionError.Code": "subscription.",
        "QueryError.Code": "query.", "SealingError.Code": "sealing.",
        "ConflictError.Reason": "conflict.",
    ]

    private var interface: [Substring] {
        get throws { try SourceFile.text("docs/Interface.txt").split(separator: "\n") }
    }

    /// The statuses in the table of codes; nil for an error with the status of its cause.
    private var table: [String: Int?] {
        get throws {
            let page = try SourceFile.text("Sources/Stet/Stet.docc/HandlingErrors.md")
            let rows = page.split(separator: "\n").filter {
                $0.hasPrefix("| `") && !$0.hasPrefix("| ``")
            }
            return Dictionary(
                rows.map { row in
                    let cells = row.split(separator: "|").map { $0.filter { $0 != " " } }
                    return (cells[0].filter { $0 != "`" }, Int(cells[1]))
                }, uniquingKeysWith: { first, _ in first })
        }
    }

    @Test func eachPublicErrorIsAStetErrorAndOnThePage() throws {
        let page = try SourceFile.text("Sources/Stet/Stet.docc/HandlingErrors.md")
        // An implementation of a shared journal throws it to the store, which throws `StoreError`.
        let types = try interface.filter { $0.contains(" Error,") || $0.contains(", Error]") }
            .filter { !$0.contains("struct SharedJournalError ") }
        #expect(types.count == 13)
        for type in types where !type.contains("| protocol StetError") {
            #expect(type.contains("StetError"), "\(type)")
            let name = type.split(separator: " ")[1]
            #expect(page.contains("| ``\(name)`` |"), "\(name)")
        }
    }

    @Test func eachPublicCodeIsInTheTable() throws {
        var codes: Set<String> = [
            "validation", "changeSet", "undo.conflict", "notConfirmed", "unknownOutcome",
            "discardedEdits", "insertStream",
        ]
        for line in try interface where line.contains("| static let ") {
            for (type, prefix) in Self.codeTypes where line.hasPrefix("Stet \(type).") {
                let name = line.dropFirst("Stet \(type).".count).prefix { $0 != " " }
                codes.insert(prefix + name)
            }
        }
        #expect(try Set(table.keys) == codes)
    }

    @Test func theProblemOfAStoreHasTheStatusOfTheTableAndShowsNoPath() throws {
        let codes = try table.filter { $0.key.hasPrefix("store.") }
        #expect(codes.count > 30)
        for (name, status) in codes {
            let code = StoreError.Code(rawValue: String(name.dropFirst("store.".count)))
            let error = StoreError(
                code, path: "/srv/a", message: "/srv/a failed.", advice: "Mend /srv/a.")
            #expect(error.errorCode == name)
            #expect(error.problem.code == name)
            #expect(error.problem.status == status, "\(name)")
            #expect(!"\(error.problem)".contains("/srv"), "\(name)")
        }
    }

    @Test func theProblemOfAConflictHasTheStatusOfTheTable() throws {
        for reason in [ConflictError.Reason.changed, .contention] {
            let error = ConflictError(reason: reason, conflicts: [], rejected: ChangeSet())
            #expect(try table[error.errorCode] == error.problem.status)
        }
    }
}
