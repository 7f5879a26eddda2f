public import StetStore

// The feeds of a store.

extension Store {
    /// The commits from now on, as they are made: every one, in order, once.
    ///
    /// It equals `commits(after: .now)`. No commit waits for observers.
    public var commits: Commits { commits(after: .now) }

    /// Returns the commits after a revision, from the journal and then as they are made: every one,
    /// in order, once, whichever process makes them.
    ///
    /// ```swift
    /// for try await commit in store.commits(after: .revision(lastSeen)) { … }
    /// ```
    ///
    /// An observer that stores the revision of the last commit that it has handled, and begins
    /// after it the next time, misses none and gets none twice.
    ///
    /// - Parameter start: a revision, `.beginning` for all that the journal still contains, or
    ///   `.now`.
    /// - Returns: a sequence that ends when the store is closed. It throws `StoreError`
    ///   (`.historyTrimmed`), which names the revision after which the journal begins, when the
    ///   next commit was trimmed.
    public func commits(after start: FeedStart) -> Commits {
        Commits(file: file, after: start.resolved(in: self))
    }

    /// Returns the changes of the objects of one model, commit by commit, as they are made.
    ///
    /// ```swift
    /// for try await event in store.changes(of: Article.self) {
    ///     for change in event.changes { … }
    /// }
    /// ```
    ///
    /// Methods of `Changes` narrow it down: to some objects, properties, authors or causes.
    /// Observers that a commit does not concern are not woken, and nothing is decoded for them.
    ///
    /// - Parameters:
    ///   - type: the model.
    ///   - start: a revision, `.beginning` for all that the journal still contains, or `.now`.
    /// - Returns: a sequence that ends when the store is closed.
    public func changes<M: Model>(of type: M.Type, after start: FeedStart = .now) -> Changes<M> {
        Changes(store: self, after: start.resolved(in: self))
    }

    /// Returns the changes of the objects of one model that satisfy a condition before or after the
    /// change.
    ///
    /// ```swift
    /// let good = store.changes(of: Article.self, when: .entering) { $0.rating >= 3 }
    /// for try await event in good { … }
    /// ```
    ///
    /// The condition is written in the query language. It reads the store at the revision of the
    /// commit and at the one before, so that its references and members are those of that time; but
    /// only changes of the object itself are considered.
    ///
    /// - Parameters:
    ///   - type: the model.
    ///   - start: a revision, `.beginning` for all that the journal still contains, or `.now`.
    ///   - side: the states of the object that must satisfy the condition. Defaults to `.either`.
    ///   - condition: the condition.
    /// - Returns: a sequence that ends when the store is closed.
    public func changes<M: Model>(
        of type: M.Type, after start: FeedStart = .now, when side: ConditionSide = .either,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> Changes<M> {
        var changes = changes(of: type, after: start)
        changes.filter.condition = condition(M.fields).node
        changes.filter.side = side
        return changes
    }

    /// The revisions of the store from now on, for observers that only need to know that it has
    /// changed: each element stands for all commits since the previous one.
    ///
    /// No commit is read, decoded or kept for them.
    public var signals: Signals {
        Signals(file: file, after: (try? revision()) ?? file.feed.head)
    }

    /// The saves and undos of this process that are refused or rolled back from now on.
    ///
    /// The journal does not contain them. An attempt that `edit` repeats is no refusal.
    public var refusals: Refusals { Refusals(file.refusals) }
}

extension FeedStart {
    /// Returns the start in which the current revision replaces `.now`.
    fileprivate func resolved(in store: Store) -> FeedStart {
        guard self == .now else { return self }
        // If the head cannot be read, the observer's first read throws the error.
        return .revision((try? store.revision()) ?? store.file.feed.head)
    }
}
