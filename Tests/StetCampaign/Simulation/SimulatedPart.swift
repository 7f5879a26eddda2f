import StetStore

/// An element of a box's array of embedded values.
struct SimulatedPart: Equatable {
    var id: Value
    var text: Value
    var note = Value.null

    var value: Value {
        .dictionary([.string("id"): id, .string("text"): text, .string("note"): note])
    }
}

extension Value {
    /// The elements of a box's array.
    var parts: [SimulatedPart]? {
        guard case .list(let elements) = self else { return nil }
        return elements.compactMap { element in
            guard case .dictionary(let members) = element, let id = members[.string("id")],
                let text = members[.string("text")], let note = members[.string("note")]
            else { return nil }
            return SimulatedPart(id: id, text: text, note: note)
        }
    }
}

/// The three-way rule of elements, element by element and without regard to how often a list is
/// searched.
struct ReferencePartMerge {
    private(set) var merged: [SimulatedPart] = []
    private(set) var isContested = false

    init(
        base: [SimulatedPart], mine: [SimulatedPart], theirs: [SimulatedPart], favorsMine: Bool
    ) {
        func find(_ id: Value, _ list: [SimulatedPart]) -> SimulatedPart? {
            list.first { $0.id == id }
        }
        func isMoved(_ list: [SimulatedPart]) -> Bool {
            let before = base.map(\.id).filter { find($0, list) != nil }
            return before != list.map(\.id).filter { find($0, base) != nil }
        }
        let mineLeads = isMoved(mine) && (favorsMine || !isMoved(theirs))
        let (leader, other) = mineLeads ? (mine, theirs) : (theirs, mine)
        var order = leader.map(\.id)
        for (index, part) in other.enumerated() where !order.contains(part.id) {
            let left = index == 0 ? nil : order.firstIndex(of: other[index - 1].id)
            order.insert(part.id, at: left.map { $0 + 1 } ?? 0)
        }
        for id in order {
            let (old, one, two) = (find(id, base), find(id, mine), find(id, theirs))
            if one == two || one == old {
                if let two { merged.append(two) }
            } else if two == old {
                if let one { merged.append(one) }
            } else if let old, let one, var part = two {
                for path in [\SimulatedPart.text, \SimulatedPart.note]
                where one[keyPath: path] != old[keyPath: path]
                    && one[keyPath: path] != part[keyPath: path]
                {
                    let isFree = part[keyPath: path] == old[keyPath: path]
                    if !isFree { isContested = true }
                    if isFree || favorsMine { part[keyPath: path] = one[keyPath: path] }
                }
                merged.append(part)
            } else {
                isContested = true
                if let wanted = favorsMine ? one : two { merged.append(wanted) }
            }
        }
    }
}

extension ReferenceInversion {
    /// Takes back the change of a box's array.
    mutating func takeBackParts(
        _ present: inout Value, _ before: Value, _ after: Value
    ) {
        guard present != after, present != before, let base = after.parts,
            let mine = before.parts, let theirs = present.parts
        else {
            if present == after { present = before }
            return
        }
        var merge = ReferencePartMerge(
            base: base, mine: mine, theirs: theirs, favorsMine: false)
        if merge.isContested {
            guard conflict(mayKeep: true, mayRestore: true) == .restore else { return }
            merge = ReferencePartMerge(base: base, mine: mine, theirs: theirs, favorsMine: true)
        }
        present = .list(merge.merged.map(\.value))
    }
}
