import Foundation
import StetStore
import StetTestSupport

/// Random edits of the objects of a store, several objects in each commit, the same for the same
/// seed and stream.
///
/// Some values fill several pages, and some are large ones. References and links always connect
/// existing objects. An id is used once: a deleted object is never restored, but a link may be.
struct Workload {
    /// An object as in the store.
    struct Object: Hashable {
        var values: [Value]
        var revision: Revision
    }

    /// The entity and the id of an object.
    struct Key: Hashable, Comparable {
        var entity: EntityNumber
        var id: ObjectID

        static func < (one: Key, other: Key) -> Bool {
            (one.entity, one.id) < (other.entity, other.id)
        }
    }

    /// The change of one object and of the links whose source it is; `old` is nil for an insert,
    /// `new` for a delete.
    struct Edit {
        var key: Key
        var old: Object?
        var new: [Value]?
        /// The changes of links; the commit finds out when each was last changed.
        var links: [LinkChange]
    }

    /// The changes of objects and links that a commit will contain, as far as they are decided.
    private struct Draft {
        var values: [Key: [Value]?] = [:]
        var links: [LinkKey: Membership] = [:]
    }

    /// The number of objects from which deleting is likelier than inserting.
    private static let objectLimit = 300

    private var random: SeededGenerator
    private let stream: Int
    /// The maximum number of objects that a commit changes.
    var changeLimit: Int
    private var insertedCount: UInt64 = 0
    private var objects: [Key: Object] = [:]
    /// The keys of `objects`, in an order that is the same on every run.
    private var keys: [Key] = []
    /// The links that are present.
    private var links: [LinkKey: Membership] = [:]
    /// The revision at which `objects` was read.
    private(set) var revision = Revision.zero

    /// Creates a workload; writers that share a store need a stream each, and must not use one
    /// again.
    init(seed: UInt64, stream: Int, changeLimit: Int) {
        random = SeededGenerator(seed: seed, stream: stream)
        self.stream = stream
        self.changeLimit = changeLimit
    }

    // MARK: What is there

    /// Reads all present objects of the store.
    mutating func load(_ file: StoreFile) throws {
        objects = [:]
        keys = []
        links = [:]
        try file.read { reader in
            revision = try reader.head().revision
            for entity in file.schema.entities.numbers {
                let description = file.schema.entities[entity]
                try reader.forEachRecord(ofEntity: entity, asOf: revision) { id, record in
                    let body = try RecordBody(record.body, of: description)
                    let values = try description.properties.slots.map { try body.value($0) }
                    let key = Key(entity: entity, id: id)
                    objects[key] = Object(values: values, revision: record.revision)
                    keys.append(key)
                    return true
                }
            }
            links = try reader.links(asOf: revision)
        }
    }

    /// Adopts edits that were committed.
    mutating func adopt(_ edits: [Edit], _ revision: Revision) {
        for edit in edits {
            for link in edit.links { links[link.key] = link.after.isPresent ? link.after : nil }
            if edit.old?.values == edit.new { continue }
            if edit.old == nil { keys.append(edit.key) }
            objects[edit.key] = edit.new.map { Object(values: $0, revision: revision) }
        }
        if edits.contains(where: { $0.new == nil }) { keys.removeAll { objects[$0] == nil } }
        self.revision = revision
    }

    /// Returns a description of how the store's objects differ from these; nil if they do not.
    func difference(from file: StoreFile) throws -> String? {
        var present = self
        try present.load(file)
        if present.revision != revision {
            return "the head is \(present.revision) instead of \(revision)"
        }
        _ = try file.read { try $0.comparedLinks(asOf: revision) }
        let keys = Set(present.objects.keys).union(objects.keys)
        let count = keys.count { present.objects[$0] != objects[$0] }
        if count > 0 { return "\(count) objects are not as they were committed" }
        let pairs = Set(present.links.keys).union(links.keys)
        let linkCount = pairs.count { present.links[$0] != links[$0] }
        return linkCount == 0 ? nil : "\(linkCount) links are not as they were committed"
    }

    // MARK: Edits

    private func isOwn(_ key: Key) -> Bool { key.id.high == ownHigh }

    private var ownHigh: UInt64 { (0x0190_0000_0000 + UInt64(stream)) << 16 | 0x7000 }

    private mutating func isTrue(oneIn count: Int) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    /// Returns a number by which the commit can be found.
    mutating func token() -> UInt64 { random.next() }

    /// Returns the edits of one commit; at least one.
    mutating func edits() -> [Edit] {
        var draft = Draft()
        for _ in 0..<Int.random(in: 1...changeLimit, using: &random) { step(&draft) }
        var changed: [Key: [LinkChange]] = [:]
        for (key, membership) in draft.links where links[key] ?? .absent != membership {
            // Articles are the sources of all links.
            changed[Key(entity: 1, id: key.source), default: []].append(
                LinkChange(
                    key, before: links[key] ?? .absent, after: membership, previous: .zero))
        }
        // Sorted, so that every run has the same order.
        let edits = Set(draft.values.keys).union(changed.keys).sorted().compactMap {
            key -> Edit? in
            let (old, new) = (objects[key], values(key, draft))
            let links = (changed[key] ?? []).sorted { $0.key < $1.key }
            if old?.values == new, links.isEmpty { return nil }
            return Edit(key: key, old: old, new: new, links: links)
        }
        return edits.isEmpty ? self.edits() : edits
    }

    /// Returns the values of an object with the edits of the draft; nil if it does not exist.
    private func values(_ key: Key, _ draft: Draft) -> [Value]? {
        draft.values[key] ?? objects[key]?.values
    }

    /// Returns an existing object, three times out of four one that this workload has inserted.
    private mutating func present(_ entity: EntityNumber, _ draft: Draft) -> Key? {
        let prefersOwn = !isTrue(oneIn: 4)
        var found: Key?
        for _ in 0..<8 {
            guard let key = keys.randomElement(using: &random) else { return nil }
            guard key.entity == entity, values(key, draft) != nil else { continue }
            found = key
            if isOwn(key) || !prefersOwn { break }
        }
        return found
    }

    private mutating func step(_ draft: inout Draft) {
        let entity: EntityNumber = [1, 1, 1, 1, 2, 2, 3].randomElement(using: &random) ?? 1
        let isCrowded = objects.count > Self.objectLimit
        guard let key = present(entity, draft), !isTrue(oneIn: isCrowded ? 6 : 3) else {
            insertedCount += 1
            let id = ObjectID(high: ownHigh, low: 1 << 63 | insertedCount)
            let key = Key(entity: entity, id: id)
            draft.values[key] = freshValues(entity, draft)
            if entity == 1, isTrue(oneIn: 2) { link(key, &draft) }
            return
        }
        if isTrue(oneIn: isCrowded ? 2 : 6) { return delete(key, &draft) }
        if entity == 1, isTrue(oneIn: 2) { return link(key, &draft) }
        let fresh = freshValues(entity, draft)
        guard var changed = values(key, draft) else { return }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let slot = Int.random(in: 0..<changed.count, using: &random)
            changed[slot] = fresh[slot]
        }
        draft.values[key] = changed
    }

    private func delete(_ key: Key, _ draft: inout Draft) {
        for other in Set(keys).union(draft.values.keys) {
            guard let values = values(other, draft),
                values.contains(where: { $0.target == key.id })
            else { continue }
            draft.values[other] = values.map { $0.target == key.id ? .null : $0 }
        }
        for link in Set(links.keys).union(draft.links.keys)
        where link.source == key.id || link.target == key.id {
            draft.links[link] = .absent
        }
        draft.values[key] = .some(nil)
    }

    /// Adds members to an article, removes some, and moves some.
    private mutating func link(_ source: Key, _ draft: inout Draft) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let isOrdered = isTrue(oneIn: 2)
            let number = isOrdered ? 1 : 2
            let present = links.merging(draft.links) { $1 }.filter {
                $0.key.source == source.id && $0.key.link == number && $0.value.isPresent
            }
            if isTrue(oneIn: 3), let key = present.keys.sorted().randomElement(using: &random) {
                draft.links[key] = isOrdered && isTrue(oneIn: 2) ? .present(position()) : .absent
            } else if let target = self.present(isOrdered ? 1 : 3, draft) {
                let key = LinkKey(link: number, source: source.id, target: target.id)
                draft.links[key] = .present(isOrdered ? position() : nil)
            }
        }
    }

    /// Returns a random position, sometimes with a fraction.
    private mutating func position() -> ListPosition {
        let bytes = withUnsafeBytes(of: random.next() | 1) { Array($0) }
        let fraction = isTrue(oneIn: 3) ? [UInt8.random(in: 1...255, using: &random)] : []
        return ListPosition(bytes: bytes + fraction) ?? .first
    }

    private mutating func freshValues(_ entity: EntityNumber, _ draft: Draft) -> [Value] {
        Schema.campaign.entities[entity].properties.map { property in
            if property.isOptional, isTrue(oneIn: 3) { return .null }
            if property.name == "note" { return .string(words()) }
            if property.isLarge { return LargeContents.random(using: &random) }
            guard let target = property.target,
                let number = Schema.campaign.number(ofEntity: target)
            else { return value(property.type) }
            guard let id = present(number, draft)?.id else { return .null }
            return property.hasPosition ? .placed(id, position()) : .reference(id)
        }
    }

    private mutating func value(_ type: ValueType) -> Value {
        switch type {
        case .bool: return .bool(Bool.random(using: &random))
        case .int: return .int(Int(truncatingIfNeeded: random.next()))
        case .double: return .double(Double.random(in: -1...1, using: &random))
        case .date:
            let time = Double.random(in: 0...1e9, using: &random)
            return .date(Date(timeIntervalSinceReferenceDate: time))
        case .string: return .string(String(decoding: bytes().map { 97 + $0 % 26 }, as: UTF8.self))
        case .data: return .data(Data(bytes()))
        case .uuid: return .uuid(ObjectID(high: random.next(), low: random.next()).uuid)
        case .list: return .list((0..<Int.random(in: 0...3, using: &random)).map { part($0) })
        default: return .null
        }
    }

    /// Returns an element of an array of embedded values.
    private mutating func part(_ id: Int) -> Value {
        let text: Value = isTrue(oneIn: 3) ? .null : .string(words())
        return .dictionary([.string("id"): .int(id), .string("text"): text])
    }

    /// Returns a text of words that many texts have.
    private mutating func words() -> String {
        let words = ["storm", "stormy", "sea", "seas", "Éa", "a", "of"]
        let count = isTrue(oneIn: 20) ? 400 : Int.random(in: 0...6, using: &random)
        return (0..<count).map { _ in words.randomElement(using: &random) ?? "" }
            .joined(separator: " ")
    }

    /// Returns mostly a few bytes, sometimes so many that they fill several pages.
    private mutating func bytes() -> [UInt8] {
        let largest = isTrue(oneIn: 40) ? 60_000 : isTrue(oneIn: 10) ? 3_000 : 40
        let count = Int.random(in: 0...largest, using: &random)
        return (0..<(count + 7) / 8).flatMap { _ in
            withUnsafeBytes(of: random.next()) { Array($0) }
        }
    }
}
