import StetStore

extension MigrationPlan {
    /// The input and output of a version's code in a `MigrationPlan`: the objects of the previous
    /// version, and those of the version itself.
    ///
    /// Objects keep their ids. The edits of a step are validated and saved, 1,000 objects at a
    /// time, in a copy that nobody else uses. A step that was interrupted runs again from its
    /// beginning, and the calls that were completed do nothing: a step must make the same calls
    /// each time, and do all its work in them.
    ///
    /// Use it on the isolation that opens the store.
    public final class Step {
        private let source: Store
        private let target: Store
        private let progress: (@Sendable (MigrationPlan.Progress) throws -> Void)?
        /// The number of calls that the step has made.
        private var callCount = 0
        private let done: StepMark?
        /// True when something other than the step's code has failed.
        private(set) var isInterrupted = false

        init(
            from source: Store, to target: Store,
            _ progress: (@Sendable (MigrationPlan.Progress) throws -> Void)?
        ) throws {
            self.source = source
            self.target = target
            self.progress = progress
            let head = try target.revision()
            done =
                head == .zero
                ? nil : try target.journal(from: .revision(head)).first.flatMap(StepMark.init)
        }

        private static let batchCount = 1_000

        /// Calls `body` for each object that exists in both versions, with both objects.
        ///
        /// Through the objects' contexts it can read the rest of the old version, and read, insert
        /// and delete in the new one. The old objects are not saved. Objects that the step has
        /// deleted are skipped.
        ///
        /// - Throws: the error of `body`, `ValidationError`, `StoreError`.
        /// - Complexity: O(objects).
        public func forEach<Old: Model, New: Model>(
            _ old: Old.Type, _ new: New.Type, _ body: (_ old: Old, _ new: New) throws -> Void
        ) throws {
            try forEach(old) { object, context in
                guard let counterpart = try context.object(new, id: object.id) else { return }
                try body(object, counterpart)
            }
        }

        /// Calls `body` for each object of the previous version, with a context of the new version:
        /// for models that no longer exist, or become others.
        ///
        /// - Throws: the error of `body`, `ValidationError`, `StoreError`.
        /// - Complexity: O(objects).
        public func forEach<Old: Model>(
            _ old: Old.Type, _ body: (_ old: Old, _ new: ManagedContext) throws -> Void
        ) throws {
            callCount += 1
            if let done, done.call > callCount { return }
            let ids = try source.ids(of: old)
            var first = 0
            if let done, done.call == callCount, let last = done.last {
                first = ids.firstIndex { $0 > last } ?? ids.count
            }
            while first < ids.count {
                let batch = ids[first..<min(first + Self.batchCount, ids.count)]
                try edit(StepMark(call: callCount, last: batch.last)) { source, target in
                    for id in batch {
                        if let object = try source.object(old, id: id) { try body(object, target) }
                    }
                }
                first += batch.count
                try report(
                    MigrationPlan.Progress(work: Old._$name, doneCount: first, count: ids.count))
            }
        }

        private func report(_ progress: MigrationPlan.Progress) throws {
            do {
                try self.progress?(progress)
            } catch {
                isInterrupted = true
                throw error
            }
        }

        /// Calls `body` once, with a context of the previous version and one of the new version,
        /// and saves its edits.
        ///
        /// - Throws: the error of `body`, `ValidationError`, `StoreError`.
        public func edit(
            _ body: (_ old: ManagedContext, _ new: ManagedContext) throws -> Void
        ) throws {
            callCount += 1
            if let done, done.call >= callCount { return }
            try edit(StepMark(call: callCount, last: nil), body)
        }

        private func edit(
            _ mark: StepMark, _ body: (ManagedContext, ManagedContext) throws -> Void
        ) throws {
            let context = target.context(scope: StepMark.scope)
            try body(source.context(), context)
            try context.save(mark.label)
        }
    }
}

extension MigrationPlan {
    /// The progress of a migration.
    public struct Progress: Sendable, Hashable {
        /// The current work: the name of a model, or an index in words.
        public let work: String
        /// The number of objects that are done.
        public let doneCount: Int
        /// The total number of objects.
        public let count: Int
    }
}

/// The label of a step's commits, by which a step that was interrupted finds its place.
struct StepMark {
    static let scope = "migration"

    /// The number of the step's call, starting at 1.
    let call: Int
    /// The last object of the call that is done; nil for a call without objects.
    let last: ObjectID?

    init(call: Int, last: ObjectID?) {
        self.call = call
        self.last = last
    }

    /// Creates the mark of a commit; nil when the commit was not made by a step.
    init?(_ commit: Commit) {
        guard commit.cause == .migration, commit.scope == Self.scope,
            let words = commit.label?.split(separator: " "), words.first == "step",
            let call = words.dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        self.call = call
        last = words.count == 4 ? ObjectID(String(words[3])) : nil
    }

    var label: String { "step \(call)" + (last.map { " through \($0)" } ?? "") }
}

extension Store {
    /// Returns the ids of all objects of a model, in ascending order.
    fileprivate func ids<M: Model>(of type: M.Type) throws -> [ObjectID] {
        guard let number = file.schema.number(ofEntity: M._$name) else { return [] }
        return try file.read { reader in
            var ids: [ObjectID] = []
            let head = try reader.head().revision
            try reader.forEachRecord(ofEntity: number, asOf: head) { id, _ in
                ids.append(id)
                return true
            }
            return ids
        }
    }
}
