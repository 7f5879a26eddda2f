import Stet

/// Observes the commits of a store in a separate task, as another part of a service would.
actor Observer {
    /// All commits so far, in the order of their arrival.
    private(set) var commits: [Commit] = []
    /// True once the sequence of commits has ended, as it does when the store is closed.
    private(set) var hasEnded = false
    /// The error that ended the sequence; nil if there was none.
    private(set) var failure: (any Error)?

    /// Returns an observer of all commits from now on.
    static func watching(_ store: Store) -> Observer {
        let observer = Observer()
        // Created before the task starts, so that no commit is missed.
        let commits = store.commits
        Task { await observer.follow(commits) }
        return observer
    }

    private func follow(_ sequence: Commits) async {
        do {
            for try await commit in sequence { commits.append(commit) }
        } catch {
            failure = error
        }
        hasEnded = true
    }

    /// Returns the commits up to a revision, as soon as all of them have arrived.
    ///
    /// It waits for ten seconds at most, so that a lost commit is a surprise and not an endless
    /// wait.
    func commits(through revision: Revision) async -> [Commit] {
        await wait { self.commits.last.map { $0.revision >= revision } ?? false }
        return commits.filter { $0.revision <= revision }
    }

    /// Waits for the end of the sequence for ten seconds at most, and returns whether it has ended.
    func end() async -> Bool {
        await wait { self.hasEnded }
        return hasEnded
    }

    private func wait(until isReached: () -> Bool) async {
        for _ in 0..<1_000 where !isReached() {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// The names of objects, learned from commits alone: an update contains only the changed
/// properties.
struct Names {
    private var names: [ObjectID: String] = [:]

    mutating func learn(from commit: Commit) {
        for change in commit.changes(of: Package.self) { learn(change.id, change.new[\.name]) }
        for change in commit.changes(of: Section.self) { learn(change.id, change.new[\.name]) }
        for change in commit.changes(of: Maintainer.self) { learn(change.id, change.new[\.name]) }
    }

    private mutating func learn(_ id: ObjectID, _ name: String?) {
        if let name { names[id] = name }
    }

    subscript(_ id: ObjectID) -> String { names[id] ?? "(new)" }
    subscript(_ id: ObjectID?) -> String { id.map { self[$0] } ?? "none" }
}
