import StetLMDB

// The values of attributes that a migration has made derived ones, or has given another expression.

extension Migration {
    /// True when objects of the store may have other values than the expressions of the new schema.
    var changesDerivations: Bool {
        to.entities.numbered.contains { number, entity in
            guard let old = from.entity(numbered: number) else { return false }
            return entity.derivedSlots.contains { slot in
                let property = entity.properties[slot]
                let former = old.slot(of: property.name).map { old.properties[$0] }
                return former?.derivation != property.derivation
            }
        }
    }
}

extension StoreTables {
    private static let underivedKey: StaticString = "underived"

    /// Records that the derived attributes of all objects are yet to be computed.
    static func markUnderived(in transaction: borrowing WriteTransaction) throws {
        try [1 as UInt8].withUnsafeBytes { bytes in
            try transaction.put(bytes, for: underivedKey, in: .unnamed)
        }
    }

    /// Records that derived attributes have their values.
    fileprivate static func markDerived(in transaction: borrowing WriteTransaction) throws {
        try [0 as UInt8].withUnsafeBytes { bytes in
            try transaction.put(bytes, for: underivedKey, in: .unnamed)
        }
    }

    fileprivate static func isUnderived(in transaction: borrowing ReadTransaction) throws -> Bool {
        try transaction.get(underivedKey, in: .unnamed)?.first == 1
    }
}

/// The computation of the derived attributes of an entity's objects, a batch in each commit.
struct DerivationWork: CommitWork {
    private static let batchCount = 1_000

    /// Computes the derived attributes of all objects after a migration that requires it.
    ///
    /// It commits in batches; if the process ends before the last one, the next process that opens
    /// the store computes the rest.
    ///
    /// - Complexity: O(objects with derived attributes).
    static func perform(on file: StoreFile) throws {
        guard try file.environment.read({ try StoreTables.isUnderived(in: $0) }) else { return }
        for (number, entity) in file.schema.entities.numbered where !entity.derivedSlots.isEmpty {
            var work = DerivationWork(file, number)
            while !work.isDone {
                var preparation = Preparation(file)
                _ = try preparation.run(&work)
            }
        }
        try file.environment.writeGrowing { try StoreTables.markDerived(in: $0) }
    }

    private let file: StoreFile
    private let entity: EntityNumber
    /// The last object of the batches before.
    private var last = ObjectID.none
    /// True when all objects have been examined.
    private(set) var isDone = false

    private init(_ file: StoreFile, _ entity: EntityNumber) {
        self.file = file
        self.entity = entity
    }

    var isRetry: Bool { false }
    var contention: any Error {
        StoreError(
            .migrationFailed, path: file.path,
            message: "Derived attributes can't be computed while other processes keep changing "
                + "the objects.", advice: "Open the store again.")
    }

    mutating func prepare() throws -> EncodedChangeSet? {
        var net = NetChanges(schema: file.schema)
        var base = Revision.zero
        var count = 0
        var next = last
        try file.read { reader in
            base = try reader.head().revision
            try reader.forEachRecord(ofEntity: entity, asOf: base, from: last) { id, record in
                if id == last { return true }
                let body = net.copy(record.body)
                net.append(
                    NetChanges.Item(
                        kind: .update, entity: entity, id: id, base: record.revision, before: body,
                        after: body))
                (count, next) = (count + 1, id)
                return count < Self.batchCount
            }
            try net.derive(reader, at: base, fillsMissing: true)
        }
        isDone = count < Self.batchCount
        let changed = net.items.filter { !net.areEqual($0.before, $0.after) }
        net.replaceItems(with: changed)
        last = next
        if net.isEmpty { return nil }
        net.sort()
        return try net.encoded(
            attributes: CommitAttributes(label: "derive \(file.schema.entities[entity].name)"),
            base: base, token: .random(in: .min ... .max), time: file.time(),
            for: CommitPurpose(cause: .edit, isUndoable: false))
    }

    /// Begins the entity again.
    mutating func follow(_ refusal: CommitRefusal) throws {
        (last, isDone) = (.none, false)
    }
}
