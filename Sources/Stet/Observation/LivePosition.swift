import StetStore

/// The position of an observer of results, which follows all new commits at once, to the revision
/// of the last one.
///
/// State: belongs to one iterator; it has no lock.
final class LivePosition {
    /// The greatest number of commits that are followed one by one; after more, the result is
    /// computed anew.
    private static let commitLimit = 4_096

    private let file: StoreFile
    private var reader: FeedReader

    init(_ store: Store, _ interests: [FeedInterest]) {
        file = store.file
        reader = FeedReader(file: store.file, after: .now, interests)
    }

    /// Returns the first non-nil result of `follow` for the commits that concern the observer; nil
    /// when the store was closed or the task cancelled.
    func next<Result>(
        isolation actor: isolated (any Actor)?,
        _ follow: (FeedReader.Backlog, QueryState) throws -> Result?
    ) async throws -> Result? {
        do {
            while !Task.isCancelled {
                if let result = try poll(follow) { return result }
                guard try await reader.wait(isolation: actor) else { return nil }
            }
        } catch let error as StoreError where error.code == .storeClosed {
            return nil
        }
        return nil
    }

    /// Returns the result of `follow` for the commits since the last call and the state after them.
    ///
    /// When it throws, the position has not moved.
    func poll<Result>(
        _ follow: (FeedReader.Backlog, QueryState) throws -> Result?
    ) throws -> Result? {
        let position = reader
        do {
            return try file.read { store in
                let head = try store.head().revision
                let backlog = try reader.take(through: head, limit: Self.commitLimit, store)
                let view = QueryState.View(WorkingState(file.schema, at: head))
                return try follow(backlog, QueryState(store, view))
            }
        } catch {
            reader = position
            throw error
        }
    }
}
