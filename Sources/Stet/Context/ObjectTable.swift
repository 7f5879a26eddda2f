public import StetStore

/// The objects of one model in one context.
///
/// Used by the code that `@Model` writes.
public final class _ObjectTable {
    /// The context owns the table and outlives it.
    @usableFromInline unowned(unsafe) let core: ContextCore
    let modelType: any Model.Type
    /// The entity's number in the store.
    let entity: EntityNumber
    /// The member ends of the model's references, in the order of slots.
    let ends: [MemberEnd]
    /// True when some of these references have positions.
    @usableFromInline let hasPositions: Bool
    @exclusivity(unchecked) private var map = IdentityMap()

    init(core: ContextCore, modelType: any Model.Type, entity: EntityNumber) {
        self.core = core
        self.modelType = modelType
        self.entity = entity
        ends = core.schema.referenceEnds(ofMember: entity)
        hasPositions = ends.contains(where: \.isOrdered)
        TaggedAddress.check(Unmanaged.passUnretained(self).toOpaque())
    }

    var description: Entity { core.schema.entities[entity] }

    // MARK: Live objects

    /// - Precondition: the table is the one of `M`.
    func object<M: Model>(_ id: ObjectID, as type: M.Type) -> M? {
        guard let pointer = map[id] else { return nil }
        return Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Returns the live object with an id, whatever its class.
    func object(_ id: ObjectID) -> (any Model)? {
        func find<M: Model>(_ type: M.Type) -> (any Model)? { object(id, as: type) }
        return find(modelType)
    }

    /// Inserts an object; returns false when another object has its id.
    func insert<M: Model>(_ object: M) -> Bool {
        let pointer = Unmanaged.passUnretained(object).toOpaque()
        return insert(object.id, pointer, idOffset: object._$idOffset) == nil
    }

    /// Inserts an object that was made from its record, and has its id at an offset; returns the
    /// one that is already alive, if any.
    @usableFromInline
    func insert(
        _ id: ObjectID, _ object: UnsafeMutableRawPointer, idOffset: Int
    ) -> UnsafeRawPointer? {
        if map.idOffset == nil {
            trap(
                unless: (0..<1 << 16).contains(idOffset)
                    && object.loadUnaligned(fromByteOffset: idOffset, as: ObjectID.self) == id,
                "An object of \(modelType) does not contain its state.")
            map.idOffset = idOffset
        }
        return map.insert(id, object)
    }

    /// Returns the address of the live object with an id.
    func pointer(_ id: ObjectID) -> UnsafeRawPointer? { map[id] }

    /// Reserves room for a total number of objects.
    func reserve(_ expected: Int) { map.reserve(expected) }

    @usableFromInline
    func forget(_ id: ObjectID, _ pendingIndex: Int32) {
        map.remove(id)
        let isOnItsOwn = Unmanaged.passUnretained(core)._withUnsafeGuaranteedRef(\.isOnItsOwn)
        if pendingIndex >= 0 || isOnItsOwn { core.objectDied(pendingIndex: pendingIndex) }
    }

    /// Removes an object that has left the context.
    func remove(_ id: ObjectID) { map.remove(id) }

    /// Detaches the objects so that they outlive the context: they keep their values and belong to
    /// no context.
    func detachAll() {
        func detach<M: Model>(_ type: M.Type) {
            map.forEach { pointer in
                let object = Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
                object._$state.table = nil
                object._$state.pendingIndex = -1
                object._$state.flags.formIntersection(.deleted)
            }
        }
        detach(modelType)
    }

    var liveCount: Int { map.count }

    /// The live objects, in no particular order.
    var liveObjects: [any Model] {
        func objects<M: Model>(_ type: M.Type) -> [any Model] {
            var objects: [any Model] = []
            map.forEach { objects.append(Unmanaged<M>.fromOpaque($0).takeUnretainedValue()) }
            return objects
        }
        return objects(modelType)
    }

    // MARK: Reading

    /// Returns the object with an id, made from its record unless it is alive; deleted objects
    /// included.
    func load<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        guard let object = try object(id, as: type) ?? read(id, as: type) else { return nil }
        if M._$hasDidFetch { core.hookCalls.callDidFetch(of: object) }
        return object
    }

    private func read<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        // Returns a pointer, because each read would look up the type of an optional object.
        let made = try core.reading { reader in
            try reader.withRecord(ofEntity: entity, id, asOf: core.revision) { record in
                try M._$make(id, record.body, self, record.revision)
            }
        }
        guard let made else { return nil }
        return Unmanaged<M>.fromOpaque(made).takeRetainedValue()
    }

    /// Returns the objects among these ids that exist and are not deleted, in the same order.
    func load<M: Model>(_ ids: ArraySlice<ObjectID>, as type: M.Type) throws -> [M] {
        // Uses `AnyObject`, as `objects(of:)` does.
        var found: [AnyObject] = []
        found.reserveCapacity(ids.count)
        try core.reading { reader in
            var records = RecordsAhead(of: entity)
            for (place, id) in zip(ids.indices, ids) {
                if let object = object(id, as: type) {
                    if !object.isDeleted { found.append(object) }
                    continue
                }
                let next = place + 1 < ids.endIndex ? ids[place + 1] : nil
                let record = try records.record(
                    id, before: next.flatMap { pointer($0) == nil ? $0 : nil }, in: reader)
                let made = try reader.withRecord(record, ofEntity: entity, asOf: core.revision) {
                    try M._$make(id, $0.body, self, $0.revision)
                }
                if let made {
                    found.append(Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue())
                }
            }
        }
        return unsafeBitCast(found, to: [M].self)
    }

    /// Returns the object with an id, whatever its class, made from its record unless it is alive.
    func load(_ id: ObjectID) throws -> (any Model)? {
        func load<M: Model>(_ type: M.Type) throws -> (any Model)? { try self.load(id, as: type) }
        return try load(modelType)
    }

    /// Sets the positions of the references of an object that is made from a body.
    @usableFromInline
    func readPositions<M: Model>(of object: M, _ body: UnsafeRawBufferPointer) throws {
        let body = try RecordBody(body, of: description)
        for end in ends where end.isOrdered {
            guard let position = try body.position(end.slot) else { continue }
            object._$state.setPosition(position, in: end.slot)
        }
    }

    /// Returns the capture of an object that shows the values of a body.
    ///
    /// - Throws: `DecodingFailure` when the body is damaged, `StoreError` when a value is one that
    ///   its type cannot represent.
    func capture<M: Model>(
        _ id: ObjectID, _ body: UnsafeRawBufferPointer, as type: M.Type
    ) throws -> ObjectCapture<M> {
        let snapshot = try M._$decode(id, body)
        guard hasPositions else { return ObjectCapture(snapshot) }
        let record = try RecordBody(body, of: description)
        var state = _ModelState()
        for end in ends where end.isOrdered {
            if let position = try record.position(end.slot) {
                state.setPosition(position, in: end.slot)
            }
        }
        return ObjectCapture(
            snapshot, attached: state.attached?.takeUnretainedValue(), state.attachedSlot)
    }

    func capture<M: Model>(
        _ id: ObjectID, _ body: EncodedBody, as type: M.Type
    ) throws -> ObjectCapture<M> {
        try body.bytes.withUnsafeBytes { try capture(id, $0, as: type) }
    }

    @usableFromInline
    static func damage(_ id: ObjectID, _ name: String) -> any Error {
        DecodingFailure("the record of \(name) \(id) is damaged")
    }
}

extension Model {
    var _$core: ContextCore? { _$table?.core }
    var _$entityName: String { Self._$name }
    /// The entity's number; 0 for an object in no context.
    var _$entityNumber: EntityNumber { _$table?.entity ?? 0 }
    func _$setPendingIndex(_ index: Int) { _$state.pendingIndex = Int32(index) }

    /// True while the object is inserted and the store has never contained it.
    var _$isNew: Bool { isInserted && _$revision == .zero }

    var _$key: ObjectKey { ObjectKey(_$entityNumber, id) }

    /// - Throws: `DecodingFailure` when the body is not one of this model.
    @inlinable
    static func _$decode(_ id: ObjectID, _ body: UnsafeRawBufferPointer) throws -> Snapshot {
        try _$read(id, body) { reader throws(_UnreadableValue) in
            try Snapshot(_$id: id, reader: &reader)
        }
    }

    /// Returns the slot of the first value that its type cannot represent; nil when all can be
    /// read.
    static func unreadableSlot(in body: EncodedBody) -> Slot? {
        body.bytes.withUnsafeBytes { bytes in
            guard
                var reader = try? RecordReader(body: bytes, propertyCount: _$propertyCount)
            else { return nil }
            do throws(_UnreadableValue) {
                _ = try Snapshot(_$id: .none, reader: &reader)
                return nil
            } catch {
                return reader.isDamaged ? nil : error.slot
            }
        }
    }
}
