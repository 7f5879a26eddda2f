import StetLMDB

/// The places of a key file that were read: which versions of whose keys there are, and where.
///
/// It needs no key of a provider: owners are listed, and their keys destroyed, without one.
package struct KeyPlaces {
    private let file: KeyFileStorage
    /// The first version of each owner, whose place shows whether its keys were destroyed.
    private var first: [ObjectID: Version] = [:]
    /// The later versions of owners whose keys were rotated, in order.
    private var rotated: [ObjectID: [Version]] = [:]
    /// The owners with a place in which the key was destroyed.
    private var destroyed: Set<ObjectID> = []
    /// The number of places that were read.
    private(set) var count = 0

    init(of file: KeyFileStorage) { self.file = file }

    /// Reads the places of a file that exists.
    ///
    /// - Throws: `SealingError`: `.notAKeyFile`, `.inputOutput`, also when there is no file.
    package init(at path: String) throws(SealingError) {
        let file = try KeyFileStorage.opening(path)
        _ = try file.header()
        self.init(of: file)
        try change { _ in }
    }

    /// A version of an owner's key, and where it is.
    struct Version {
        let number: UInt32
        let place: Int
    }

    // MARK: Looking up

    /// An object that has, or had, a key in a file.
    package struct Owner: Hashable, Sendable {
        package let id: ObjectID
        /// The number of versions of its key; 0 once they were destroyed.
        package let keyCount: Int
    }

    /// The owners, in the order of their ids.
    package var owners: [Owner] {
        first.keys.sorted().map { id in
            Owner(
                id: id, keyCount: destroyed.contains(id) ? 0 : versions(of: id).count)
        }
    }

    /// Returns whether an owner has, or had, a key.
    func contains(_ owner: ObjectID) -> Bool { first[owner] != nil }

    /// Returns the versions of an owner's key: first the one that decides, last the one by which
    /// values are sealed now.
    func versions(of owner: ObjectID) -> [Version] {
        guard let first = first[owner] else { return [] }
        return [first] + (rotated[owner] ?? [])
    }

    /// Returns the number of the next version of an owner's key: above 20 random bits, how many
    /// there were before.
    ///
    /// Two copies of a file that make keys of one owner, which neither of them notices, give them
    /// different numbers: a value that only the other copy opens has no key here, not a wrong one.
    func nextVersion(of owner: ObjectID) -> UInt32 {
        let used = versions(of: owner).map(\.number)
        let rank = min(UInt32(used.count), KeySlot.highestRank) << KeySlot.randomBitCount
        while true {
            let number = rank | .random(in: 0..<1 << KeySlot.randomBitCount)
            if !used.contains(number) { return number }
        }
    }

    /// Reads a place, each time, because another process may have destroyed the key.
    ///
    /// - Throws: `SealingError`: `.notAKeyFile` when it is damaged, `.inputOutput`.
    mutating func slot(_ place: Int, of owner: ObjectID) throws(SealingError) -> KeySlot {
        if let slot = KeySlot(try file.slot(place)), slot.owner == owner { return slot }
        // Another process may be writing it at this moment.
        return try change { places throws(SealingError) in
            try places.settledSlot(place, of: owner)
        }
    }

    /// Reads a place that nobody is writing, in the body of a change.
    func settledSlot(_ place: Int, of owner: ObjectID) throws(SealingError) -> KeySlot {
        guard let slot = KeySlot(try file.slot(place)), slot.owner == owner else {
            throw damaged(owner)
        }
        return slot
    }

    func damaged(_ owner: ObjectID) -> SealingError {
        .notAKeyFile(file.path, "the key of object \(owner) is damaged")
    }

    // MARK: Changing the file

    /// Runs `body` while no other process changes the file, after reading what others have added.
    @discardableResult
    mutating func change<Result>(
        _ body: (inout KeyPlaces) throws(SealingError) -> Result
    ) throws(SealingError) -> Result {
        try file.lock()
        defer { file.unlock() }
        try follow()
        return try body(&self)
    }

    /// Reads the places that others have added, if there are any.
    mutating func followIfLonger() throws(SealingError) {
        if try file.slotCount() > count { try change { _ in } }
    }

    /// Reads the places that others have added, and makes them durable: a process that was killed
    /// may have written keys without a sync, and what they seal must not outlive them.
    private mutating func follow() throws(SealingError) {
        let added = try file.slots(from: count)
        if !added.isEmpty { try file.sync() }
        for bytes in added { note(KeySlot(bytes)) }
    }

    /// Notes the next place; nil for one that is damaged.
    private mutating func note(_ slot: KeySlot?) {
        defer { count += 1 }
        guard let slot else { return }
        let version = Version(number: slot.version, place: count)
        if first[slot.owner] == nil {
            first[slot.owner] = version
        } else {
            rotated[slot.owner, default: []].append(version)
        }
        if slot.wrappedKey == nil { destroyed.insert(slot.owner) }
    }

    /// Adds places at the end of the file, durably; for `body` of a change.
    mutating func append(_ slots: [KeySlot]) throws(SealingError) {
        if slots.isEmpty { return }
        do throws(SealingError) {
            try file.write(slots, at: count)
        } catch {
            // Nobody may use keys that are perhaps not on the disk.
            file.removeSlots(from: count)
            throw error
        }
        for slot in slots { note(slot) }
    }

    /// Destroys all versions of an owner's key, durably; it never gets another one.
    package mutating func destroyKeys(of owner: ObjectID) throws(SealingError) {
        try change { places throws(SealingError) in
            if !places.contains(owner) {
                return try places.append([KeySlot(owner: owner, version: 0, wrappedKey: nil)])
            }
            try places.overwriteKeys(of: owner)
        }
    }

    /// Overwrites the first key of an owner, after which no reader uses the others, then those.
    private mutating func overwriteKeys(of owner: ObjectID) throws(SealingError) {
        for version in versions(of: owner) {
            let slot = KeySlot(owner: owner, version: version.number, wrappedKey: nil)
            try file.write([slot], at: version.place)
            destroyed.insert(owner)
        }
    }

    /// Destroys the keys that remain of owners whose destruction was interrupted.
    mutating func completeDestructions() throws(SealingError) {
        try change { places throws(SealingError) in
            for owner in places.destroyed where places.rotated[owner] != nil {
                for version in places.versions(of: owner)
                where KeySlot(try places.file.slot(version.place))?.wrappedKey != nil {
                    try places.overwriteKeys(of: owner)
                    break
                }
            }
        }
    }
}
