import Stet

/// Watches the commits of a store in a task of its own, as another part of a service would.
actor Observer {
    /// Every commit so far, in the order in which they came.
    private(set) var commits: [Commit] = []
    /// True when the sequence of commits has come to its end, as it does when the store is closed.
    private(set) var hasEnded = false
    /// Why the sequence broke off; nil when it did not.
    private(set) var failure: (any Error)?

    /// An observer of what is committed from now on.
    static func watching(_ store: Store) -> Observer {
        let observer = Observer()
        // Taken here, not in the task: nothing that is committed before the task runs is missed.
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

    /// The commits up to a revision, as soon as all of them have come.
    ///
    /// It waits for ten seconds at most, so that a lost commit is a surprise and not an endless
    /// wait.
    func commits(through revision: Revision) async -> [Commit] {
        await wait { self.commits.last.map { $0.revision >= revision } ?? false }
        return commits.filter { $0.revision <= revision }
    }

    /// Waits for the end of the sequence, ten seconds at most.
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

/// The names of objects, learned from commits alone: an update names only what it changed.
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
