import Foundation
import StetStore

/// The objects that a query sees, for the closures of the reference.
final class QueryScene {
    let boxes: [ObjectID: Box]
    let samples: [ObjectID: Sample]
    private var others: [ObjectID: [Sample]] = [:]
    private var holders: [ObjectID: [Sample]] = [:]
    private var followers: [ObjectID: [Sample]] = [:]
    private var contents: [ObjectID: [Sample]] = [:]
    private var children: [ObjectID: [Box]] = [:]

    init(_ world: QueryWorld) {
        boxes = world.boxes
        samples = world.samples
        for link in world.links {
            if let target = samples[link.target] { others[link.source, default: []].append(target) }
            if let source = samples[link.source] {
                holders[link.target, default: []].append(source)
            }
        }
        for sample in samples.values {
            if let box = sample.box { contents[box, default: []].append(sample) }
            if let next = sample.next { followers[next, default: []].append(sample) }
        }
        for box in boxes.values {
            if let parent = box.parent { children[parent, default: []].append(box) }
        }
    }

    /// Returns the members of a relationship of samples, by its number.
    func members(_ sample: ObjectID, _ relationship: Int) -> [Sample] {
        [others, holders, followers][relationship][sample] ?? []
    }

    func contents(_ box: ObjectID) -> [Sample] { contents[box] ?? [] }
    func children(_ box: ObjectID) -> [Box] { children[box] ?? [] }
}

/// The objects to which a condition applies: the object being tested, and members, from the
/// outermost condition of members inwards.
struct QueryScope {
    let scene: QueryScene
    var samples: [Sample] = []
    var boxes: [Box] = []
    var parts: [Part] = []

    /// Returns the scopes of conditions that test each of some members or elements.
    func entering<Tested>(
        _ found: [Tested], _ place: WritableKeyPath<QueryScope, [Tested]>
    ) -> [QueryScope] {
        found.map { tested in
            var scope = self
            scope[keyPath: place].append(tested)
            return scope
        }
    }
}

/// An object in two forms: as a query names it, and as a closure finds it.
struct QuerySubject<Object> {
    let node: QueryObject
    let find: (QueryScope) -> Object?
}

extension QuerySubject<Sample> {
    var next: QuerySubject<Sample> {
        QuerySubject(node: .target(node, slot: 19, entity: "Sample")) { [find] scope in
            find(scope)?.next.flatMap { scope.scene.samples[$0] }
        }
    }

    var box: QuerySubject<Box> {
        QuerySubject<Box>(node: .target(node, slot: 18, entity: "Box")) { [find] scope in
            find(scope)?.box.flatMap { scope.scene.boxes[$0] }
        }
    }
}

extension QuerySubject<Box> {
    var parent: QuerySubject<Box> {
        QuerySubject(node: .target(node, slot: 2, entity: "Box")) { [find] scope in
            find(scope)?.parent.flatMap { scope.scene.boxes[$0] }
        }
    }
}

/// A value in two forms, for a query and for a closure.
struct QueryTerm<Content: Sendable> {
    let node: QueryNode
    let kind: ValueKind<Content>
    let folding: TextFolding
    private let unfolded: (QueryScope) -> Content?
    let find: (QueryScope) -> Content?

    init(
        node: QueryNode, kind: ValueKind<Content>, folding: TextFolding = [],
        find: @escaping (QueryScope) -> Content?
    ) {
        self.node = node
        self.kind = kind
        self.folding = folding
        unfolded = find
        self.find =
            folding.isEmpty ? find : { scope in find(scope).map { kind.folded($0, folding) } }
    }

    func folded(_ folding: TextFolding) -> Self {
        Self(node: .folded(node, folding), kind: kind, folding: folding, find: unfolded)
    }

    /// Returns the value as it is compared with another: if one is folded, both are.
    func compared(_ folding: TextFolding) -> (QueryScope) -> Content? {
        if folding == self.folding { return find }
        return { [unfolded, kind] scope in unfolded(scope).map { kind.folded($0, folding) } }
    }

    func value(_ scope: QueryScope) -> Value { find(scope).map(kind.value) ?? .null }

    /// Returns whether an object is below (-1), equal to (0) or above (1) another in an order; nil
    /// comes before everything.
    func order(_ one: QueryScope, _ other: QueryScope) -> Int {
        switch (find(one), find(other)) {
        case (nil, nil): return 0
        case (nil, _): return -1
        case (_, nil): return 1
        case (let left?, let right?):
            let (rank, otherRank) = (kind.rank(left), kind.rank(right))
            if rank != otherRank { return rank < otherRank ? -1 : 1 }
            if kind.isLess(left, right) { return -1 }
            return kind.isLess(right, left) ? 1 : 0
        }
    }
}

/// A condition in two forms, with its parts.
struct QueryClause {
    indirect enum Shape {
        case leaf
        case all([QueryClause])
        case any([QueryClause])
        case not(QueryClause)
    }

    let shape: Shape
    let node: QueryNode
    let test: (QueryScope) -> Bool

    init(_ node: QueryNode, _ test: @escaping (QueryScope) -> Bool) {
        shape = .leaf
        self.node = node
        self.test = test
    }

    private init(_ shape: Shape, _ node: QueryNode, _ test: @escaping (QueryScope) -> Bool) {
        self.shape = shape
        self.node = node
        self.test = test
    }

    static func all(_ parts: [Self]) -> Self {
        Self(.all(parts), .all(parts.map(\.node))) { scope in
            parts.allSatisfy { $0.test(scope) }
        }
    }

    static func any(_ parts: [Self]) -> Self {
        Self(.any(parts), .any(parts.map(\.node))) { scope in
            parts.contains { $0.test(scope) }
        }
    }

    static func not(_ part: Self) -> Self {
        Self(.not(part), .not(part.node)) { !part.test($0) }
    }

    /// The conditions with one part less.
    var simpler: [Self] {
        func fewer(_ parts: [Self], _ make: ([Self]) -> Self) -> [Self] {
            var found = parts
            for place in parts.indices {
                var rest = parts
                rest.remove(at: place)
                if parts.count > 2 { found.append(make(rest)) }
                for simpler in parts[place].simpler {
                    var changed = parts
                    changed[place] = simpler
                    found.append(make(changed))
                }
            }
            return found
        }
        return switch shape {
        case .leaf: []
        case .all(let parts): fewer(parts, Self.all)
        case .any(let parts): fewer(parts, Self.any)
        case .not(let part): [part] + part.simpler.map(Self.not)
        }
    }
}
