/// The observers of a feed, with the look-up of those that a commit concerns.
///
/// A commit is looked up by the entities, objects, properties and links that it changes, so that
/// observers that it does not concern cost nothing, however many there are.
struct FeedRoutes {
    typealias Waiter = CheckedContinuation<Revision, Never>

    /// A waiting observer, and the revision up to which nothing concerns it.
    struct Wake {
        let waiter: Waiter
        let seen: Revision
    }

    private struct Observer {
        let interests: [FeedInterest]?
        let keepsCommits: Bool
        let isNudged: Bool
        var waiters: [UInt64: Waiter] = [:]
    }

    /// The observers with an interest in an entity.
    private struct EntityRoutes {
        /// The observers of every change.
        var all: Set<UInt64> = []
        /// The observers of every insert and delete, and of updates of some properties.
        var some: Set<UInt64> = []
        var bySlot: [Slot: Set<UInt64>] = [:]
        var byObject: [ObjectID: Set<UInt64>] = [:]

        var isEmpty: Bool { all.isEmpty && some.isEmpty && byObject.isEmpty }
    }

    private var observers: [UInt64: Observer] = [:]
    private var entities: [EntityNumber: EntityRoutes] = [:]
    private var links: [Int: Set<UInt64>] = [:]
    private var lastNumber: UInt64 = 0
    /// The waiting observers that every commit concerns.
    private var waitingForAny: Set<UInt64> = []
    /// The other waiting observers.
    private var waitingForSome: Set<UInt64> = []
    /// The observers that are also woken without a commit.
    private var nudged: Set<UInt64> = []
    /// The observers that commits are kept for.
    private(set) var keeperCount = 0

    var count: Int { observers.count }
    var waiterCount: Int { observers.values.reduce(0) { $0 + $1.waiters.count } }

    // MARK: Observers

    /// Adds an observer; nil means an interest in every change.
    mutating func add(
        _ interests: [FeedInterest]?, keepsCommits: Bool, isNudged: Bool
    ) -> UInt64 {
        lastNumber += 1
        let number = lastNumber
        observers[number] = Observer(
            interests: interests, keepsCommits: keepsCommits, isNudged: isNudged)
        if isNudged { nudged.insert(number) }
        if keepsCommits { keeperCount += 1 }
        for interest in interests ?? [] { route(interest) { $0.insert(number) } }
        return number
    }

    mutating func remove(_ number: UInt64) {
        guard let observer = observers.removeValue(forKey: number) else { return }
        if observer.keepsCommits { keeperCount -= 1 }
        nudged.remove(number)
        for interest in observer.interests ?? [] { route(interest) { $0.remove(number) } }
    }

    /// Changes each set of observers that leads to an interest; empty sets are removed.
    private mutating func route(
        _ interest: FeedInterest, _ change: (inout Set<UInt64>) -> Void
    ) {
        var routes = entities[interest.entity] ?? EntityRoutes()
        if let objects = interest.objects {
            for id in objects { Self.change(&routes.byObject, id, change) }
        } else if let slots = interest.slots {
            change(&routes.some)
            for slot in slots { Self.change(&routes.bySlot, slot, change) }
        } else {
            change(&routes.all)
        }
        entities[interest.entity] = routes.isEmpty ? nil : routes
        for link in Set(interest.links.map(\.link)) { Self.change(&links, link, change) }
    }

    private static func change<Key>(
        _ routes: inout [Key: Set<UInt64>], _ key: Key, _ change: (inout Set<UInt64>) -> Void
    ) {
        var set = routes.removeValue(forKey: key) ?? []
        change(&set)
        if !set.isEmpty { routes[key] = set }
    }

    // MARK: Waiting

    mutating func wait(_ waiter: Waiter, numbered number: UInt64, of observer: UInt64) {
        observers[observer]?.waiters[number] = waiter
        if observers[observer]?.interests == nil {
            waitingForAny.insert(observer)
        } else {
            waitingForSome.insert(observer)
        }
    }

    /// Removes and returns one waiter.
    mutating func takeWaiter(numbered number: UInt64, of observer: UInt64) -> Waiter? {
        guard let waiter = observers[observer]?.waiters.removeValue(forKey: number) else {
            return nil
        }
        if observers[observer]?.waiters.isEmpty ?? true {
            waitingForAny.remove(observer)
            waitingForSome.remove(observer)
        }
        return waiter
    }

    /// Removes and returns all waiters.
    mutating func takeAll(seen: Revision) -> [Wake] {
        let numbers = waitingForAny.union(waitingForSome)
        return take(numbers, seen: seen)
    }

    /// Removes and returns the waiters that are also woken without a commit.
    mutating func takeNudged(seen: Revision) -> [Wake] { take(nudged, seen: seen) }

    /// Removes and returns the waiters that a commit may concern; `seen` is the revision before it.
    mutating func take(for commit: Commit, seen: Revision) -> [Wake] {
        var wakes = waitingForAny.isEmpty ? [] : take(waitingForAny, seen: seen)
        if !waitingForSome.isEmpty { wakes += take(concerned(by: commit), seen: seen) }
        return wakes
    }

    private mutating func take(_ numbers: Set<UInt64>, seen: Revision) -> [Wake] {
        var wakes: [Wake] = []
        for number in numbers {
            for waiter in (observers[number]?.waiters ?? [:]).values {
                wakes.append(Wake(waiter: waiter, seen: seen))
            }
            observers[number]?.waiters = [:]
        }
        waitingForAny.subtract(numbers)
        waitingForSome.subtract(numbers)
        return wakes
    }

    // MARK: Routing

    /// Returns the waiting observers that a commit may concern.
    private func concerned(by commit: Commit) -> Set<UInt64> {
        var found: Set<UInt64> = []
        let comparesSlots = commit.isOfPresentSchema
        do {
            try commit.forEachChange { change in
                if found.count == waitingForSome.count { return }
                try add(concernedBy: change, comparesSlots, to: &found)
            }
        } catch {
            // Wakes all of them; each reports the failure itself.
            return waitingForSome
        }
        return found.filter { observers[$0]?.interests?.includesAuthor(of: commit) ?? true }
    }

    private func add(
        concernedBy change: JournalChange, _ comparesSlots: Bool, to found: inout Set<UInt64>
    ) throws {
        if let routes = entities[change.entity] {
            if change.changesRecord {
                add(routes.all, to: &found)
                if !routes.some.isEmpty {
                    if change.kind == .update, comparesSlots {
                        for cell in try change.changedCells() {
                            add(routes.bySlot[cell.slot], to: &found)
                        }
                    } else {
                        add(routes.some, to: &found)
                    }
                }
            }
            if !routes.byObject.isEmpty {
                try add(routes.byObject[change.id], whoWant: change, comparesSlots, to: &found)
            }
        }
        guard change.changesLinks, !links.isEmpty else { return }
        for link in Set(try change.links().map(\.key.link)) {
            try add(links[link], whoWant: change, comparesSlots, to: &found)
        }
    }

    private func add(_ numbers: Set<UInt64>?, to found: inout Set<UInt64>) {
        for number in numbers ?? [] where waitingForSome.contains(number) { found.insert(number) }
    }

    private func add(
        _ numbers: Set<UInt64>?, whoWant change: JournalChange, _ comparesSlots: Bool,
        to found: inout Set<UInt64>
    ) throws {
        for number in numbers ?? [] where waitingForSome.contains(number) {
            guard !found.contains(number), let interests = observers[number]?.interests else {
                continue
            }
            if try interests.includes(change, comparesSlots: comparesSlots) {
                found.insert(number)
            }
        }
    }
}
