import StetStore

/// The unsaved state of a context: objects with their previous values, links, and refused edits.
///
/// It keeps the members and deletions of the working state in step with the objects: every change
/// of a reference, a link or a deletion goes through this class.
///
/// State: belongs to the isolation of its context. Properties that every edit uses are not checked
/// for overlapping access at run time; code that changes them never calls users' code.
final class PendingChanges {
    unowned(unsafe) let core: ContextCore
    @exclusivity(unchecked) private(set) var objects: [PendingObject] = []
    /// The references that retain the objects; nil for an object that only others retain, while
    /// nothing retains the context.
    @exclusivity(unchecked) private var holders = ObjectHolders()
    private(set) var links: [LinkKey: PendingLink] = [:]
    /// The edits that were refused, which the next save reports.
    private(set) var rejections: [Violation] = []
    /// The objects edited since a save began to settle; nil while none settles.
    @exclusivity(unchecked) private var touched: [any Model]?
    /// False when no pending object refers to one that is in no context.
    @exclusivity(unchecked) private var mayReferToUninserted = false
    /// The members that objects have brought with them, until they are inserted, too.
    @exclusivity(unchecked) private var heldMembers: [HeldMembers] = []
    /// The class of the last object that a new one referred to.
    @exclusivity(unchecked) var lastTarget: (any Model.Type)?
    /// The values found for look-ups; nil when they may not be the present ones any more.
    @exclusivity(unchecked) var lookups: ValueLookups?
    /// The number of changes to what is pending.
    @exclusivity(unchecked) private(set) var changeCount: UInt64 = 0

    init(_ core: ContextCore) { self.core = core }

    var state: WorkingState { core.state }

    var isEmpty: Bool { objects.isEmpty && links.isEmpty }

    // MARK: Objects

    subscript(_ object: any Model) -> PendingObject? {
        objects.element(at: Int(object._$pendingIndex))
    }

    /// Captures an object before its first change.
    func register<M: Model>(_ object: M) {
        object._$state.pendingIndex = Int32(objects.count)
        append(PendingObject(object: object, base: object._$capture()))
        object._$state.flags.insert(.pending)
    }

    private func append(_ entry: PendingObject) {
        objects.append(entry)
        // When only its objects keep the context alive, the application holds the edited ones.
        let isHeldElsewhere = core.isOnItsOwn && !entry.object._$flags.contains(.inserted)
        holders.append(entry.object, isHeldElsewhere: isHeldElsewhere)
    }

    /// Records an edit, for a save that settles and for observers.
    func touch<M: Model>(_ object: M) {
        noteChange()
        object._$state.flags.remove(.watched)
        touched?.append(object)
        lookups?.note(object._$key, amongPending: objects.count)
    }

    private func noteChange() { (changeCount, _) = (changeCount &+ 1, core.pendingSignal?.note()) }

    /// Notes a change of objects that is no edit.
    private func noteOtherChange() {
        noteChange()
        lookups = nil
    }

    /// Begins or ends recording edits; returns the objects that were edited since the last call.
    @discardableResult
    func watch(_ isWatching: Bool) -> [any Model] {
        // A save changes objects between the periods that are recorded.
        lookups = nil
        let before = touched ?? []
        touched = isWatching ? [] : nil
        var seen: Set<ObjectIdentifier> = []
        return before.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    func setNormalized(_ capture: AnyObject, at index: Int) {
        let before = objects[index].normalized
        objects[index].normalized = capture
        withExtendedLifetime(before) {}
    }

    func confirmDeletion(at index: Int, _ isConfirmed: Bool = true) {
        objects[index].isDeletionConfirmed = isConfirmed
    }

    func note(_ violation: Violation) {
        if !rejections.contains(violation) { rejections.append(violation) }
    }

    func forgetMisuse(of object: ObjectID? = nil) {
        rejections.removeAll { object == nil || $0.object == object }
    }

    /// Changes the base and current values of an object, and the lists of members with it.
    func change(_ object: some Model, _ body: (inout PendingObject) -> Void) {
        let index = Int(object._$pendingIndex)
        noteOtherChange()
        override(object, objects[index], isTaken: true)
        var entry = objects[index]
        let before = entry
        body(&entry)
        objects[index] = entry
        override(object, entry, isTaken: false)
        withExtendedLifetime(before) {}
    }

    // MARK: What is not inserted yet

    /// Notes that an object may refer to one that is in no context.
    func noteUninserted() { mayReferToUninserted = true }

    /// Returns whether an object may refer to one that is in no context, and resets the note.
    func takeNoteOfUninserted() -> Bool {
        defer { mayReferToUninserted = false }
        return mayReferToUninserted
    }

    /// Keeps members until they are inserted, too.
    func hold(_ members: HeldMembers) { heldMembers.append(members) }

    func takeHeldMembers() -> HeldMembers? { heldMembers.popLast() }

    // MARK: Links

    /// Sets the state of a link.
    func setLink(
        _ key: LinkKey, to membership: Membership, below: @autoclosure () throws -> Membership
    )
        rethrows
    {
        let known = links[key]
        let below = try known?.below ?? below()
        if membership == known?.now ?? below { return }
        put(key, membership, below: below)
    }

    private func put(_ key: LinkKey, _ membership: Membership, below: Membership) {
        guard let ends = state.schema.ends(ofLink: key.link) else { return }
        noteChange()
        let isChanged = membership != below
        links[key] = isChanged ? PendingLink(below: below, now: membership) : nil
        let override = isChanged ? membership : nil
        state.pending.members.set(override, of: key.target, in: key.source, at: ends.targets)
        state.pending.members.set(override, of: key.source, in: key.target, at: ends.sources)
    }

    /// Bases pending links on the stored ones; a link whose change others have also made is no
    /// longer pending.
    ///
    /// - Parameters:
    ///   - favorsMine: true when a link that both sides have moved keeps its pending position.
    ///   - stored: returns the stored state of a link.
    func rebaseLinks(favorsMine: Bool, _ stored: (LinkKey) throws -> Membership) rethrows {
        for (key, link) in links {
            let theirs = try stored(key)
            let decision = ThreeWay.decide(
                base: link.below, mine: link.now, theirs: theirs, favorsMine: favorsMine)
            put(key, decision == .mine ? link.now : theirs, below: theirs)
        }
    }

    /// Rolls back the links that match a condition.
    func rollBackLinks(where isMeant: (LinkKey) -> Bool) {
        for (key, link) in links where isMeant(key) {
            put(key, link.below, below: link.below)
        }
    }

    // MARK: Going back

    /// Rolls back one object to its last saved values; pending changes of others stay.
    func rollBack<M: Model>(_ object: M) {
        let index = Int(object._$pendingIndex)
        guard objects.indices.contains(index) else { return }
        noteOtherChange()
        let entry = objects[index]
        let wasNew = object._$isNew
        let referrers = wasNew ? try? referrersInMemory(of: object) : nil
        override(object, entry, isTaken: true)
        let removed = remove(at: index)
        entry.object._$revert(to: entry.base)
        withExtendedLifetime(removed) {}
        guard wasNew else { return }
        mayReferToUninserted = true
        // The referrers keep the object alive again, and insert it when they are saved.
        for (referrer, slot) in referrers ?? [] { referrer._$setTarget(object, in: slot) }
    }

    /// Removes an object from the pending ones; the caller releases the result once nothing here is
    /// being changed, because an object that dies calls the pending changes.
    private func remove(at index: Int) -> (PendingObject, holder: AnyObject?) {
        objects.swapAt(index, objects.count - 1)
        if index < objects.count - 1 { objects[index].object._$setPendingIndex(index) }
        return (objects.removeLast(), holders.remove(at: index))
    }

    /// Restores the last saved state: discards everything pending.
    func rollBackEverything() {
        core.voidSnapshots()
        noteOtherChange()
        let (before, held) = (objects, holders)
        (objects, holders) = ([], ObjectHolders())
        links = [:]
        rejections = []
        state.pending = WorkingState.Layer()
        // Clears the changes of a save whose outcome is unknown.
        if core.saves.inFlight == nil { state.sent = nil }
        // A loop over the entries would copy them.
        for index in before.indices { before[index].object._$revert(to: before[index].base) }
        // Released last, because a model's `deinit` may use the context.
        withExtendedLifetime((before, held)) {}
    }

    // MARK: Captures

    func capture() -> Capture {
        var parts: [_CapturedObjects] = []
        var last: _CapturedObjects?
        for index in objects.indices {
            let part = objects[index].object._$capture(after: last, upTo: objects.count - index)
            guard let part else { continue }
            parts.append(part)
            last = part
        }
        return Capture(
            objects: objects, parts: parts, save: captureSave(), links: links,
            rejections: rejections, layer: state.pending, revision: state.revision)
    }

    /// Returns the save in progress if it changes pending objects, and these objects.
    private func captureSave() -> Capture.Save? {
        guard let save = core.saves.inFlight else { return nil }
        let changed = save.changedObjects
        let both = Set(objects.map { ObjectIdentifier($0.object) }).intersection(changed)
        return both.isEmpty ? nil : Capture.Save(objects: both, commit: save.commit)
    }

    /// Restores what was pending when a capture was taken.
    ///
    /// Changes that others have made since, and that the context shows, are merged by the next
    /// save.
    ///
    /// - Parameters:
    ///   - capture: what is to be pending.
    ///   - isRewinding: true when the context returns to the revision of the capture.
    func restore(_ capture: Capture, isRewinding: Bool = false) {
        mayReferToUninserted = true
        noteOtherChange()
        var released: [Any] = [objects]
        if beginsWithObjects(of: capture) {
            for entry in objects[capture.objects.count...] { entry.object._$revert(to: entry.base) }
            released.append(holders.removeAll(from: capture.objects.count))
            objects = capture.objects
        } else {
            released.append(holders)
            replaceObjects(with: capture.entries)
        }
        for part in capture.parts {
            part.model._$restore(part, in: core) { index in
                let captured = part[index]
                if isRewinding {
                    captured.object._$setRevision(captured.revision)
                } else if captured.object._$revision > captured.revision {
                    rebase(captured.object, onto: capture.knownRevision(of: captured))
                }
            }
        }
        links = capture.links
        rejections = capture.rejections
        state.pending = capture.layer
        // Released last, because a model's `deinit` may use the context.
        withExtendedLifetime(released) {}
    }

    /// Returns whether the first pending objects are those of a capture.
    private func beginsWithObjects(of capture: Capture) -> Bool {
        guard capture.objects.count <= objects.count else { return false }
        return objects.withUnsafeBufferPointer { present in
            capture.objects.withUnsafeBufferPointer { captured in
                captured.baseAddress == present.baseAddress
                    || captured.indices.allSatisfy { captured[$0].object === present[$0].object }
            }
        }
    }

    /// Notes that an object shows values older than a change that others have made.
    private func rebase(_ object: some Model, onto known: Revision) {
        let present = object._$revision
        guard present > known else { return }
        object._$setRevision(known)
        core.markOutdated(object, present)
    }

    /// Replaces the pending objects; those that are no longer among them are reverted.
    private func replaceObjects(with entries: [Capture.Entry]) {
        let before = objects
        let entries = entries.filter { $0.object._$core == nil || $0.object._$core === core }
        objects = []
        holders = ObjectHolders()
        for entry in before { entry.object._$setPendingIndex(-1) }
        for entry in entries {
            entry.object._$setPendingIndex(objects.count)
            append(entry.pending)
            core.register(entry.object)
        }
        for entry in before where entry.object._$pendingIndex < 0 {
            entry.object._$revert(to: entry.base)
        }
    }

    // MARK: On the way to the disk

    /// The pending changes that a save was submitted with.
    struct Sent {
        let objects: [PendingObject]
        fileprivate let holders: ObjectHolders
        let flags: [_ModelState.Flags]
        let links: [LinkKey: PendingLink]
        /// The snapshots that could be restored.
        fileprivate let snapshots: [UInt64]
        fileprivate let layer: WorkingState.Layer
        /// The captures of objects before they were sealed and stamped.
        var captures: [(index: Int, capture: AnyObject)] = []
    }

    /// Marks everything as saved, and returns what was pending.
    func send() -> Sent {
        // A loop over the entries would copy them.
        let flags = objects.indices.map { objects[$0].object._$flags }
        let sent = Sent(
            objects: objects, holders: holders, flags: flags, links: links,
            snapshots: core.takeSnapshots(), layer: state.pending)
        noteOtherChange()
        for index in objects.indices { objects[index].object._$becomeSaved() }
        objects = []
        holders = ObjectHolders()
        links = [:]
        rejections = []
        state.sent = state.pending
        state.pending = WorkingState.Layer()
        return sent
    }

    /// Makes submitted changes pending again, as they were.
    ///
    /// - Precondition: nothing is pending.
    func makePending(_ sent: Sent) {
        noteOtherChange()
        objects = sent.objects
        holders = sent.holders
        links = sent.links
        for (index, entry) in objects.enumerated() {
            entry.object._$setPending(sent.flags[index], at: index)
        }
        for (index, capture) in sent.captures { objects[index].object._$restore(capture) }
        state.sent = nil
        state.pending = sent.layer
        core.giveBack(snapshots: sent.snapshots)
    }

    /// Makes the submitted changes and the later edits pending, as they are shown: it is unknown
    /// whether the submitted ones are saved.
    func freeze(_ sent: Sent) {
        // Snapshots contain the later edits only. Restoring one would drop the submitted changes.
        core.voidSnapshots()
        let (later, laterHolders) = (objects, holders)
        objects = sent.objects
        holders = sent.holders
        let known = Set(objects.map { ObjectIdentifier($0.object) })
        for (index, entry) in later.enumerated() {
            if known.contains(ObjectIdentifier(entry.object)) { continue }
            objects.append(entry)
            holders.append(index, of: laterHolders)
        }
        for (index, entry) in objects.enumerated() {
            let flags = sent.flags.element(at: index) ?? []
            entry.object._$setPending(
                entry.object._$flags.union(flags).union(.pending), at: index)
        }
        links = sent.links.merging(links) { sent, later in
            PendingLink(below: sent.below, now: later.now)
        }
    }

    /// Removes the pending changes from the objects, so that they can be applied to others again.
    func takeOff() -> Capture {
        let capture = capture()
        noteOtherChange()
        let (before, held) = (objects, holders)
        (objects, holders) = ([], ObjectHolders())
        links = [:]
        rejections = []
        state.pending = WorkingState.Layer()
        for entry in before { entry.object._$revert(to: entry.base) }
        withExtendedLifetime((before, held)) {}
        return capture
    }

    /// Makes an object pending again that `takeOff` removed.
    ///
    /// - Parameters:
    ///   - entry: the object, as it was removed.
    ///   - current: the values that it shows from now on.
    ///   - base: its new base values; nil to keep the previous ones.
    func resume(_ entry: Capture.Entry, showing current: AnyObject, onto base: AnyObject? = nil) {
        let object = entry.object
        noteOtherChange()
        core.register(object)
        let index = objects.count
        var pending = entry.pending
        if let base { pending.base = base }
        append(pending)
        object._$setPending(entry.flags, at: index)
        object._$restore(current)
        override(object, objects[index], isTaken: false)
    }

    /// Makes links and refused edits pending again that `takeOff` removed.
    func resume(links: [LinkKey: PendingLink], rejections: [Violation]) {
        for (key, link) in links { put(key, link.now, below: link.below) }
        self.rejections = rejections
        mayReferToUninserted = true
    }

    // MARK: Without a context

    /// Returns whether the pending changes retain all of a number of live objects, and nothing else
    /// does.
    func holdsAll(_ liveCount: Int) -> Bool { holders.heldCount >= liveCount }

    /// Releases objects that something else retains, too; returns the number of objects still
    /// retained.
    func letGoOfHeldElsewhere() -> Int {
        holders.releaseObjectsHeldElsewhere()
        return holders.heldCount
    }

    func holdAll() { holders = ObjectHolders(objects.map { $0.object }) }

    /// Forgets an object that has died and that only others retained.
    func forget(_ index: Int) {
        guard objects.indices.contains(index), !holders.holds(index) else { return }
        withExtendedLifetime(remove(at: index)) {}
    }
}
