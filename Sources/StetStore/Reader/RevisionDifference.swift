/// The difference between the states at two revisions, either of which may be the earlier one.
struct RevisionDifference: ~Copyable {
    private let reader: StoreReader
    private let first: Revision
    private let last: Revision

    private var schema: Schema { reader.file.schema }

    init(_ reader: consuming StoreReader, from first: Revision, to last: Revision) {
        self.reader = reader
        self.first = first
        self.last = last
    }

    func changeSet() throws -> ChangeSet {
        if min(first, last) < (try reader.floor()) {
            try JournalFloor.refuse(min(first, last).next, in: reader.transaction)
        }
        var touched: [EntityNumber: Set<ObjectID>] = [:]
        var links: [ObjectKey: Set<LinkKey>] = [:]
        var revision = min(first, last).next
        while revision <= max(first, last) {
            try reader.forEachTouchedObject(
                of: revision,
                links: { link in
                    guard let entity = schema.ends(ofLink: link.link)?.targets.owner else {
                        return
                    }
                    touched[entity, default: []].insert(link.source)
                    links[ObjectKey(entity, link.source), default: []].insert(link)
                }
            ) { entity, id, _ in
                touched[entity, default: []].insert(id)
            }
            revision = revision.next
        }
        var changes: [ObjectChange] = []
        for (entity, ids) in touched.sorted(by: { $0.key < $1.key }) {
            for id in ids.sorted() {
                let before = try values(ofEntity: entity, id, asOf: first)
                let after = try values(ofEntity: entity, id, asOf: last)
                let relationships = try relationships(
                    of: links[ObjectKey(entity, id)] ?? [], entity)
                if let change = change(ofEntity: entity, id, before, after, relationships) {
                    changes.append(change)
                }
            }
        }
        return ChangeSet(changes: changes)
    }

    private func relationships(
        of links: Set<LinkKey>, _ entity: EntityNumber
    ) throws -> [RelationshipChange] {
        let changes = try links.sorted().compactMap { key -> LinkChange? in
            let before = try reader.link(key, asOf: first).membership
            let after = try reader.link(key, asOf: last).membership
            return before == after
                ? nil : LinkChange(key, before: before, after: after, previous: .zero)
        }
        return try schema.relationships(of: schema.entities[entity], changes, entity)
    }

    private func values(
        ofEntity entity: EntityNumber, _ id: ObjectID, asOf revision: Revision
    ) throws -> [Value]? {
        try reader.withRecord(ofEntity: entity, id, asOf: revision) { record in
            try RecordBody(record.body, of: schema.entities[entity]).values()
        }
    }

    private func change(
        ofEntity number: EntityNumber, _ id: ObjectID, _ before: [Value]?, _ after: [Value]?,
        _ relationships: [RelationshipChange]
    ) -> ObjectChange? {
        let entity = schema.entities[number]
        let kind: ChangeKind
        switch (before, after) {
        case (nil, nil): return nil
        case (nil, _?): kind = .insert
        case (_?, nil): kind = .delete
        case (_?, _?): kind = .update
        }
        let properties = entity.properties.slotted.compactMap { slot, property in
            let cell = PropertyChange(
                property, old: before?[slot] ?? .null, new: after?[slot] ?? .null)
            return kind == .update && cell.old == cell.new ? nil : cell
        }
        if properties.isEmpty, relationships.isEmpty, kind == .update { return nil }
        return ObjectChange(
            entity: entity.name, id: id, kind: kind, properties: properties,
            relationships: relationships)
    }
}
