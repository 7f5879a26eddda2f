/// The progress of a transaction's entries to the shared journal.
enum SharedAppending {
    /// Nothing was sent, or the store has no shared journal.
    case notBegun
    case begun
    /// The entries are in the shared journal, even if the transaction is aborted.
    case appended
}
