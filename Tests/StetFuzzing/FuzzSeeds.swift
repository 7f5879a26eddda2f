import FoundationEssentials
import StetStore

/// The output of real encoders, with which the fuzzer begins; each seed must be decoded.
extension FuzzedDecoder {
    /// The inputs that a fuzzer without a corpus begins with.
    package func seeds() throws -> [[UInt8]] {
        switch self {
        case .record: FuzzSeeds.records
        case .entry: try FuzzSeeds.entries()
        case .key: FuzzSeeds.keys
        case .json: try FuzzSeeds.changeSets()
        case .store: FuzzSeeds.edits
        }
    }
}

extension HostileStore {
    /// The commits that the scratch store begins with.
    static let history: [@Sendable () throws -> EncodedChangeSet] = [
        {
            try FuzzSeeds.encoded(
                0, [(1, 3, .insert), (3, 2, .insert), (6, 5, .insert)],
                links: [FuzzSeeds.notebook(.absent, .present(.first), 0)])
        },
        {
            try FuzzSeeds.encoded(
                1, [(1, 3, .update), (3, 4, .insert)],
                links: [FuzzSeeds.notebook(.present(.first), FuzzSeeds.moved, 1)])
        },
        {
            try FuzzSeeds.encoded(
                2, [(3, 4, .delete)], links: [FuzzSeeds.article(.absent, .present(nil), 0)])
        },
    ]

    /// A commit to a store that may be damaged.
    static func lastEdit() throws -> EncodedChangeSet {
        try FuzzSeeds.encoded(
            3, [(1, 3, .delete), (3, 2, .update), (3, 9, .insert)],
            links: [
                FuzzSeeds.notebook(FuzzSeeds.moved, .absent, 2),
                FuzzSeeds.article(.present(nil), .absent, 3),
            ])
    }
}

enum FuzzSeeds {
    static func id(_ number: Int) -> ObjectID { FuzzSchema.id(number) }

    static let moved = Membership.present(ListPosition.between(.first, nil))

    /// Makes the notebook another member of the article's, which have an order.
    static func notebook(
        _ before: Membership, _ after: Membership, _ previous: Revision
    ) -> LinkChange {
        let key = LinkKey(link: 1, source: id(3), target: id(2))
        return LinkChange(key, before: before, after: after, previous: previous)
    }

    /// Makes the article another member of the notebook's, which have none.
    static func article(
        _ before: Membership, _ after: Membership, _ previous: Revision
    ) -> LinkChange {
        let key = LinkKey(link: 2, source: id(2), target: id(3))
        return LinkChange(key, before: before, after: after, previous: previous)
    }

    /// Writes a body whose values differ by `variant`; every third optional value is missing.
    private static func write(_ entity: Entity, _ variant: Int, to writer: inout RecordWriter) {
        for (slot, property) in entity.properties.slotted {
            if property.isOptional, (slot.index + variant) % 3 == 0 {
                writer.writeNull(slot: slot)
                continue
            }
            switch property.type {
            case .string: writer.write(string: ["e\u{301}", "plain"][variant % 2], slot: slot)
            case .data:
                [UInt8](repeating: 7, count: slot.index % 5 + 1).withUnsafeBytes { bytes in
                    writer.write(bytes: bytes, slot: slot)
                }
            case .uuid: writer.write(id: id(77), slot: slot)
            case .reference where property.hasPosition:
                writer.write(.placed(id(2), .first), slot: slot)
            case .reference: writer.write(id: id(property.target == "Article" ? 3 : 2), slot: slot)
            case .double, .date:
                writer.write(word: (0.5 + Double(variant)).bitPattern, slot: slot)
            case .bool: writer.write(word: UInt64(variant % 2), slot: slot)
            case .int: writer.write(word: UInt64(variant), slot: slot)
            default: writer.write(laterValue(property, variant), slot: slot)
            }
        }
    }

    private static func laterValue(_ property: Property, _ variant: Int) -> Value {
        switch property.type.widest {
        case .int: .int([-1, 7, 100][variant % 3])
        case .uint: .uint(UInt64(variant))
        case .float: .float([-0.0, 1.5, .nan][variant % 3])
        case .decimal: .decimal([Decimal(-12.5), 1000, .nan][variant % 3])
        case .url:
            .url(
                URL(storedRelative: "a?b=\(variant)", base: variant % 2 == 0 ? "http://c" : nil)
                    ?? URL(filePath: "/"))
        case .dictionary:
            .dictionary(
                variant % 2 == 0
                    ? [.string("b"): .int(1), .string("a"): .int(variant)] : [.string(""): .int(0)])
        case .list where property.elements == [.bool]: .list([.bool(true), .bool(false)])
        case .list:
            .list(variant % 3 == 0 ? [] : [.string("e\u{301}"), .string(""), .string("plain")])
        default: .codable("{\"city\":\(variant)}")
        }
    }

    private static func body(_ entity: Entity, _ variant: Int) -> [UInt8] {
        var writer = RecordWriter()
        writer.begin(propertyCount: entity.properties.count)
        write(entity, variant, to: &writer)
        return Array(writer.buffer.bytes)
    }

    /// A change set based on a revision; an object's previous change was made by the one before.
    static func encoded(
        _ base: Int, _ edits: [(entity: EntityNumber, id: Int, kind: ChangeKind)],
        links: [LinkChange]
    ) throws -> EncodedChangeSet {
        var changes = ChangeSetBuilder(schema: FuzzSchema.schema)
        for edit in edits {
            let entity = FuzzSchema.schema.entities[edit.entity]
            let revision = edit.kind == .insert ? 0 : edit.id == 2 ? 1 : base
            let before =
                edit.kind == .insert
                ? 0..<0 : changes.encode(entity: edit.entity) { write(entity, revision, to: &$0) }
            let after =
                edit.kind == .delete
                ? 0..<0 : changes.encode(entity: edit.entity) { write(entity, base + 1, to: &$0) }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: edit.kind, entity: edit.entity, id: id(edit.id),
                    base: Revision(UInt64(revision)), before: before, after: after))
        }
        for link in links { changes.append(link) }
        changes.sort()
        return try changes.encoded(
            attributes: CommitAttributes(
                author: "a", scope: base == 0 ? nil : "s", label: "commit \(base)"),
            base: Revision(UInt64(base)), token: 9, time: Double(base))
    }

    // MARK: Inputs

    static var records: [[UInt8]] {
        FuzzSchema.schema.entities.enumerated().flatMap { index, entity in
            (0..<3).map { variant in
                var record = [1, 0, 1, 0] + [UInt8](repeating: 0, count: 12)
                record += body(entity, variant)
                FuzzedRecord.repair(&record, of: FuzzSchema.object)
                return [UInt8(index << 1 | variant % 2)] + [UInt8](frame: record)
                    + cells(entity, variant)
            }
        }
    }

    /// The cells of an update from one variant to the next.
    private static func cells(_ entity: Entity, _ variant: Int) -> [UInt8] {
        let bodies = [body(entity, variant), body(entity, variant + 1)]
        return bodies[0].withUnsafeBytes { before in
            bodies[1].withUnsafeBytes { after in
                guard let before = try? RecordBody(before, of: entity),
                    let after = try? RecordBody(after, of: entity)
                else { return [] }
                var buffer = ByteBuffer()
                buffer.append(UInt16(entity.properties.count))
                for (slot, property) in entity.properties.slotted {
                    JournalChange.ChangedCell.append(
                        slot: slot, type: property.type, before: (try? before.cell(slot)) ?? nil,
                        after: (try? after.cell(slot)) ?? nil, to: &buffer)
                }
                return Array(buffer.bytes)
            }
        }
    }

    /// Each entry of the scratch store as its chunks, and as blocks that are laid out anew.
    static func entries() throws -> [[UInt8]] {
        let journal = try HostileStore().contents[3]
        return journal.values.flatMap { value -> [[UInt8]] in
            var blocks: [UInt8] = []
            value.dropFirst(Envelope.byteCount + 8).withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                while let count: UInt32 = try? reader.read(),
                    (try? reader.read(byteCount: JournalChange.saltByteCount)) != nil,
                    let block = try? reader.read(byteCount: Int(count) - 20)
                {
                    blocks += [UInt8](frame: Array(block))
                }
            }
            let envelope = Array(value.prefix(Envelope.byteCount))
            let laidOut = [0, 20, 255].map { room in [1] + envelope + [room] + blocks }
            return laidOut + [[0] + [UInt8](frame: value), [6] + [UInt8](frame: value)]
        }
    }

    private static let indexedSchema: Schema = {
        let name = Property(name: "name", type: .string)
        let age = Property(name: "age", type: .int8, isOptional: true)
        let unique = EntityIndex([.init(slot: 0, folding: .caseInsensitive)], isUnique: true)
        let compound = EntityIndex([.init(slot: 1), .init(slot: 0)]).only(
            where: .not(.comparison(.less, .property(.root, slot: 1), .constant(.int(0)))))
        do {
            return try Schema(entities: [
                Entity(name: "P", properties: [name, age], indexes: [unique, compound])
            ])
        } catch {
            preconditionFailure("the indexed schema of the fuzzer: \(error)")
        }
    }()

    private static let patternedSchema: Schema = {
        let name = Property(
            name: "n", type: .string, rules: [.matches("a(b|c)*"), .oneOf([.string("abc")])],
            normalizers: [.lowercased, .nfc, .custom])
        let level = Property(
            name: "l", type: .int8, isOptional: true, rules: [.oneOf([.int(1), .int(2)])])
        do {
            return try Schema(entities: [Entity(name: "P", properties: [name, level])])
        } catch {
            preconditionFailure("the patterned schema of the fuzzer: \(error)")
        }
    }()

    static var keys: [[UInt8]] {
        let key = [UInt8](repeating: 7, count: 18)
        let id = Array(FuzzSchema.object.uuid.uuidString.utf8.prefix(16))
        return [
            [0] + [UInt8](frame: key) + id + id,
            [0x30] + [UInt8](frame: key) + id + [2, 0, 0, 0, 0, 0, 0, 0, 3, 128, 0, 1],
            [1] + Array("\(FuzzSchema.object)".utf8),
            [2] + FuzzSchema.schema.encoded(), [2] + indexedSchema.encoded(),
            [2] + patternedSchema.encoded(),
        ] + subscriptions
    }

    /// Subscriptions and a parked delivery, without their checksums.
    private static var subscriptions: [[UInt8]] {
        let failure = SubscriptionState.Failure(
            revision: 3, count: 2, time: Date(timeIntervalSinceReferenceDate: 0),
            message: "no answer")
        let idle = SubscriptionRecord(name: "a", position: 2, holdsHistory: false)
        let failed = SubscriptionRecord(
            name: "a", position: 2, fence: 4, status: .stopped, holdsHistory: true,
            failure: failure)
        let parked = SubscriptionState.ParkedDelivery(
            revision: 1, objects: [id(1), id(2)].sorted(), failure: failure)
        return [
            [0xC1] + idle.encoded().dropLast(8), [0xC1] + failed.encoded().dropLast(8),
            [0x82] + parked.encoded().dropLast(8),
        ]
    }

    static func changeSets() throws -> [[UInt8]] {
        try HostileStore.history.map { edit in
            Array(try JSONEncoder().encode(edit().changeSet()))
        }
    }

    /// A flipped and a shortened value, a value gone, and one under another key, in each table.
    static var edits: [[UInt8]] {
        [[]]
            + (0..<5).flatMap { table -> [[UInt8]] in
                [
                    [table | 8, 0, 1, 0, 1, 20, 0], [table | 8 | 16, 1, 30, 0, 0, 0],
                    [table | 32, 0], [table | 8 | 48, 0, 16] + Array(repeating: 1, count: 16),
                ]
            }
    }
}
