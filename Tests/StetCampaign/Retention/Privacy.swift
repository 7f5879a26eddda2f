import ArgumentParser
import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport

/// Looks for markers in every kind of value and place, which must not be in the bytes of a copy, or
/// of a store compacted in place, once they were redacted, or were trimmed and are no longer
/// present.
struct Privacy: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Looks for what is gone in the files of SIZE stores.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        if geteuid() != 0 { say("privacy: owners of files are not looked at: not root") }
        try forEachCase(of: options.size, report) { index in
            let store = try MarkedStore(seed: options.seed, index)
            do {
                try store.run()
            } catch let finding as MarkedStore.Finding {
                report.finding(index, finding.description, files: store.files)
            }
            for (what, count) in store.counts { report.count(what, count) }
        }
    }
}

/// A store, and the known facts about each marker in it.
///
/// State: belongs to the thread that runs the case.
private final class MarkedStore {
    struct Finding: Error {
        let description: String
    }

    private struct Interruption: Error {}

    /// One value or name that occurs once in the store.
    private struct Plant {
        let place: String
        /// The last commit in whose entry the value occurs.
        var lastMention: Revision
        /// Whether the store still shows it.
        var isPresent: Bool
        var isRedacted = false
    }

    private struct Object {
        var values: [Value]
        /// The marker of each slot.
        var markers: [[UInt8]]
        var revision: Revision
        var membership = Membership.absent
        var positionMarker: [UInt8]?
    }

    private let directory = TemporaryDirectory()
    private var random: SeededGenerator
    private var file: StoreFile
    private var plants: [[UInt8]: Plant] = [:]
    private var objects: [ObjectID: Object] = [:]
    /// The markers of each slot of an object, including former ones.
    private var formerMarkers: [ObjectID: [Slot: [[UInt8]]]] = [:]
    private var authors: [(name: String, scope: String?)] = []
    private var copyCount = 0
    private let hub = ObjectID.random(1)
    private var schema = MarkedSchema.whole
    private(set) var counts: [String: Int] = [:]

    var files: [String] { [file.path] + (0...copyCount).map { directory.file("\($0).stet") } }

    init(seed: UInt64, _ index: Int) throws {
        random = SeededGenerator(seed: seed, stream: index)
        let path = directory.file("0.stet")
        file = try Self.open(path, MarkedSchema.whole)
        file.close()
        if geteuid() == 0 {
            guard chown(path, 65_534, 65_534) == 0, unlink("\(path)-lock") == 0 else {
                throw CampaignFailure("no other owner: \(errno)")
            }
        }
        file = try Self.open(path, MarkedSchema.whole)
        try insertHub(fillerCount: index % 8 == 0 ? 10_500 : 0)
    }

    /// The time of all commits, in seconds since 2001.
    private static let time = 8e8

    private static func open(
        _ path: String, _ schema: Schema,
        _ progress: (@Sendable (String, Int, Int) throws -> Void)? = nil
    ) throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = 256 << 20
        configuration.progress = progress
        configuration.time = { Self.time }
        return try StoreFile.open(at: path, schema: schema, configuration)
    }

    // MARK: Markers

    private func plant(_ marker: [UInt8], _ place: String, _ revision: Revision, _ present: Bool) {
        plants[marker] = Plant(place: place, lastMention: revision, isPresent: present)
    }

    /// Records that a commit has removed a value.
    private func replace(_ marker: [UInt8], at revision: Revision) {
        plants[marker]?.isPresent = false
        plants[marker]?.lastMention = revision
    }

    // MARK: Steps

    func run() throws {
        for number in 0..<Int.random(in: 15...50, using: &random) {
            do {
                try step()
            } catch let finding as Finding {
                throw Finding(description: "step \(number): \(finding.description)")
            } catch {
                throw Finding(description: "step \(number): threw \(error)")
            }
        }
        try copy()
        try compactInPlace()
        file.close()
    }

    private func head() throws -> Revision { try file.read { try $0.head().revision } }

    private func step() throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<12: try edit()
        case 12, 13: try trim()
        case 14, 15, 16: try redact()
        case 17: try migrate()
        case 18: try interruptBuild()
        default: try Bool.random(using: &random) ? copy() : compactInPlace()
        }
    }

    private var slots: [Slot] { schema.entities[0].properties.slots }

    private func insertHub(fillerCount: Int) throws {
        var changes = ChangeSetBuilder(schema: file.schema)
        for number in 0...fillerCount {
            let values = slots.map { Marker.filler($0, &random) }
            let id = number == 0 ? hub : ObjectID.random(random.next())
            let after = encode(values, &changes)
            changes.append(
                ChangeSetBuilder.Item(
                    kind: .insert, entity: 1, id: id, base: .zero, before: 0..<0, after: after))
        }
        changes.sort()
        _ = try file.commit(
            changes.encoded(
                attributes: CommitAttributes(), base: .zero, token: random.next(),
                time: Self.time))
    }

    private func encode(_ values: [Value], _ changes: inout ChangeSetBuilder) -> Range<Int> {
        changes.encode(entity: 1) { $0.write(values, of: schema.entities[0]) }
    }

    private func attributes(_ revision: Revision) -> CommitAttributes {
        if authors.isEmpty || Int.random(in: 0..<4, using: &random) == 0 {
            let scope = Bool.random(using: &random) ? Marker.text(&random) : nil
            authors.append((Marker.text(&random), scope))
        }
        let author = authors[Int.random(in: 0..<authors.count, using: &random)]
        let label = Marker.text(&random)
        let (name, value) = (Marker.text(&random), Marker.text(&random))
        var attributes = CommitAttributes(author: author.name, scope: author.scope, label: label)
        attributes.metadata = [name: value]
        for (text, place) in [
            (label, "label"), (name, "metadata"), (value, "metadata"), (author.name, "author"),
            (author.scope, "scope"),
        ] {
            if let text { plant(Array(text.utf8), place, revision, false) }
        }
        return attributes
    }

    private func edit() throws {
        let head = try head()
        let next = head.next
        var changes = ChangeSetBuilder(schema: file.schema)
        var ids = Set(objects.keys.sorted().shuffled(using: &random).prefix(2))
        if ids.count < 2 || Bool.random(using: &random) { ids.insert(.random(random.next())) }
        for id in ids.sorted() { try edit(id, next, &changes) }
        if changes.isEmpty { try edit(.random(random.next()), next, &changes) }
        changes.sort()
        let set = try changes.encoded(
            attributes: attributes(next), base: head, token: random.next(), time: Self.time)
        let commit = try file.commit(set)
        guard commit.revision == next else { throw Finding(description: "\(commit) is another") }
        count("commits")
    }

    private func edit(_ id: ObjectID, _ next: Revision, _ changes: inout ChangeSetBuilder) throws {
        let old = objects[id]
        let isDeleted = old != nil && Int.random(in: 0..<5, using: &random) == 0
        var new = old ?? Object(values: [], markers: [], revision: next)
        for slot in slots where !isDeleted {
            if old != nil, Int.random(in: 0..<3, using: &random) > 0 { continue }
            let (value, marker) = Marker.value(slot, &random)
            if old == nil {
                new.values.append(value)
                new.markers.append(marker)
            } else {
                replace(new.markers[slot], at: next)
                (new.values[slot], new.markers[slot]) = (value, marker)
            }
            formerMarkers[id, default: [:]][slot, default: []].append(marker)
            plant(marker, schema.entities[0].properties[slot].name, next, true)
        }
        try changeLink(of: id, &new, isDeleted, at: next, &changes)
        if isDeleted { new.markers.forEach { replace($0, at: next) } }
        objects[id] = isDeleted ? nil : new
        if !isDeleted, old?.values == new.values { return }
        let before = old.map { encode($0.values, &changes) }
        let after = isDeleted ? nil : encode(new.values, &changes)
        changes.append(
            ChangeSetBuilder.Item(
                kind: before == nil ? .insert : isDeleted ? .delete : .update, entity: 1, id: id,
                base: old?.revision ?? .zero, before: before ?? 0..<0, after: after ?? 0..<0))
        objects[id]?.revision = next
    }

    /// Gives the link of an object another position, or removes the link.
    private func changeLink(
        of id: ObjectID, _ object: inout Object, _ isDeleted: Bool, at next: Revision,
        _ changes: inout ChangeSetBuilder
    ) throws {
        let isRemoved = isDeleted || Int.random(in: 0..<4, using: &random) == 0
        if isRemoved, object.membership == .absent { return }
        if !isRemoved, Bool.random(using: &random) { return }
        let marker = Marker.bytes(&random)
        let position = ListPosition(bytes: marker)
        let after: Membership = isRemoved ? .absent : .present(position)
        let key = LinkKey(link: 1, source: id, target: hub)
        changes.append(
            LinkChange(
                key, before: object.membership, after: after,
                previous: try file.read { try $0.link(key).revision }))
        if let former = object.positionMarker { replace(former, at: next) }
        object.positionMarker = isRemoved ? nil : marker
        if !isRemoved { plant(marker, "position", next, true) }
        object.membership = after
    }

    private func trim() throws {
        let head = try head()
        let last = Revision(UInt64.random(in: 0...head.number, using: &random))
        try file.trim(through: last)
        count("trims")
    }

    private func redact() throws {
        guard let id = formerMarkers.keys.sorted().randomElement(using: &random) else { return }
        let slots = slots.filter { _ in Bool.random(using: &random) }
        do {
            try file.redact(RedactionRequest(entity: 1, object: id, slots: slots))
        } catch let error as StoreError where error.code == .valueInUse {
            return count("refused redactions")
        }
        for slot in slots {
            for marker in formerMarkers[id]?[slot] ?? [] where plants[marker]?.isPresent == false {
                plants[marker]?.isRedacted = true
            }
        }
        count("redactions")
    }

    private func migrate() throws {
        guard schema == MarkedSchema.whole, try head() > 5 else { return }
        let path = file.path
        file.close()
        file = try Self.open(path, MarkedSchema.reduced)
        schema = MarkedSchema.reduced
        for id in objects.keys.sorted() {
            guard var object = objects[id] else { continue }
            for slot in slots.count..<object.markers.count {
                plants[object.markers[slot]]?.isPresent = false
            }
            object.values.removeSubrange(slots.count...)
            object.markers.removeSubrange(slots.count...)
            objects[id] = object
        }
        count("migrations")
    }

    private func interruptBuild() throws {
        let path = file.path
        file.close()
        defer { count("interrupted builds") }
        let person = schema.entities[0]
        let indexed = MarkedSchema.schema(
            person.properties, person.indexes + [EntityIndex([.init(slot: 1)])])
        do {
            let built = try Self.open(path, indexed) { _, _, _ in throw Interruption() }
            // With so few objects the index was built before it could be interrupted.
            built.close()
            schema = indexed
        } catch is Interruption {}
        file = try Self.open(path, schema)
    }

    // MARK: Promises

    private func copy() throws {
        copyCount += 1
        let path = directory.file("\(copyCount).stet")
        let copy = try file.copy(to: path)
        if copy.report.problems != [] { throw Finding(description: "\(copy.report)") }
        try look(path)
        count("copies")
    }

    private func compactInPlace() throws {
        let path = file.path
        var (before, after) = (stat(), stat())
        _ = stat(path, &before)
        _ = try file.compactInPlace()
        _ = stat(path, &after)
        guard before.st_uid == after.st_uid, before.st_gid == after.st_gid,
            before.st_mode == after.st_mode
        else { throw Finding(description: "the owner or the rights of the file have changed") }
        try look(path)
        if Bool.random(using: &random) {
            file.close()
            file = try Self.open(path, schema)
        }
        _ = stat("\(path)-lock", &after)
        guard before.st_uid == after.st_uid, before.st_gid == after.st_gid else {
            throw Finding(description: "the lock file belongs to user \(after.st_uid)")
        }
        count("compactions in place")
    }

    /// Compares the markers in the bytes of a file with those that may be there.
    private func look(_ path: String) throws {
        let floor = try file.read { try $0.floor() }
        let found = try Marker.all(in: path)
        for (marker, plant) in plants.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let isTrimmed = plant.lastMention <= floor
            let isGone = !plant.isPresent && (plant.isRedacted || isTrimmed)
            guard isGone == found.contains(marker) else { continue }
            let state = isGone ? "is there" : "is missing"
            throw Finding(
                description: "a marker of \(plant.place), last in commit \(plant.lastMention), "
                    + "\(state); the journal begins after \(floor)")
        }
        count("markers looked for", plants.count)
    }

    private func count(_ what: String, _ number: Int = 1) { counts[what, default: 0] += number }
}

extension ObjectID {
    fileprivate static func random(_ word: UInt64) -> ObjectID {
        ObjectID(high: 0x0190_0000_0000_7000, low: 1 << 63 | word)
    }
}
