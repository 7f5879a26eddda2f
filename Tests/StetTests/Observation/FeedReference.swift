import Stet
import StetLMDB
import StetStore
import Testing

/// A change as a feed delivers it and as plain Swift reads it in the journal.
struct FeedItem: Hashable, CustomStringConvertible {
    var revision: Revision
    var kind: ChangeKind
    var id: ObjectID
    var properties: Set<String>
    /// Values of properties before and after.
    var values: [String]
    var relationships: [String: [RelationshipChange.Member]]
    var snapshots: [String] = []

    var description: String {
        "\(revision) \(kind) \(id) \(properties.sorted()) \(values) \(relationships) \(snapshots)"
    }
}

/// The filters of a feed, in a form that plain Swift can answer from the journal.
struct FeedRequest {
    var objects: Set<ObjectID>?
    var properties: Set<String>?
    var authors: Set<String>?
    var isWantedCause: @Sendable (Cause) -> Bool = { _ in true }
    var condition: ((Store.View, ObjectID) throws -> Bool)?
    var side = ConditionSide.either
    /// The revisions of the context that is left out.
    var excluded: Set<Revision> = []
    var snapshots: ((Store.View, ObjectID) throws -> String)?
    /// The relationship of the model whose members are sources of links, and the relationship of
    /// the entity that owns the links.
    var inverse: (name: String, entity: String, relationship: String)?
    let entity: String
    /// The properties whose values are compared.
    let compared: [String]

    /// The items of all commits between two revisions, as the journal has them.
    func items(
        of store: Store, after start: Revision, through end: Revision
    ) throws -> [FeedItem] {
        var items: [FeedItem] = []
        for commit in try store.journal(from: .revision(start.next), to: .revision(end)) {
            items += try self.items(of: commit, store)
        }
        return items
    }

    private func items(of commit: Commit, _ store: Store) throws -> [FeedItem] {
        if let authors, !(commit.author.map(authors.contains) ?? false) { return [] }
        guard isWantedCause(commit.cause), !excluded.contains(commit.revision) else { return [] }
        let before = try store.view(asOf: #require(commit.revision.previous))
        let after = try store.view(asOf: commit.revision)
        return try allItems(of: commit).filter { item in
            guard objects?.contains(item.id) ?? true else { return false }
            if let properties, item.kind == .update,
                properties.isDisjoint(with: item.properties.union(item.relationships.keys))
            {
                return false
            }
            guard let condition else { return true }
            let old = try item.kind != .insert && condition(before, item.id)
            let new = try item.kind != .delete && condition(after, item.id)
            switch side {
            case .either: return old || new
            case .both: return old && new
            case .entering: return new && !old
            case .leaving: return old && !new
            }
        }.map { item in
            guard let snapshots else { return item }
            var item = item
            item.snapshots = [
                item.kind == .insert ? "nil" : try snapshots(before, item.id),
                item.kind == .delete ? "nil" : try snapshots(after, item.id),
            ]
            return item
        }
    }

    /// Returns all changes of the model's objects.
    private func allItems(of commit: Commit) -> [FeedItem] {
        var items: [ObjectID: FeedItem] = [:]
        let changes = commit.changeSet.changes
        for change in changes where change.entity == entity {
            items[change.id] = FeedItem(
                revision: commit.revision, kind: change.kind, id: change.id,
                properties: Set(change.properties.map(\.name)),
                values: compared.map { name in
                    let property = change[name]
                    let old = change.kind == .insert ? nil : property?.old
                    let new = change.kind == .delete ? nil : property?.new
                    return "\(name): \(Self.text(old)) → \(Self.text(new))"
                },
                relationships: Dictionary(
                    uniqueKeysWithValues: change.relationships.map { ($0.name, $0.members) }))
        }
        guard let inverse else { return items.values.sorted { $0.id < $1.id } }
        for change in changes where change.entity == inverse.entity {
            for relationship in change.relationships
            where relationship.name == inverse.relationship {
                for member in relationship.members {
                    var item =
                        items[member.id]
                        ?? FeedItem(
                            revision: commit.revision, kind: .update, id: member.id,
                            properties: [], values: compared.map { "\($0): nil → nil" },
                            relationships: [:])
                    item.relationships[inverse.name, default: []].append(
                        RelationshipChange.Member(id: change.id, old: member.old, new: member.new))
                    item.relationships[inverse.name]?.sort { $0.id < $1.id }
                    items[member.id] = item
                }
            }
        }
        return items.values.sorted { $0.id < $1.id }
    }

    private static func text(_ value: Value?) -> String {
        switch value {
        case nil, .null?: "nil"
        case .string(let text)?: text
        case .int(let number)?: "\(number)"
        case .reference(let id)?: "\(id)"
        case let other?: "\(other)"
        }
    }
}

/// The events that a feed has delivered so far, read by a task of its own.
final class FeedTask<M: Model>: Sendable {
    private let seen = Monitor<[ChangeEvent<M>]>([])
    private let failure = Monitor<(any Error)?>(nil)
    private let task: Monitor<Task<Void, Never>?> = Monitor(nil)

    init(_ changes: Changes<M>) {
        let iterator = changes.makeAsyncIterator()
        let (seen, failure) = (seen, failure)
        let reading = Task {
            var iterator = iterator
            do {
                while let event = try await iterator.next() { seen.withLock { $0.append(event) } }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        task.withLock { $0 = reading }
    }

    var events: [ChangeEvent<M>] { seen.withLock { $0 } }
    var error: (any Error)? { failure.withLock { $0 } }

    /// Ends the observer; returns when nothing of it is left.
    func end() async {
        let reading = task.withLock { $0 }
        reading?.cancel()
        await reading?.value
    }
}

extension Store {
    /// Returns when everything is published and so many observers wait, having seen it.
    func untilObserversWait(_ count: Int) async throws {
        let head = try revision()
        while file.feed.head < head || file.feed.waiterCount != count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
