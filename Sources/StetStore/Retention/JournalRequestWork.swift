import StetLMDB

/// Carries out the request of a commit, in the transaction that writes the commit.
struct JournalRequestWork {
    let file: StoreFile

    /// Returns the reason why a new commit can't have a request; nil when there is none.
    func refusal(
        of request: JournalRequest, in transaction: borrowing ReadTransaction
    ) throws -> StoreError? {
        guard case .redaction(let requests) = request else { return nil }
        do {
            _ = try RedactionWork.perform(requests, file, transaction) { _, _ in }
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    /// Carries out the request of a commit.
    ///
    /// A trim is noted only, because it takes several transactions.
    ///
    /// - Returns: The commits in which values were redacted.
    /// - Throws: `DecodingFailure` for a request that no store makes.
    @discardableResult
    func carryOut(
        _ request: JournalRequest, of revision: Revision,
        in transaction: borrowing WriteTransaction
    ) throws -> [Revision] {
        switch request {
        case .trim(let last):
            guard last < revision else {
                throw DecodingFailure("revision \(revision) trims commits that follow it")
            }
            try WantedFloor.raise(to: last, in: transaction)
            return []
        case .redaction(let requests):
            for request in requests {
                guard let entity = file.schema.entity(numbered: request.entity),
                    request.slots.allSatisfy({ entity.properties.element(at: $0) != nil })
                else {
                    throw DecodingFailure("revision \(revision) redacts an unknown property")
                }
            }
            return try RedactionWork.carryOut(requests, file, refuses: false, in: transaction)
                .revisions
        }
    }

    /// Completes what a transaction has carried out: removes redacted values from memory, the log
    /// and drafts, and trims.
    ///
    /// - Throws: `StoreError` when drafts cannot be written, or the journal cannot be trimmed.
    func finish(_ request: JournalRequest) throws {
        switch request {
        case .trim(let last): try file.trim(through: last)
        case .redaction(let requests):
            file.forgetValues()
            try DraftFiles(of: file.path).redact(requests, file.schema)
        }
    }
}
