import FoundationEssentials
import StetStore

/// Seals the values that pending objects have got since their last save.
///
/// The objects keep the unsealed ones until the changes are sent: a save that fails leaves no trace
/// of the keys by which it would have sealed them, which may be others the next time.
struct SealingStep {
    private let core: ContextCore
    /// The values that can't be sealed, with the reasons.
    private(set) var refusals: [SealRefusal] = []
    /// The sealed values, by the positions of their objects among the pending ones.
    private(set) var sealed: [Int: [Slot: SealedBytes]] = [:]
    private var values: [PendingValue] = []

    /// A value to be sealed.
    private struct PendingValue {
        let position: Int
        let object: ObjectID
        let slot: Slot
        let plaintext: [UInt8]
        let place: SealedBytes.Place
        let isIndexed: Bool
        /// True when the save inserts the owner.
        let ownerIsNew: Bool
    }

    init(_ core: ContextCore) { self.core = core }

    /// - Throws: `SealingError`, among them `.keyFileNotOpen`.
    mutating func run() throws {
        if !core.schema.hasSealedAttributes { return }
        for (position, entry) in core.pending.objects.enumerated()
        where !entry.object._$flags.contains(.deleted) {
            try collect(entry.object, entry.base, position)
        }
        if values.isEmpty { return }
        guard let keys = core.store.configuration.keys else { throw SealingError.noKeyFile }
        try makeKeys(keys)
        for value in values {
            switch SealedBytes.sealing(
                value.plaintext, at: value.place, isIndexed: value.isIndexed, by: keys)
            {
            case .success(let bytes):
                sealed[value.position, default: [:]][value.slot] = bytes
            case .failure(let error) where error.code == .erased:
                refuse(value.object, value.slot, .keyDestroyed)
            case .failure(let error): throw error
            }
        }
    }

    /// Makes keys for the owners that have none.
    ///
    /// - Throws: `SealingError`, among them `.keyMissing`.
    private func makeKeys(_ keys: KeyFile) throws {
        // The store has no values of objects that are new.
        let isNew = Dictionary(grouping: values, by: \.place.owner).mapValues { $0[0].ownerIsNew }
        let others = Set(isNew.keys.filter { isNew[$0] == false })
        if !others.isEmpty {
            try core.store.file.read { try keys.makeKeys(for: others, unlessUsedIn: $0) }
        }
        try keys.makeKeys(for: isNew.keys.filter { isNew[$0] == true })
    }

    /// The refusals as violations.
    var violations: [Violation] {
        refusals.compactMap { refusal in
            core.pending.objects.first { $0.object.id == refusal.object }.map { entry in
                let entity = core.schema.entities[entry.object._$entityNumber]
                return Violation(refusal, of: entity, nil, core.messages)
            }
        }
    }

    private mutating func refuse(
        _ object: ObjectID, _ slot: Slot, _ reason: SealRefusal.Reason
    ) {
        refusals.append(SealRefusal(object, slot, reason))
    }

    /// Collects the values of an object that are not sealed, or sealed for another place.
    private mutating func collect<M: Model>(
        _ object: M, _ base: AnyObject, _ position: Int
    ) throws {
        guard let entity = object._$table?.description, !entity.sealedSlots.isEmpty,
            let body = try? object._$body()
        else { return }
        // An edit that changes nothing does not seal what an undo has left with an earlier owner.
        if try !object._$flags.contains(.inserted) && body == M._$body(of: base) { return }
        for slot in entity.sealedSlots {
            guard case .data(let data) = try body.read(as: entity, { try $0.value(slot) }),
                !data.isEmpty
            else { continue }
            let value = SealedBytes(bytes: Array(data))
            let owner = owner(of: object, entity, entity.properties[slot].seal ?? .own)
            if let place = value.place, place.object == object.id,
                object._$hasLabel(place.label, slot)
            {
                // Without an owner, it stays with its last one; what was erased stays erased.
                if owner == nil || place.owner == owner { continue }
                if case .failure(let error) = value.opening(), error.code == .erased { continue }
            } else if try isStored(data, slot, of: object, base, entity) {
                // Somebody has changed the file: to seal it anew would hide that.
                continue
            }
            try collect(value, slot, of: object.id, entity, owner: owner, position)
        }
    }

    /// Collects a value that is to be sealed by the key of an owner.
    private mutating func collect(
        _ value: SealedBytes, _ slot: Slot, of object: ObjectID, _ entity: Entity,
        owner: ObjectID?, _ position: Int
    ) throws {
        let property = entity.properties[slot]
        guard let owner else {
            return refuse(object, slot, .ownerMissing(property.seal ?? .own))
        }
        let place = SealedBytes.Place(
            owner: owner, object: object,
            label: SealedBytes.Place.label(ofProperty: property.name))
        switch value.opening() {
        case .success(let plaintext) where plaintext.count > 1:
            values.append(
                PendingValue(
                    position: position, object: object, slot: slot, plaintext: plaintext,
                    place: place, isIndexed: entity.isIndexed(slot),
                    ownerIsNew: isNew(owner, property.seal ?? .own, entity)))
        case .success: refuse(object, slot, .unencodable)
        case .failure(let error) where error.code == .keyFileNotOpen: throw error
        case .failure(let error): refuse(object, slot, .unopened(error))
        }
    }

    /// Returns whether an owner is one that the save inserts.
    private func isNew(_ owner: ObjectID, _ seal: Seal, _ entity: Entity) -> Bool {
        let name = entity.slot(ofOwner: seal).flatMap { entity.properties[$0].target }
        return core.schema.number(ofEntity: name ?? entity.name)
            .flatMap { core.object(ObjectKey($0, owner)) }?._$isNew ?? false
    }

    /// Returns whether an attribute has these bytes in the record of an object, too.
    private func isStored<M: Model>(
        _ data: Data, _ slot: Slot, of object: M, _ base: AnyObject, _ entity: Entity
    ) throws -> Bool {
        if object._$flags.contains(.inserted) { return false }
        return try M._$body(of: base).read(as: entity) { try $0.value(slot) } == .data(data)
    }

    private func owner<M: Model>(of object: M, _ entity: Entity, _ seal: Seal) -> ObjectID? {
        guard let reference = entity.slot(ofOwner: seal) else { return object.id }
        let id = object._$reference(in: reference)
        return id == .none ? nil : id
    }
}

extension PendingChanges {
    /// Returns the states of the objects at some positions with other sealed values.
    func captures(
        replacing sealed: [Int: [Slot: SealedBytes]]
    ) throws -> [Int: AnyObject] {
        var captures: [Int: AnyObject] = [:]
        for (position, values) in sealed {
            captures[position] = try capture(of: objects[position].object, replacing: values)
        }
        return captures
    }

    private func capture<M: Model>(
        of object: M, replacing sealed: [Slot: SealedBytes]
    ) throws -> AnyObject? {
        try object._$capture(replacing: sealed)
    }
}

extension Model {
    /// Returns the state of the object with other sealed values; nil without a context.
    func _$capture(replacing sealed: [Slot: SealedBytes]) throws -> ObjectCapture<Self>? {
        guard let table = _$table else { return nil }
        let body = try _$body().replacing(sealed, of: table.description)
        return ObjectCapture<Self>(
            try body.bytes.withUnsafeBytes { try Self._$decode(id, $0) },
            attached: _$inState { $0.attached?.takeUnretainedValue() },
            _$inState { $0.attachedSlot })
    }
}
