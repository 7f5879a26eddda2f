import Stet
import StetStore

/// A live query in sections, and the result that its observer has seen.
struct SectionWatch {
    /// The property that names a sample's section.
    enum Kind: CaseIterable {
        case flag, size, note, boxName, box
    }

    /// A section as plain Swift finds it.
    private struct Section: Equatable {
        var key: String
        var range: Range<Int>
    }

    /// An update, with keys as text.
    private struct Told {
        let update: QueryUpdate<LiveSample>
        let sections: [Section]
        let difference: CollectionDifference<String>
    }

    let text: String
    private let store: Store
    private let kind: Kind
    private let fetch: SnapshotFetch<LiveSample>
    private let poll: () throws -> Told?
    private var seen: [LiveSample.Snapshot] = []
    private var sections: [Section] = []

    /// Divides a query that has no order yet into sections by a kind of value.
    init(
        _ store: Store, _ kind: Kind, _ direction: SortDirection,
        _ fetch: SnapshotFetch<LiveSample>
    ) throws {
        self.store = store
        self.kind = kind
        text = try "\(kind) \(direction): \(fetch.explain())"
        let live = store.observe(fetch.sorted(by: \.number))
        switch kind {
        case .flag:
            poll = Self.poll(live.sectioned(by: \.flag, direction)) { "\($0)" }
            self.fetch = fetch.sorted(by: \.flag, direction).then(by: \.number)
        case .size:
            poll = Self.poll(live.sectioned(by: \.size, direction)) { "\($0)" }
            self.fetch = fetch.sorted(by: \.size, direction).then(by: \.number)
        case .note:
            poll = Self.poll(live.sectioned(by: \.note, direction)) { "\($0)" }
            self.fetch = fetch.sorted(by: \.note, direction).then(by: \.number)
        case .boxName:
            poll = Self.poll(live.sectioned(by: \.box?.name, direction)) { $0 }
            self.fetch = fetch.sorted(by: \.box?.name, direction).then(by: \.number)
        case .box:
            poll = Self.poll(live.sectioned(by: \.box, sortedBy: \.name, direction)) { "\($0)" }
            self.fetch = fetch.sorted(by: \.box?.name, direction)
                .then(by: \.box?.id, direction).then(by: \.number)
        }
    }

    private static func poll<Key>(
        _ live: SectionedLiveQuery<LiveSample, Key>, _ text: @escaping (Key) -> String
    ) -> () throws -> Told? {
        var iterator = live.makeAsyncIterator()
        return {
            guard let update = try iterator.poll() else { return nil }
            let changes = update.sectionDifference.map { change($0, text) }
            guard let difference = CollectionDifference(changes) else {
                trap("a difference that is none")
            }
            return Told(
                update: update.update,
                sections: update.sections.map {
                    Section(key: $0.key.map(text) ?? "nil", range: $0.range)
                },
                difference: difference)
        }
    }

    private static func change<Key>(
        _ change: CollectionDifference<Key?>.Change, _ text: (Key) -> String
    ) -> CollectionDifference<String>.Change {
        switch change {
        case .insert(let offset, let key, let other):
            .insert(offset: offset, element: key.map(text) ?? "nil", associatedWith: other)
        case .remove(let offset, let key, let other):
            .remove(offset: offset, element: key.map(text) ?? "nil", associatedWith: other)
        }
    }

    /// Follows the commits, and returns a description of a difference from the query run afresh.
    mutating func follow() throws -> String? {
        let fresh = try fetch.all()
        let expected = try self.sections(of: fresh)
        if let told = try poll() {
            let ids = seen.map(\.id).applying(told.update.difference)
            if ids != fresh.map(\.id) { return "the objects are \(ids ?? [])" }
            if told.sections != expected { return "the sections are \(told.sections)" }
            let (old, new) = (sections.map(\.key), expected.map(\.key))
            if old.applying(told.difference) != new {
                return "\(told.difference) does not lead from \(old) to \(new)"
            }
            for case .insert(_, let key, nil) in told.difference where old.contains(key) {
                return "\(key) is not told as a move"
            }
            seen = told.update.result.snapshots
            sections = told.sections
        }
        guard sections == expected, "\(seen)" == "\(fresh)" else {
            return "\(sections) are not \(expected)"
        }
        return nil
    }

    private func sections(of snapshots: [LiveSample.Snapshot]) throws -> [Section] {
        let boxes = try store.fetch(LiveBox.self).all()
        let names = Dictionary(uniqueKeysWithValues: boxes.map { ($0.id, $0.name) })
        var sections: [Section] = []
        for (place, snapshot) in snapshots.enumerated() {
            let key: String =
                switch kind {
                case .flag: "\(snapshot.flag)"
                case .size: snapshot.size.map { "\($0)" } ?? "nil"
                case .note: snapshot.note ?? "nil"
                case .boxName: snapshot.box.flatMap { names[$0] } ?? "nil"
                case .box: snapshot.box.map { "\($0)" } ?? "nil"
                }
            if sections.last?.key != key {
                sections.append(Section(key: key, range: place..<place))
            }
            sections[sections.count - 1].range =
                sections[sections.count - 1].range.lowerBound..<place + 1
        }
        return sections
    }
}
