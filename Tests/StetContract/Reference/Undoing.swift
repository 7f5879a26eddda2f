/// The response to conflicts of an undo.
enum Answer: String, Sendable, CaseIterable { case fail, skip, overwrite }

/// The commit that is undone, redone or reverted.
enum TakingBack: Sendable {
    case undo, redo
    /// Reverts the commit at this distance before the last one.
    case revert(Int)
}

/// The undo and redo stacks of one author.
struct UndoModel: Equatable {
    struct Entry: Equatable {
        let revision: Int
        var group: Int?
        /// True if the entry below existed and is of the same group: both are one step.
        var continues = false
    }

    var undo: [Entry] = []
    var redo: [Entry] = []

    mutating func edited(_ revision: Int, in group: Int? = nil, floor: Int = 0) {
        let continues = undo.last.map { $0.revision > floor && $0.group == group } ?? false
        undo.append(
            Entry(revision: revision, group: group, continues: group != nil && continues))
        redo = []
    }

    /// Returns the steps of a stack from the top down, each with its last commit first.
    static func steps(of stack: [Entry]) -> [[Int]] {
        var steps: [[Int]] = []
        var continues = false
        for entry in stack.reversed() {
            if continues {
                steps[steps.count - 1].append(entry.revision)
            } else {
                steps.append([entry.revision])
            }
            continues = entry.continues
        }
        return steps
    }
}

/// The result of reversing a commit by the three-way rule.
struct Inverse {
    /// The state in which every cell that is as the commit left it is reversed.
    var world: World
    /// True if every cell was as the commit left it, or already had its former value.
    var isClean = true

    init(of subjects: [Int], in states: [World]) {
        world = states[states.count - 1]
        for subject in subjects { takeBack(states[subject - 1], states[subject], now: world) }
    }

    private mutating func takeBack(_ before: World, _ after: World, now: World) {
        for (label, object) in before.objects where after.objects[label] == nil {
            if let present = now.objects[label] {
                if !present.isSame(as: object, ignoringCount: true) { isClean = false }
            } else {
                world.take(object, label, isDead: false)
            }
        }
        for (label, object) in after.objects {
            guard let old = before.objects[label] else {
                guard let present = now.objects[label] else { continue }
                if !present.isSame(as: object) { isClean = false } else { world.forget(label) }
                continue
            }
            if !old.isSame(as: object) { takeBack(label, old, object, now.objects[label]) }
        }
        takeLinksBack(before, after)
        if hasReferrers(after, now) || world.hasDangling { isClean = false }
        for (label, object) in world.objects where object.claim != nil {
            let isTaken = world.objects.contains {
                $0 != label && $1.kind == object.kind && $1.claim == object.claim
            }
            if isTaken { isClean = false }
        }
        for label in now.objects.keys where world.objects[label] == nil {
            for relation in Relation.links {
                // Links, made by others, between deleted and remaining objects.
                if (now.links[relation] ?? []).contains(where: { pair in
                    (pair.source == label || pair.target == label)
                        && (world.objects[pair.source] != nil || world.objects[pair.target] != nil)
                        && after.links[relation]?.contains(pair) != true
                }) {
                    isClean = false
                }
            }
        }
    }

    /// Returns whether others have made a remaining object refer to one that the undo removes.
    private func hasReferrers(_ after: World, _ now: World) -> Bool {
        let gone = now.objects.keys.filter { world.objects[$0] == nil }
        return now.objects.contains { label, object in
            world.objects[label] != nil
                && object.references.contains { relation, target in
                    gone.contains(target) && after.objects[label]?.references[relation] != target
                }
        }
    }

    private mutating func takeBack(
        _ label: Label, _ before: World.Object, _ after: World.Object, _ now: World.Object?
    ) {
        guard let now else { return isClean = false }
        func cell<V: Equatable>(_ path: KeyPath<World.Object, V>) -> V? {
            let (old, new, present) = (
                before[keyPath: path], after[keyPath: path], now[keyPath: path]
            )
            if old == new || present == old { return nil }
            if present == new { return old }
            isClean = false
            return nil
        }
        if let name = cell(\.name) { world.objects[label]?.name = name }
        if let key = cell(\.key) { world.objects[label]?.key = key }
        if let file = cell(\.file) { world.objects[label]?.file = file }
        if let secret = cell(\.secret) { world.objects[label]?.secret = secret }
        if let row = cell(\.spot.row) { world.objects[label]?.spot.row = row }
        if let mark = cell(\.spot.mark) { world.objects[label]?.spot.mark = mark }
        if before.pose != nil, after.pose != nil, now.pose != nil {
            if let row = cell(\.pose!.row) { world.objects[label]?.pose?.row = row }
            if let mark = cell(\.pose!.mark) { world.objects[label]?.pose?.mark = mark }
        } else if let pose = cell(\.pose) {
            world.objects[label]?.pose = pose
        }
        let merge = PartMerge(
            after.parts, mine: before.parts, theirs: now.parts, favorsMine: false)
        let isMerged = merge.map { !$0.isContested } ?? false
        if let parts = isMerged ? merge?.parts : cell(\.parts) {
            world.objects[label]?.parts = parts
        }
        if let trail = cell(\.trail) { world.objects[label]?.trail = trail }
        if let number = cell(\.number) { world.objects[label]?.number = number }
        world.objects[label]?.count += before.count - after.count
        for relation in Relation.references {
            if let target = cell(\.references[relation]) {
                world.refer(relation, label, to: target)
            }
        }
    }

    private mutating func takeLinksBack(_ before: World, _ after: World) {
        for relation in Relation.links {
            let (old, new) = (before.links[relation] ?? [], after.links[relation] ?? [])
            for pair in new.subtracting(old) { world.setLink(relation, pair, false) }
            // A link is deleted with its source.
            for pair in old.subtracting(new) where world.objects[pair.source] != nil {
                world.setLink(relation, pair, true)
            }
        }
    }
}

extension World.Object {
    /// Returns whether two objects are equal apart from their stamps, and from their counters if
    /// these do not matter.
    func isSame(as other: World.Object, ignoringCount: Bool = false) -> Bool {
        var (one, two) = (self, other)
        if ignoringCount { one.count = two.count }
        one.stamp = nil
        two.stamp = nil
        return one == two
    }
}

extension World {
    /// Returns the cells in which another state differs from this one; existence is a cell as well.
    func cells(changedIn other: World) -> Set<String> {
        var cells: Set<String> = []
        for label in Set(objects.keys).union(other.objects.keys) {
            let (one, two) = (objects[label], other.objects[label])
            if (one == nil) != (two == nil) { cells.insert("\(label)") }
            guard let one, let two else { continue }
            if one.name != two.name { cells.insert("\(label).name") }
            if one.key != two.key { cells.insert("\(label).key") }
            if one.file != two.file { cells.insert("\(label).file") }
            if one.secret != two.secret { cells.insert("\(label).secret") }
            if one.parts != two.parts { cells.insert("\(label).parts") }
            if one.trail != two.trail { cells.insert("\(label).trail") }
            if one.spot.row != two.spot.row { cells.insert("\(label).spot.row") }
            if one.spot.mark != two.spot.mark { cells.insert("\(label).spot.mark") }
            if one.pose?.row != two.pose?.row { cells.insert("\(label).pose.row") }
            if one.pose?.mark != two.pose?.mark { cells.insert("\(label).pose.mark") }
            if one.number != two.number { cells.insert("\(label).number") }
            if one.count != two.count { cells.insert("\(label).count") }
            for relation in Relation.references
            where one.references[relation] != two.references[relation] {
                cells.insert("\(label).\(relation.property)")
            }
        }
        return cells
    }
}
