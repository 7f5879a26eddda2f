import Foundation
import StetStore

/// All that a session has said, to be held against what its store contains afterwards.
struct Testimony {
    let statements: [Statement]

    /// The first line that is no statement, and the first one that tells of a broken promise.
    let broken: String?

    init(_ lines: [String]) {
        statements = lines.compactMap(Statement.init)
        let wrong = statements.first { if case .wrong = $0 { true } else { false } }
        broken = lines.first { Statement($0) == nil } ?? wrong?.description
    }

    /// True when the session came to its end.
    var isComplete: Bool { statements.last == .done }

    func count(where isCounted: (Statement) -> Bool) -> Int { statements.count(where: isCounted) }

    /// What the session may say of a commit.
    private struct Claim {
        var base: Revision
        var changeCount: Int
        /// The revision that was acknowledged.
        var revision: Revision?
        /// Whether it is in the journal; nil when the session does not know.
        var isCommitted: Bool?
    }

    private func claims() -> [UInt64: Claim] {
        var claims: [UInt64: Claim] = [:]
        for statement in statements {
            switch statement {
            case .trying(let token, let base, let count):
                claims[token] = Claim(base: base, changeCount: count)
            case .acknowledged(let token, let revision):
                claims[token]?.revision = revision
                claims[token]?.isCommitted = true
            case .notCommitted(let token, _): claims[token]?.isCommitted = false
            case .resolved(let token, let isCommitted): claims[token]?.isCommitted = isCommitted
            case .unknown, .failed, .full, .wrong, .gaveUp, .done: break
            }
        }
        return claims
    }

    /// How the journal contradicts the session; nil when it does not.
    ///
    /// I1: what was acknowledged is there. I2: with all of its changes. I7: what was called not
    /// committed is not there, and every unknown outcome has exactly one answer. Nothing is there
    /// that nobody has tried.
    func contradiction(in file: StoreFile) throws -> String? {
        var entries: [UInt64: [Commit]] = [:]
        try file.read { reader in
            for number in 0..<(try reader.head().revision.number) {
                let commit = try reader.commit(Revision(number + 1))
                entries[commit.id.token, default: []].append(commit)
            }
        }
        for (token, claim) in claims() {
            let found = entries.removeValue(forKey: token) ?? []
            if let wrong = Self.contradiction(claim, found) { return "\(wrong): \(token)" }
            let id = CommitID(store: file.storeID, base: claim.base, token: token)
            if file.outcome(of: id) != (found.first.map(Outcome.committed) ?? .notCommitted) {
                return "another outcome is told than the journal has: \(token)"
            }
        }
        return entries.isEmpty ? nil : "\(entries.count) commits that nobody has tried"
    }

    private static func contradiction(_ claim: Claim, _ found: [Commit]) -> String? {
        if found.count > 1 { return "committed \(found.count) times" }
        if claim.isCommitted == true, found.isEmpty { return "acknowledged, and lost" }
        if claim.isCommitted == false, !found.isEmpty { return "not committed, and yet there" }
        if let revision = claim.revision, found.first?.revision != revision {
            return "acknowledged as another revision"
        }
        if let found = found.first, found.changeCount != claim.changeCount {
            return "committed in part"
        }
        return nil
    }
}

/// Looks at a store that a session has left: whether it is whole, whether it agrees with the
/// session, and whether it takes a further commit.
func judge(_ path: String, _ testimony: Testimony) throws -> String? {
    if let broken = testimony.broken { return "it said: \(broken)" }
    guard FileManager.default.fileExists(atPath: path) else {
        let isEmpty = !testimony.statements.contains {
            if case .acknowledged = $0 { true } else { false }
        }
        return isEmpty ? nil : "the store is gone"
    }
    if let problem = try answers(to: [CheckRequest(path: path)])[0].problem { return problem }
    let file = try StoreFile.open(at: path, schema: .campaign)
    defer { file.close() }
    if let contradiction = try testimony.contradiction(in: file) { return contradiction }
    var workload = Workload(seed: 1, stream: 1, changeLimit: 6)
    try workload.load(file)
    let edits = workload.edits()
    let commit = try file.commit(edits, base: workload.revision, token: workload.token())
    workload.adopt(edits, commit.revision)
    return try workload.difference(from: file)
        ?? file.verify().problems.first.map { "after a further commit: \($0)" }
}
