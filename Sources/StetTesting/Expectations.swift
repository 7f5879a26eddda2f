public import Stet
public import Testing

/// Expects that a closure makes commits with these changes, and no others.
///
/// Each line has the kind of a change and the model; that of an update also has the names of the
/// changed properties, in the order of declaration: `insert Article`,
/// `update Article (title, rating)`, `delete Notebook`. The lines are in the order of the commits,
/// within a commit by kind and model as in its change set.
///
/// ```swift
/// try await expectChanges(in: store, ["update Article (rating)"]) {
///     article.rating = 4
///     try await context.save("rate")
/// }
/// ```
///
/// A difference is an issue of the test, which shows what was expected, what was found, and the
/// values.
///
/// - Parameters:
///   - store: the store that is watched.
///   - expected: the lines.
///   - sourceLocation: where the issue is recorded.
///   - body: makes the commits.
/// - Returns: the commits that were made, oldest first.
/// - Throws: what `body` throws; `StoreError`.
@discardableResult
public nonisolated(nonsending) func expectChanges(
    in store: Store, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) () async throws -> Void
) async throws -> [Commit] {
    let beginning = try store.revision()
    try await body()
    let commits = try store.journal(from: .revision(Revision(beginning.number + 1)))
    let changes = commits.flatMap(\.changeSet.changes)
    let found = changes.map(\.line)
    if found != expected {
        let details = changes.flatMap { [$0.line] + $0.details }
        Issue.record(
            "\(text("expected", expected))\n\(text("found", details))",
            sourceLocation: sourceLocation)
    }
    return commits
}

/// Expects that a closure throws a `ValidationError` with violations of these codes, and no others,
/// in the order in which they are reported.
///
/// ```swift
/// await expectRefused([.tooLong, .notUnique]) {
///     try await context.save()
/// }
/// ```
///
/// Anything else is an issue of the test, which shows each violation with its code, object and
/// message.
///
/// - Parameters:
///   - codes: the codes of all violations.
///   - sourceLocation: where the issue is recorded.
///   - body: makes the save that is to be refused.
/// - Returns: the error; nil when there was none of this type.
@discardableResult
public nonisolated(nonsending) func expectRefused<Result>(
    _ codes: [Violation.Code], sourceLocation: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) () async throws -> Result
) async -> ValidationError? {
    let expected = codes.map(\.description)
    do {
        _ = try await body()
        Issue.record(
            "\(text("expected", expected))\nfound: nothing was refused",
            sourceLocation: sourceLocation)
        return nil
    } catch let error as ValidationError {
        if error.violations.map(\.code) != codes {
            let found = error.violations.map(\.line)
            Issue.record(
                "\(text("expected", expected))\n\(text("found", found))",
                sourceLocation: sourceLocation)
        }
        return error
    } catch {
        Issue.record(
            "\(text("expected", expected))\nfound: \(error)", sourceLocation: sourceLocation)
        return nil
    }
}

private func text(_ title: String, _ lines: [String]) -> Comment {
    let lines = lines.isEmpty ? ["nothing"] : lines
    return Comment(rawValue: ([title + ":"] + lines.map { "  \($0)" }).joined(separator: "\n"))
}

extension ObjectChange {
    fileprivate var line: String {
        let names = properties.map(\.name) + relationships.map(\.name)
        return kind == .update
            ? "\(kind) \(entity) (\(names.joined(separator: ", ")))" : "\(kind) \(entity)"
    }

    fileprivate var details: [String] {
        properties.map { "  \($0.name): \($0.old) → \($0.new)" }
            + relationships.map { "  \($0.name): \($0.members.count) members" }
    }
}

extension Violation {
    fileprivate var line: String {
        let place = [entity, property].compactMap { $0 }.joined(separator: ".")
        return "\(code) \(place): \(message)"
    }
}
