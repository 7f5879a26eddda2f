/// One operation on a context; it has no effect if the objects that it names do not exist.
indirect enum Step: Sendable {
    case insert(Label, Kind, name: String, references: [Relation: Label])
    /// Finds the object of a kind with a key, for leaves with a number, too, or inserts one, and
    /// names it.
    case upsert(Label, Kind, key: String, number: Int, name: String)
    case name(Label, String)
    case number(Label, Int)
    /// Increments a counter.
    case count(Label, by: Int)
    case key(Label, String?)
    /// Gives an object a content as large data.
    case file(Label, Int?)
    /// Gives an object a number that is sealed when it is saved.
    case secret(Label, Int?)
    /// Gives an object an array of embedded values.
    case parts(Label, [Part])
    /// Gives an object an array of embedded values without identity.
    case trail(Label, [Spot])
    /// Gives an object an embedded value, as a whole or member by member.
    case spot(Label, Spot, byMember: Bool)
    /// Gives an object an optional embedded value, or changes the members of the one it has.
    case pose(Label, Spot?, byMember: Bool)
    /// Gives an object another key, or destroys it.
    case rotateKey(Label)
    case destroyKey(Label)
    /// Seals the saved values of an object by its present key.
    case sealAnew(Label)
    case refer(Relation, Label, Label?)
    case append(List, Label, Label)
    case remove(List, Label, Label)
    case place(List, Label, Label, Int)
    case move(List, Label, Int, Int)
    case assign(List, Label, [Label])
    case delete(Label)
    case reinsert(Label)
    case rollBack
    case rollBackObject(Label)
    case snapshot(Int)
    case restore(Int)
    /// Edits in a closure, which throws at its end or is saved.
    case edit([Step], fails: Bool)
    case save(keepsPending: Bool, Failure?)
    /// An asynchronous save, with edits during the save.
    case flight(later: [Step], end: FlightEnd, keepsPending: Bool)
    case validate
    /// Releases the objects that the context need not keep alive.
    case letGo
    case refresh
    /// Replaces the context with a new one that has read nothing.
    case renew
    case policy(Policy)
    case takeBack(TakingBack, Answer, Failure?)
    case trim
    /// Redacts values in the journal.
    case redact(Label, Attribute)
    /// Begins or ends a group of commits.
    case group(Bool)
}

/// A failure that is injected into an otherwise valid commit; `full` is a map that cannot grow.
enum Failure: String, Sendable, CaseIterable { case willCommit, begin, put, full, commit }

/// A value that can be redacted.
enum Attribute: String, Sendable, CaseIterable {
    case name, number, key, file, secret, parts, trail
    case row = "spot.row"
    /// An optional embedded value as a whole, and its members.
    case pose
    case poseRow = "pose.row"
    case poseMark = "pose.mark"

    /// The attributes that a redaction names.
    var members: [Attribute] { self == .pose ? [.poseRow, .poseMark] : [self] }
}

/// The end of an asynchronous save, apart from the outcome that the contract prescribes.
enum FlightEnd: String, Sendable, CaseIterable {
    case landed, begin, put, commit, cancelled
    /// The save is completed because another call needs its outcome.
    case refresh, edit
    /// The save is completed while a second save waits for it.
    case second, secondCancelled
}

/// A merge policy.
enum Policy: String, Sendable, CaseIterable { case fail, storeWins, contextWins, theirs, sum }

/// A step of one of the contexts.
struct Move: Sendable {
    let context: Int
    let step: Step
    /// Selects the queries that are compared after the step.
    let query: Int
}

extension Step {
    /// Returns whether everything that the step names exists and can be edited.
    func applies(to scene: Scene, _ run: RunReference) -> Bool {
        let now = scene.now
        func hasKind(_ label: Label, _ kind: Kind) -> Bool {
            now.isAlive(label) && now.objects[label]?.kind == kind
        }
        switch self {
        case .insert(let label, let kind, _, let references):
            return !run.known.contains(label)
                && references.allSatisfy { $0.source == kind && hasKind($1, $0.target) }
        case .upsert(let label, _, _, _, _): return !run.known.contains(label)
        case .name(let label, _), .number(let label, _), .count(let label, _),
            .key(let label, _), .file(let label, _), .secret(let label, _), .parts(let label, _),
            .spot(let label, _, _), .pose(let label, _, _), .trail(let label, _),
            .delete(let label):
            return now.isAlive(label)
        case .refer(let relation, let source, let target):
            return hasKind(source, relation.source)
                && target.map { hasKind($0, relation.target) } ?? true
        case .append(let list, let owner, let member), .remove(let list, let owner, let member):
            return hasKind(owner, list.owner) && hasKind(member, list.member)
        case .place(let list, let owner, let member, let index):
            return hasKind(owner, list.owner) && hasKind(member, list.member)
                && index <= now.members(list, of: owner).filter { $0 != member }.count
        case .move(let list, let owner, let from, let to):
            return hasKind(owner, list.owner)
                && max(from, to) < now.members(list, of: owner).count
        case .assign(let list, let owner, let members):
            return hasKind(owner, list.owner)
                && members.allSatisfy { hasKind($0, list.member) }
        case .reinsert(let label): return now.dead.contains(label)
        case .rollBackObject(let label):
            return now.objects[label] != nil && scene.base.objects[label] != nil
        case .restore(let number): return scene.snapshots[number] != nil
        case .takeBack(.revert(let distance), _, _):
            return run.head - distance > run.floor
        default: return true
        }
    }
}

extension Step {
    /// Returns the objects that an edit names, or may find in a world.
    func labels(in world: World) -> [Label] {
        switch self {
        case .upsert(let label, let kind, let key, let number, _):
            [label] + world.alive(kind, with: key, number)
        case .insert(let label, _, _, let references): [label] + references.values
        case .name(let label, _), .number(let label, _), .count(let label, _),
            .key(let label, _), .file(let label, _), .secret(let label, _), .parts(let label, _),
            .spot(let label, _, _), .pose(let label, _, _), .trail(let label, _),
            .delete(let label), .reinsert(let label), .rollBackObject(let label):
            [label]
        case .refer(_, let source, let target): [source] + (target.map { [$0] } ?? [])
        case .append(_, let owner, let member), .remove(_, let owner, let member),
            .place(_, let owner, let member, _):
            [owner, member]
        case .move(_, let owner, _, _): [owner]
        case .assign(_, let owner, let members): [owner] + members
        default: []
        }
    }
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .insert(let label, let kind, let name, let references):
            let values = references.map { "\($0.property): \($1)" }.sorted().joined(separator: ", ")
            return "insert \(kind.rawValue) \(label) \"\(name)\" \(values)"
        case .upsert(let label, let kind, let key, let number, let name):
            return "upsert \(kind.rawValue) \(label) by \(key) \(number), named \"\(name)\""
        case .name(let label, let name): return "\(label).name = \"\(name)\""
        case .number(let label, let number): return "\(label).number = \(number)"
        case .count(let label, let increment): return "\(label).count += \(increment)"
        case .key(let label, let key): return "\(label).key = \(key ?? "nil")"
        case .file(let label, let number):
            return "\(label).file = \(number.map(String.init) ?? "nil")"
        case .secret(let label, let number):
            return "\(label).secret = \(number.map(String.init) ?? "nil")"
        case .parts(let label, let parts): return "\(label).parts = \(parts)"
        case .trail(let label, let trail): return "\(label).trail = \(trail)"
        case .spot(let label, let spot, let byMember):
            return "\(label).spot\(byMember ? " by member" : "") = \(spot)"
        case .pose(let label, let pose, let byMember):
            return "\(label).pose\(byMember ? " by member" : "") = \(pose?.description ?? "nil")"
        case .rotateKey(let label): return "rotate the key of \(label)"
        case .destroyKey(let label): return "destroy the key of \(label)"
        case .sealAnew(let label): return "seal the values of \(label) anew"
        case .refer(let relation, let source, let target):
            return "\(source).\(relation.property) = \(target.map(String.init) ?? "nil")"
        case .append(let list, let owner, let member):
            return "\(owner).\(list.property).append(\(member))"
        case .remove(let list, let owner, let member):
            return "\(owner).\(list.property).remove(\(member))"
        case .place(let list, let owner, let member, let index):
            return "\(owner).\(list.property).insert(\(member), at: \(index))"
        case .move(let list, let owner, let from, let to):
            return "\(owner).\(list.property).move(from: \(from), to: \(to))"
        case .assign(let list, let owner, let members):
            return "\(owner).\(list.property) = \(members)"
        case .delete(let label): return "delete(\(label))"
        case .reinsert(let label): return "insert(\(label)) again"
        case .rollBack: return "rollback()"
        case .rollBackObject(let label): return "rollback(\(label))"
        case .snapshot(let number): return "snapshot s\(number)"
        case .restore(let number): return "restore(s\(number))"
        case .edit(let steps, let fails):
            let body = steps.map(\.description).joined(separator: "; ")
            return "edit { \(body)\(fails ? "; throw" : "") }"
        case .save(let keepsPending, let failure):
            return "save(\(keepsPending ? ".keepPending" : ""))"
                + (failure.map { " failing in \($0)" } ?? "")
        case .flight(let later, let end, let keepsPending):
            let body = later.map(\.description).joined(separator: "; ")
            return "async save(\(keepsPending ? ".keepPending" : "")) { \(body) } ends: \(end)"
        case .validate: return "validate()"
        case .letGo: return "let go of objects"
        case .refresh: return "refresh()"
        case .renew: return "a new context"
        case .takeBack(let what, let answer, let failure):
            return "\(what) .\(answer)" + (failure.map { " failing in \($0)" } ?? "")
        case .trim: return "trim"
        case .redact(let label, let attribute): return "redact \(label).\(attribute)"
        case .group(let begins): return begins ? "a group begins" : "the group ends"
        case .policy(let policy): return "mergePolicy = \(policy)"
        }
    }
}

extension Move: CustomStringConvertible {
    var description: String { "c\(context): \(step)" }
}
