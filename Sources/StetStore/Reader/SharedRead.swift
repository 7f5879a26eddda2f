import StetLMDB

/// A read of a store that stays open, so that many small reads cost one transaction.
///
/// Each use shows a commit that was the last one a short time ago, and not the same one as the use
/// before: callers read as of a revision.
package final class SharedRead {
    private let file: StoreFile
    private let kept: KeptRead

    package init(_ file: StoreFile) {
        self.file = file
        kept = KeptRead(file.environment)
    }

    /// Runs `body` on a consistent view.
    ///
    /// - Throws: `StoreError`, and the error of `body`.
    @_semantics("optimize.sil.specialize.generic.never")  // As for `StoreFile.read`.
    package func read<Result>(_ body: (borrowing StoreReader) throws -> Result) throws -> Result {
        try StoreError.wrapping(path: file.path) {
            try kept.use { transaction in
                try file.checkSchema(transaction)
                return try body(StoreReader(transaction, file))
            }
        }
    }

    /// Ends the read; the next use begins another one.
    package func end() {
        kept.end()
        if file.environment.takeWishForKeeper() { file.attend() }
    }
}
