import StetLMDB

/// The objects that a query reads: those of a revision, with the changes of a context on top.
///
/// It must not outlive the read in which it was made.
package final class QueryState {
    /// The difference between the last commit and the state that a query reads.
    package struct View {
        /// The members, and the revision of the query.
        package let state: WorkingState
        /// Returns the pending bodies of an entity; nil stands for a deleted object.
        package let pending: (_ entity: EntityNumber) throws -> [ObjectID: EncodedBody?]
        /// Looks up the pending change of one object; nil when `pending` is the only way to it.
        package let change: ((ObjectKey) throws -> PendingBody)?

        package init(
            _ state: WorkingState,
            pending: @escaping (_ entity: EntityNumber) throws -> [ObjectID: EncodedBody?] = { _ in
                [:]
            },
            change: ((ObjectKey) throws -> PendingBody)? = nil
        ) {
            self.state = state
            self.pending = pending
            self.change = change
        }

        var revision: Revision { state.revision }
    }

    /// The effect of the pending changes on one object.
    package enum PendingBody {
        case unchanged
        case deleted
        case body(EncodedBody)
    }

    /// An object with its body, whose memory stays valid as long as the state exists.
    package struct Row {
        package let id: ObjectID
        package let revision: Revision
        package let body: UnsafeRawBufferPointer
        package let propertyCount: Int

        /// - Throws: `DecodingFailure` when the body is too short for the number of properties.
        @inline(__always)
        init(
            id: ObjectID, revision: Revision, body: UnsafeRawBufferPointer, propertyCount: Int
        ) throws(DecodingFailure) {
            _ = try RecordReader(body: body, propertyCount: propertyCount)
            self.init(checked: body, propertyCount: propertyCount, id: id, revision: revision)
        }

        private init(
            checked body: UnsafeRawBufferPointer, propertyCount: Int, id: ObjectID,
            revision: Revision
        ) {
            self.id = id
            self.revision = revision
            self.body = body
            self.propertyCount = propertyCount
        }

        /// A row without an object.
        static var none: Row {
            Row(
                checked: UnsafeRawBufferPointer(start: nil, count: 0), propertyCount: 0, id: .none,
                revision: .zero)
        }

        /// A reader of the values, made for each use: a smaller row is copied faster.
        @inline(__always)
        var reader: RecordReader {
            RecordReader(checked: body, propertyCount: propertyCount)
        }
    }

    /// The number of objects of an entity that are remembered because others refer to them.
    static let keptRowCount = 100_000

    let reader: StoreReader
    let view: View
    let schema: Schema
    /// The bodies that are not stored in this form.
    private var kept: [UnsafeMutableRawBufferPointer] = []
    /// The free part of the last of them.
    private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The facts of each entity that the query has read.
    private var facts: [Facts?]
    // Not checked at each access: nothing runs while it counts.
    @exclusivity(unchecked) private var counter = ReadLimit.Counter()
    let memberFacts = MemberFacts()

    /// True when the query reads the last commit, whatever is on top of it.
    private(set) lazy var isOfLastRevision = (try? reader.head().revision == revision) ?? false
    /// True when the query reads the last commit with nothing on top of it.
    private(set) lazy var isOfLastCommit = isOfLastRevision && view.state.isUnchanged

    /// The objects of an entity that differ from the last commit.
    struct Overlay {
        /// The existing ones of these objects.
        var rows: [ObjectID: Row] = [:]
        /// The ids of all of these objects.
        var ids: Set<ObjectID> = []
    }

    /// The facts of one entity that a query has read, to be used again.
    final class Facts {
        var pending: Overlay?
        var overlays: [SlotSet: Overlay] = [:]
        /// The objects that others refer to; nil stands for one that does not exist.
        var targets: [ObjectID: Row?] = [:]
        var searches: [TextMatch: TextHits] = [:]
    }

    package init(_ reader: borrowing StoreReader, _ view: View) {
        self.reader = StoreReader(reader.transaction, reader.file)
        self.view = view
        schema = reader.file.schema
        facts = Array(repeating: nil, count: schema.entities.count)
    }

    /// Creates the state of the last commit.
    package convenience init(ofLastCommitIn reader: borrowing StoreReader) throws {
        let revision = try reader.head().revision
        self.init(reader, View(WorkingState(reader.file.schema, at: revision)))
        isOfLastRevision = true
    }

    deinit {
        for bytes in kept { bytes.deallocate() }
    }

    /// The revision that the query reads.
    package var revision: Revision { view.revision }

    func entity(_ number: EntityNumber) -> Entity { schema.entities[number] }

    func facts(of entity: EntityNumber) -> Facts {
        if let known = facts[entity.index] { return known }
        let made = Facts()
        facts[entity.index] = made
        return made
    }

    /// Counts something that is read without its record.
    ///
    /// - Throws: the error of the limit of the read.
    func visit() throws { try counter.visit() }

    /// The number of records, entries of indexes and members that were read, if the read has a
    /// limit.
    var visitedCount: Int { counter.count }

    // MARK: Objects

    /// Returns the object with an id; nil when it does not exist for the query.
    package func row(_ entity: EntityNumber, _ id: ObjectID) throws -> Row? {
        if let change = view.change {
            switch try change(ObjectKey(entity, id)) {
            case .unchanged: break
            case .deleted: return nil
            case .body(let body): return try row(id, .zero, keep(body.bytes), entity)
            }
        } else {
            let pending = try pending(entity)
            if pending.ids.contains(id) { return pending.rows[id] }
        }
        return try storedRow(entity, id)
    }

    /// Returns the object with these values of a unique index, or nil when the query sees none;
    /// `pending` has the pending objects by their values in the index.
    ///
    /// - Complexity: a few reads, and what `WorkingState.objects(of:with:_:)` says.
    package func object(
        of index: NumberedIndex, with values: [Value], pending: PendingValues
    ) throws -> Row? {
        if values.contains(.null) { return nil }
        if let id = try pending.objects(at: index.index.key(of: values)).first {
            return try row(index.entity, id)
        }
        let ids = try view.state.objects(of: index, with: values, reader)
        return try ids.first { try !isPending(index.entity, $0) }
            .flatMap { try storedRow(index.entity, $0) }
    }

    private func isPending(_ entity: EntityNumber, _ id: ObjectID) throws -> Bool {
        guard let change = view.change else { return try pending(entity).ids.contains(id) }
        if case .unchanged = try change(ObjectKey(entity, id)) { return false }
        return true
    }

    /// Returns an object that others refer to; such objects are cached because they are read
    /// repeatedly.
    func target(_ entity: EntityNumber, _ id: ObjectID) throws -> Row? {
        let facts = facts(of: entity)
        if let row = facts.targets[id] { return row }
        let row = try row(entity, id)
        if facts.targets.count >= Self.keptRowCount { facts.targets = [:] }
        facts.targets[id] = .some(row)
        return row
    }

    /// Returns the object as stored at the revision.
    func storedRow(_ entity: EntityNumber, _ id: ObjectID) throws -> Row? {
        try storedRow(entity, FoundRecord(entity, id, in: reader))
    }

    /// Returns an object whose record was looked up, as stored at the revision.
    func storedRow(_ entity: EntityNumber, _ found: FoundRecord) throws -> Row? {
        try counter.visit()
        guard let (header, stored) = try found.checked() else { return nil }
        return try row(entity, found.id, header, stored)
    }

    private func row(
        _ entity: EntityNumber, _ id: ObjectID, _ header: RecordHeader,
        _ stored: UnsafeRawBufferPointer
    ) throws -> Row? {
        if header.revision > view.revision {
            let (revision, state) = try reader.earlierState(
                header, stored, entity, id, view.revision)
            return try state.map { try row(id, revision, keep($0), entity) }
        }
        if header.isTombstone { return nil }
        if header.schemaRevision == reader.file.recordRevision {
            return try row(id, header.revision, stored, entity)
        }
        let body = try reader.withBody(header, stored, entity) { keep(Array($0)) }
        return try row(id, header.revision, body, entity)
    }

    func row(
        _ id: ObjectID, _ revision: Revision, _ body: UnsafeRawBufferPointer, _ entity: EntityNumber
    ) throws -> Row {
        let count = self.entity(entity).properties.count
        return try Row(id: id, revision: revision, body: body, propertyCount: count)
    }

    private func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        bytes.withUnsafeBytes { keep($0) }
    }

    /// Returns a copy that exists as long as the state.
    func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if room.count < bytes.count {
            let byteCount = max(bytes.count, 1 << 12)
            kept.append(.allocate(byteCount: byteCount, alignment: 8))
            room = kept[kept.count - 1]
        }
        let copy = UnsafeMutableRawBufferPointer(rebasing: room[..<bytes.count])
        copy.copyMemory(from: bytes)
        let used = min((bytes.count + 7) / 8 * 8, room.count)
        room = UnsafeMutableRawBufferPointer(rebasing: room[used...])
        return UnsafeRawBufferPointer(copy)
    }

    /// Returns the objects with pending changes.
    func pending(_ entity: EntityNumber) throws -> Overlay {
        let facts = facts(of: entity)
        if let overlay = facts.pending { return overlay }
        var overlay = Overlay()
        for (id, body) in try view.pending(entity) {
            overlay.ids.insert(id)
            overlay.rows[id] = try body.map { try row(id, .zero, keep($0.bytes), entity) }
        }
        facts.pending = overlay
        return overlay
    }

    /// Returns the objects with pending changes, and those that differ in any of these slots
    /// between the revision and the last commit, which references and indexes describe.
    func overlay(_ entity: EntityNumber, differingIn slots: SlotSet) throws -> Overlay {
        if isOfLastRevision { return try pending(entity) }
        let facts = facts(of: entity)
        if let overlay = facts.overlays[slots] { return overlay }
        var overlay = try pending(entity)
        let foreign = try view.state.foreignObjects(
            ofEntity: entity, differingIn: slots, reader)
        view.state.foreign.records.use(in: reader)
        for id in foreign where overlay.ids.insert(id).inserted {
            overlay.rows[id] = try foreignRow(entity, id)
        }
        facts.overlays[slots] = overlay
        return overlay
    }

    /// Returns an object that has changed since the revision, as stored then.
    private func foreignRow(_ entity: EntityNumber, _ id: ObjectID) throws -> Row? {
        let key = ObjectKey(entity, id)
        if let known = view.state.foreign.records.record(of: key) {
            try visit()
            return try known.map { known in
                try row(id, known.revision, known.body.withUnsafeBytes { keep($0) }, entity)
            }
        }
        let found = try storedRow(entity, id)
        let record = found.map { FormerRecords.Record(revision: $0.revision, body: Array($0.body)) }
        view.state.foreign.records.keep(record, of: key)
        return found
    }

    /// Calls `body` with every object of an entity that satisfies a condition, in ascending order
    /// of id, from `first` on, until it returns false.
    ///
    /// Checksums of records that satisfy the condition are verified if the rows are used for more
    /// than counting.
    func forEachRow(
        ofEntity entity: EntityNumber, from first: ObjectID? = nil, where condition: QueryCondition,
        verifies: Bool, _ body: (Row) throws -> Bool
    ) throws {
        // Each record contains its revision, so only pending objects need a lookup.
        let pending = try pending(entity)
        var waiting = pending.rows.values.sorted { $0.id < $1.id }[...]
        if let first { waiting = waiting.drop { $0.id < first } }
        var frame = QueryFrame(self)
        let layout = Layout(self, entity)
        // Not a closure, because each access to a capture costs a check.
        let cursor = try reader.transaction.cursor(in: reader.file.projection.records[entity])
        var entry = try cursor.seek(first ?? .none)
        while let present = entry {
            try counter.visit()
            let id = try RecordLayout.id(ofKey: present.key)
            while let next = waiting.first, next.id <= id {
                waiting.removeFirst()
                frame.root = next
                if try condition.test(&frame), try !body(next) { return }
            }
            if pending.ids.isEmpty || !pending.ids.contains(id) {
                let header = try RecordHeader(decoding: present.value)
                if let row = try row(header, present.value, id, layout) {
                    frame.root = row
                    if try condition.test(&frame) {
                        if verifies { try header.verify(present.value, of: id) }
                        if try !body(row) { return }
                    }
                }
            }
            entry = try cursor.next()
        }
        while let next = waiting.popFirst() {
            frame.root = next
            if try condition.test(&frame), try !body(next) { return }
        }
    }

    /// Returns whether so much may have changed since the revision that reading all records, each
    /// of which shows its earlier state, is cheaper than finding the changed ones.
    func isFarBehind(recordCount: Int) throws -> Bool {
        if isOfLastRevision { return false }
        let head = try reader.head().revision.number
        return head > view.revision.number + UInt64(max(recordCount, 1_000))
    }

    /// Returns whether the index of an entity describes too few of its objects to be used.
    func isFarBehind(ofEntity entity: EntityNumber) throws -> Bool {
        try isFarBehind(recordCount: reader.recordCount(ofEntity: entity))
    }

    /// The data that is common to all records of an entity.
    private struct Layout {
        let entity: EntityNumber
        let propertyCount: Int
        let recordRevision: UInt16
        let revision: Revision

        init(_ state: QueryState, _ entity: EntityNumber) {
            self.entity = entity
            propertyCount = state.entity(entity).properties.count
            recordRevision = state.reader.file.recordRevision
            revision = state.view.revision
        }
    }

    @inline(__always)
    private func row(
        _ header: RecordHeader, _ record: UnsafeRawBufferPointer, _ id: ObjectID, _ layout: Layout
    ) throws -> Row? {
        let stored = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerByteCount...])
        guard header.revision <= layout.revision, header.schemaRevision == layout.recordRevision
        else { return try row(layout.entity, id, header, stored) }
        if header.isTombstone { return nil }
        return try Row(
            id: id, revision: header.revision, body: stored, propertyCount: layout.propertyCount)
    }

    /// Returns an object that is not stored in this form as a row.
    func row(_ position: StoreQuery.Position, ofEntity entity: EntityNumber) throws -> Row {
        try row(position.id, .zero, keep(position.body), entity)
    }

    /// Returns the value of a node for an object.
    package func value(
        _ node: QueryNode, of row: Row, _ entity: EntityNumber
    ) throws -> Value {
        var frame = QueryFrame(self, row)
        return try QueryCompiler(schema, root: entity).operand(node).value(&frame)
    }
}
