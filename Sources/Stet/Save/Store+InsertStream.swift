import StetStore

/// The treatment of a new object that has the unique values of another one.
///
/// Any unique property or `#Unique` of the model counts, compared as the rule compares, after
/// normalisation.
public struct UniquenessPolicy<M: Model> {
    fileprivate enum Decision {
        case fail
        case skip
        case update((_ existing: M, _ new: M) throws -> Void)
    }
    fileprivate let decision: Decision

    /// The insertion ends with a `ValidationError`.
    public static var fail: UniquenessPolicy { UniquenessPolicy(decision: .fail) }

    /// The new object is not inserted.
    ///
    /// The existing one may be an earlier object of the stream.
    public static var skip: UniquenessPolicy { UniquenessPolicy(decision: .skip) }

    /// The closure takes what it wants of the new object over into the existing one; the new object
    /// is not inserted.
    ///
    /// An object that conflicts with several others updates the one with the same value of the
    /// property that is declared first.
    ///
    /// ```swift
    /// .update { existing, new in existing.name = new.name }
    /// ```
    public static func update(
        _ change: @escaping (_ existing: M, _ new: M) throws -> Void
    ) -> UniquenessPolicy {
        UniquenessPolicy(decision: .update(change))
    }
}

extension Store {
    /// Inserts an object for each element of a stream, in commits of `batch` objects.
    ///
    /// At most one batch is in memory. With an author, all commits are one undo step. The closure
    /// returns an uninserted object for an element, or nil for none. If the insertion ends early,
    /// committed batches stay: the error contains the number of their elements, so that another
    /// call can continue after them.
    ///
    /// ```swift
    /// try await store.insert(stream: lines, author: "importer") { Article(title: $0) }
    /// ```
    ///
    /// An object whose unique values another one has, in the store or in the stream, is treated as
    /// `onConflict` says. What such an object refers to is inserted all the same; what refers to it
    /// refers to the other object instead, also the members of its to-many relationships with a
    /// to-one inverse.
    ///
    /// - Returns: the number of inserted objects.
    /// - Throws: `InsertStreamError`.
    /// - Precondition: a batch has at least one object.
    @discardableResult
    public nonisolated(nonsending) func insert<Elements: AsyncSequence, M: Model>(
        stream elements: Elements, _ label: String? = nil, author: String? = nil,
        scope: String? = nil, batch: Int = 1_000, onConflict policy: UniquenessPolicy<M> = .fail,
        _ make: (Elements.Element) throws -> M?
    ) async throws -> Int {
        trap(unless: batch > 0, "a batch needs at least one object")
        var insertion = StreamInsertion(self, (label, author, scope), batch, policy)
        return try await insertion.run(elements, make)
    }
}

/// The insertion of the elements of a stream, batch after batch.
private struct StreamInsertion<M: Model> {
    private let store: Store
    private let attributes: (label: String?, author: String?, scope: String?)
    private let batch: Int
    private let policy: UniquenessPolicy<M>
    private let group = UndoGroup()
    private var progress = (taken: 0, committed: 0, inserted: 0)

    init(
        _ store: Store, _ attributes: (label: String?, author: String?, scope: String?),
        _ batch: Int, _ policy: UniquenessPolicy<M>
    ) {
        self.store = store
        self.attributes = attributes
        self.batch = batch
        self.policy = policy
    }

    nonisolated(nonsending) mutating func run<Elements: AsyncSequence>(
        _ elements: Elements, _ make: (Elements.Element) throws -> M?
    ) async throws -> Int {
        var iterator = elements.makeAsyncIterator()
        var isAtEnd = false
        do {
            while !isAtEnd {
                try Task.checkCancellation()
                let context = store.context(author: attributes.author, scope: attributes.scope)
                context.undoGroup = group
                var inserted: [ObjectID: M] = [:]
                while inserted.count < batch {
                    guard let element = try await iterator.next(isolation: #isolation) else {
                        isAtEnd = true
                        break
                    }
                    progress.taken += 1
                    guard let object = try make(element) else { continue }
                    context.insert(object)
                    inserted[object.id] = object
                }
                try await context.save(attributes.label, &inserted, policy)
                progress.inserted += inserted.count
                progress.committed = progress.taken
            }
        } catch {
            throw InsertStreamError(
                elementCount: progress.committed, insertedCount: progress.inserted,
                cause: error)
        }
        return progress.inserted
    }
}

extension ManagedContext {
    /// Saves new objects, and treats those that are refused because of their unique values as a
    /// policy says, until the rest is saved; removes them from `objects`.
    fileprivate nonisolated(nonsending) func save<M: Model>(
        _ label: String?, _ objects: inout [ObjectID: M], _ policy: UniquenessPolicy<M>
    ) async throws {
        defer { core.saves.isRepeated = nil }
        while true {
            // A save whose conflicts are resolved is none that was refused.
            core.saves.isRepeated = { [objects] error in
                !policy.conflicts(in: error, among: objects).isEmpty
            }
            do {
                _ = try await save(label, onFailure: .keepPending)
                return
            } catch {
                let conflicts = policy.conflicts(in: error, among: objects)
                // Ends, because each round removes at least one object.
                guard try resolve(conflicts, &objects, policy) else { throw error }
            }
        }
    }

    /// Treats objects that must give way, as if each were saved alone, and returns whether there
    /// was one.
    ///
    /// It leaves to the next round those whose conflicts may be others by now: what the save has
    /// reported is the state before.
    private func resolve<M: Model>(
        _ conflicts: [UniqueConflict], _ objects: inout [ObjectID: M], _ policy: UniquenessPolicy<M>
    ) throws -> Bool {
        var hasResolved = false
        for conflict in conflicts {
            // One that conflicts with two objects gives way to the first.
            guard let object = objects[conflict.loser] else { continue }
            // The other one may have given way itself.
            guard let existing = try self.object(M.self, id: conflict.winner) else { break }
            var isWinnerChanged = false
            if case .update(let change) = policy.decision {
                let before = try uniqueValues(of: existing)
                try change(existing, object)
                isWinnerChanged = try existing.isDeleted || uniqueValues(of: existing) != before
            }
            // What refers to an object would insert it again.
            let owner = existing.isDeleted ? .none : existing.id
            try core.pending.redirectReferrers(of: object, to: owner)
            rollback(object)
            objects[conflict.loser] = nil
            hasResolved = true
            if isWinnerChanged { break }
        }
        return hasResolved
    }

    /// Returns the values on which the entries of an object in unique indexes depend.
    private func uniqueValues<M: Model>(of object: M) throws -> [Value] {
        let entity = core.table(for: M.self).entity
        let indexes = core.schema.indexes(ofEntity: entity).map(\.index).filter(\.isUnique)
        let values = try object._$body().values(of: core.schema.entities[entity])
        return indexes.flatMap { $0.slots + $0.conditionSlots.sorted() }.map { values[$0] }
    }
}

/// A new object that has a unique value of another one.
private struct UniqueConflict {
    let loser: ObjectID
    let winner: ObjectID
}

extension UniquenessPolicy {
    /// Returns the conflicts of a refused save of new objects, in the order of the objects that
    /// must give way; none if the save was refused for other reasons, too, or the policy resolves
    /// none.
    fileprivate func conflicts(
        in error: any Error, among objects: [ObjectID: M]
    ) -> [UniqueConflict] {
        if case .fail = decision { return [] }
        guard let error = error as? ValidationError,
            error.violations.allSatisfy({ $0.code == .notUnique })
        else { return [] }
        return error.violations.compactMap { violation in
            guard let id = violation.object, let other = violation.other, objects[id] != nil
            else { return nil }
            // Of two new objects the later one gives way: ids ascend.
            if objects[other] != nil, other > id { return nil }
            return UniqueConflict(loser: id, winner: other)
        }
    }
}

/// The error of an insertion from a stream that ended early.
public struct InsertStreamError: Error, CustomStringConvertible {
    /// The number of elements, from the first one on, that were committed; another call can insert
    /// the elements after them.
    public let elementCount: Int
    /// The number of objects that were inserted by these commits.
    public let insertedCount: Int
    /// The error of the stream, of the closure or of a save.
    public let cause: any Error

    /// A sentence about what happened, and where to continue.
    public var description: String {
        "\(cause) \(insertedCount) objects were inserted; go on behind element \(elementCount)."
    }
}
