// Taking commits back without models: for the tool, which knows no validators in code.

/// What became of an undo, a redo or a revert.
package enum UndoOutcome: Sendable {
    case written(Commit)
    /// There was nothing on the stack, or nothing was left to take back.
    case nothing
    case conflicts([UndoConflict])
    case violations([Violation])
    /// The store moved each time.
    case contention
}

extension StoreFile {
    private static let preparationLimit = 8

    /// Takes commits back, with the rules of the schema asked and no others.
    ///
    /// `author` and `scope` are those of a revert. `time` is in seconds since 2001.
    ///
    /// - Throws: `StoreError`, `UnknownOutcomeError`.
    package func takeBack(
        _ request: UndoRequest, _ policy: UndoPolicy, author: String? = nil, scope: String? = nil,
        metadata: [String: String] = [:], time: Double
    ) throws -> UndoOutcome {
        for _ in 0..<Self.preparationLimit {
            let found: PreparedUndo?
            do {
                found = try read { try $0.prepare(request, policy) }
            } catch let error as StoreError where error.code == .erased {
                try discardErased(request, time: time)
                throw error
            }
            guard let prepared = found else { return .nothing }
            let inverse = prepared.inverse
            if !inverse.conflicts.isEmpty { return .conflicts(inverse.conflicts) }
            let net = try inverse.netChanges(schema)
            guard let purpose = prepared.purpose(isEmpty: net.items.isEmpty) else {
                return .nothing
            }
            let miscounts = try read { try $0.miscounts(of: net) }
            let violations =
                try net.violations() + schema.violations(miscounts, .english) { _ in .update }
            if !violations.isEmpty { return .violations(violations.inTotalOrder()) }
            var attributes = prepared.attributes(author: author, scope: scope)
            attributes.metadata.merge(metadata) { _, new in new }
            let encoded = try net.encoded(
                attributes: attributes, base: inverse.base, token: .random(in: .min ... .max),
                time: time, for: purpose)
            do {
                let commit = try commit(encoded)
                return commit.changeCount == 0 ? .nothing : .written(commit)
            } catch let refusal as CommitRefusal {
                if refusal.reasons.contains(.schemaChanged) {
                    throw StoreError.migratedElsewhere(path: path)
                }
            }
        }
        return .contention
    }

    /// Takes a step off its stack that can never be taken back, unless somebody else has.
    private func discardErased(_ request: UndoRequest, time: Double) throws {
        let prepared = try read { try $0.prepareDiscard(request, onlyErased: true) }
        guard let prepared, let purpose = prepared.purpose(isEmpty: true) else { return }
        let encoded = try prepared.inverse.netChanges(schema).encoded(
            attributes: prepared.attributes(author: nil, scope: nil), base: prepared.inverse.base,
            token: .random(in: .min ... .max), time: time, for: purpose)
        do {
            _ = try commit(encoded)
        } catch is CommitRefusal {
            // Something else is on top by now.
        }
    }
}
