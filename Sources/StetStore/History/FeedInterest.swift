/// The changes that an observer wants, as far as the headers of journal entries determine them.
///
/// A commit that it excludes does not concern the observer; one that it includes may still turn out
/// not to. It is data, so that the committing thread runs no users' code.
package struct FeedInterest: Sendable, Hashable {
    /// One end of a type of links, as a relationship of the objects of interest.
    package struct LinkEnd: Sendable, Hashable {
        package let link: Int
        /// True when the objects of interest are the sources of the links.
        package let isOfSources: Bool

        package init(link: Int, isOfSources: Bool) {
            self.link = link
            self.isOfSources = isOfSources
        }
    }

    /// The entity of the objects.
    package let entity: EntityNumber
    /// The ids of the objects; nil for all of the entity.
    package var objects: Set<ObjectID>?
    /// The slots of the wanted properties; nil for all of them; an insert and a delete change every
    /// property.
    package var slots: Set<Slot>?
    /// The wanted many-to-many relationships, by their links.
    package var links: Set<LinkEnd>
    /// The authors of the commits; nil for all of them.
    package var authors: Set<String>?

    /// Creates an interest in every change of an entity's objects.
    package init(inEntity entity: EntityNumber, of schema: Schema) {
        self.entity = entity
        links = Set(
            schema.ends(ofOwner: entity).compactMap { end in
                switch end.source {
                case .reference: nil
                case .targets(let link): LinkEnd(link: link, isOfSources: true)
                case .sources(let link): LinkEnd(link: link, isOfSources: false)
                }
            })
    }

    func includesAuthor(of commit: Commit) -> Bool {
        guard let authors else { return true }
        return commit.author.map(authors.contains) ?? false
    }

    /// Returns whether a change of an object, or of its links, may be wanted.
    package func includes(_ change: JournalChange, comparesSlots: Bool) throws -> Bool {
        if change.entity == entity, objects?.contains(change.id) ?? true,
            try includesValues(of: change, comparesSlots)
        {
            return true
        }
        guard change.changesLinks, !links.isEmpty else { return false }
        return try change.links().contains { includes($0.key) }
    }

    private func includesValues(of change: JournalChange, _ comparesSlots: Bool) throws -> Bool {
        guard let slots, change.kind == .update, comparesSlots else { return change.changesRecord }
        return try change.changedCells().contains { slots.contains($0.slot) }
    }

    private func includes(_ key: LinkKey) -> Bool {
        (links.contains(LinkEnd(link: key.link, isOfSources: true))
            && objects?.contains(key.source) ?? true)
            || (links.contains(LinkEnd(link: key.link, isOfSources: false))
                && objects?.contains(key.target) ?? true)
    }
}

extension [FeedInterest] {
    /// Returns whether a commit may change what the observer wants.
    ///
    /// - Complexity: O(changes of the commit); values are not decoded.
    func includes(_ commit: Commit) throws -> Bool {
        guard includesAuthor(of: commit) else { return false }
        // An earlier schema numbers its slots differently.
        let comparesSlots = commit.isOfPresentSchema
        var isIncluded = false
        try commit.forEachChange { change in
            isIncluded = try isIncluded || includes(change, comparesSlots: comparesSlots)
        }
        return isIncluded
    }

    func includes(_ change: JournalChange, comparesSlots: Bool) throws -> Bool {
        try contains { try $0.includes(change, comparesSlots: comparesSlots) }
    }

    func includesAuthor(of commit: Commit) -> Bool {
        contains { $0.includesAuthor(of: commit) }
    }
}

extension Commit {
    /// True when its changes were written with the current schema of the store.
    package var isOfPresentSchema: Bool { schema.revision == history.current.revision }
}
