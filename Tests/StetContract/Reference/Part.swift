/// An element of the array of an object, by its identity.
struct Part: Hashable {
    let id: Int
    var size: Int
    var note: Int?
}

extension Part: CustomStringConvertible {
    var description: String { "\(id): \(size) \(note.map(String.init) ?? "nil")" }
}

/// The three-way rule for arrays of elements with an identity.
struct PartMerge {
    let parts: [Part]
    /// True if both sides want something else of the same member, or of the same element.
    let isContested: Bool

    /// Merges three arrays; nil if elements of one of them have the same identity.
    init?(_ base: [Part], mine: [Part], theirs: [Part], favorsMine: Bool) {
        for list in [base, mine, theirs] where Set(list.map(\.id)).count < list.count { return nil }
        var parts: [Part] = []
        var isContested = false
        for id in Self.order(base, mine, theirs, favorsMine) {
            func find(_ list: [Part]) -> Part? { list.first { $0.id == id } }
            let (before, here, there) = (find(base), find(mine), find(theirs))
            if here == before || here == there {
                if let there { parts.append(there) }
            } else if there == before {
                if let here { parts.append(here) }
            } else if let before, let here, let there {
                var part = there
                func merge<V: Equatable>(_ path: WritableKeyPath<Part, V>) {
                    let (old, new) = (before[keyPath: path], here[keyPath: path])
                    let present = there[keyPath: path]
                    if new == old || new == present { return }
                    if present != old { isContested = true }
                    if present == old || favorsMine { part[keyPath: path] = new }
                }
                merge(\.size)
                merge(\.note)
                parts.append(part)
            } else {
                isContested = true
                if let part = favorsMine ? here : there { parts.append(part) }
            }
        }
        self.parts = parts
        self.isContested = isContested
    }

    /// Returns the identities of both sides in the order of the one that has moved elements.
    private static func order(
        _ base: [Part], _ mine: [Part], _ theirs: [Part], _ favorsMine: Bool
    ) -> [Int] {
        func hasMoved(_ side: [Part]) -> Bool {
            let (old, new) = (base.map(\.id), side.map(\.id))
            return old.filter(new.contains) != new.filter(old.contains)
        }
        let takesMine = hasMoved(mine) && (favorsMine || !hasMoved(theirs))
        var order = (takesMine ? mine : theirs).map(\.id)
        let other = (takesMine ? theirs : mine).map(\.id)
        let shared = order
        // Backwards, so that elements after the same one keep their order.
        for (place, id) in other.enumerated().reversed() where !shared.contains(id) {
            let before = other[..<place].last(where: shared.contains)
            order.insert(id, at: before.map { order.firstIndex(of: $0)! + 1 } ?? 0)
        }
        return order
    }
}
