public import StetStore

/// The changes of the objects of one model, commit by commit, in order, each once, whichever
/// process makes them.
///
/// An element contains all wanted changes of one commit; commits without any are left out. An
/// update that writes equal values is not a change. Commits from before a migration have the names
/// and types of the present models; an update of a property that a model no longer has is a change
/// without changed properties. Methods narrow the sequence down; each can be
/// called several times, and a change must pass all of them.
///
/// ```swift
/// let ratings = store.changes(of: Article.self, after: .beginning)
///     .properties(\.rating, \.tags).authors("lala").withSnapshots()
/// ```
///
/// A slow observer is served from the journal without noticing. The sequence ends when the store is
/// closed, after the observer has received the existing changes, or when the task that iterates is
/// cancelled.
public struct Changes<M: Model>: AsyncSequence, Sendable {
    let store: Store
    let start: FeedStart
    var filter: ChangeFilter<M>

    init(store: Store, after start: FeedStart) {
        self.store = store
        self.start = start
        filter = ChangeFilter(store)
    }

    /// Creates an independent iterator that begins where the sequence begins.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            store: store, filter: filter,
            reader: FeedReader(file: store.file, after: start, [filter.interest]))
    }

    // MARK: Narrowing down

    /// Returns only the changes of some objects.
    public func objects(_ ids: some Sequence<ObjectID>) -> Changes {
        changed { filter in
            let ids = Set(ids)
            filter.interest.objects = filter.interest.objects?.intersection(ids) ?? ids
        }
    }

    /// Returns the inserts, the deletes and those updates that change one of some properties:
    /// `.properties(\.title, \.tags)`.
    ///
    /// A to-many relationship counts as a property when links change it: when it is many-to-many or
    /// has no inverse. Where members refer to the object, observe that reference. An embedded value
    /// stands for all of its members.
    ///
    /// - Precondition: each is a property of the model.
    public func properties(_ properties: PartialKeyPath<M.Fields>...) -> Changes {
        let schema = store.file.schema
        return changed {
            $0.narrow(to: properties.flatMap { FeedProperty.named($0, of: M.self, in: schema) })
        }
    }

    /// Returns the changes that some authors have made.
    public func authors(_ authors: String...) -> Changes {
        changed { filter in
            let authors = Set(authors)
            filter.interest.authors = filter.interest.authors?.intersection(authors) ?? authors
        }
    }

    /// Returns the changes of commits whose cause passes a test, such as undos.
    ///
    /// - Parameter isWanted: the test, which runs on the task that iterates.
    /// - Returns: the changes of those commits.
    public func causes(where isWanted: @escaping @Sendable (Cause) -> Bool) -> Changes {
        changed { filter in
            let before = filter.isWantedCause
            filter.isWantedCause = { before($0) && isWanted($0) }
        }
    }

    /// Returns the changes except those that a context saves.
    ///
    /// Undos and redos of its commits are commits of the store, and are delivered. If the context
    /// commits in turn with others, at least its last 32,768 commits are known; an observer that is
    /// further behind receives the earlier ones.
    public func excluding(_ context: ManagedContext) -> Changes {
        changed { $0.excluded.append(context.core.ownCommits) }
    }

    /// Returns the changes with whole snapshots of updated objects, in `old.snapshot` and
    /// `new.snapshot`.
    ///
    /// - Complexity: for each update two reads, and a few for each later change of the object.
    public func withSnapshots() -> Changes {
        changed { $0.wantsSnapshots = true }
    }

    private func changed(_ change: (inout ChangeFilter<M>) -> Void) -> Changes {
        var copy = self
        change(&copy.filter)
        return copy
    }

    // MARK: Reading

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let store: Store
        fileprivate let filter: ChangeFilter<M>
        fileprivate var reader: FeedReader

        /// Returns the next commit with wanted changes, or nil when the store was closed or the
        /// task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the journal cannot be read: `.historyTrimmed`, with the
        ///   revision that the journal begins after, when the next commit, or the state that the
        ///   condition reads, was trimmed; `.noSuchRevision` for a start beyond the last commit;
        ///   `.noThread`. `.snapshotTooOld` when the condition reads members, and too much has
        ///   changed since the commit.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ChangeEvent<M>? {
            while let commit = try await reader.next(isolation: actor) {
                do {
                    let changes = try filter.changes(of: commit, in: store)
                    if !changes.isEmpty { return ChangeEvent(commit: commit, changes: changes) }
                } catch {
                    reader.giveBack(commit)
                    throw error
                }
            }
            return nil
        }
    }
}

/// The changes that one commit has made to objects of a model.
public struct ChangeEvent<M: Model>: Sendable, Equatable {
    /// The whole commit: its author, time and cause, and all its changes.
    public let commit: Commit
    /// The wanted changes, in ascending order of id; at least one.
    public let changes: [Change<M>]

    /// The number of the commit.
    public var revision: Revision { commit.revision }
}

/// The state of a changed object that must satisfy a condition.
public enum ConditionSide: Hashable, Sendable, CaseIterable {
    /// The state before the change, the state after it, or both.
    case either
    /// The state before the change and the state after it: neither an insert nor a delete.
    case both
    /// The state after the change, but not the state before it: the object begins to satisfy the
    /// condition, or is inserted with it satisfied.
    case entering
    /// The state before the change, but not the state after it: the object ceases to satisfy the
    /// condition, or is deleted while it satisfies it.
    case leaving

    func holds(old: () throws -> Bool, new: () throws -> Bool) rethrows -> Bool {
        switch self {
        case .either: try new() || old()
        case .both: try new() && old()
        case .entering: try new() && !old()
        case .leaving: try !new() && old()
        }
    }
}
