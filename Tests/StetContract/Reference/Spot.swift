/// An embedded value of an object.
struct Spot: Hashable {
    var row = 0
    var mark: String?
}

extension Spot: CustomStringConvertible {
    var description: String { "\(row) \(mark ?? "nil")" }
}

extension World {
    /// Returns the number that an object derives from its own and from those of others; nil if
    /// one of them is unknown, because others have deleted it.
    func total(of label: Label) -> Int? {
        guard let object = objects[label] else { return nil }
        /// Returns nil in the outer sense if the reference leads to an unknown object.
        func target(_ source: Object, _ relation: Relation) -> Object?? {
            guard let label = source.references[relation] else { return .some(nil) }
            return objects[label].map { .some($0) }
        }
        switch object.kind {
        case .box:
            return target(object, .boss).map { object.number + ($0?.number ?? 0) }
        case .item:
            guard let box = target(object, .box) else { return nil }
            guard let box else { return object.number }
            return target(box, .boss).map { $0?.number ?? object.number }
        case .tag: return object.number + (object.pose?.row ?? 0)
        case .leaf:
            return target(object, .stack).map { ($0?.spot.row ?? -1) + object.number }
        }
    }

    /// Returns the objects that a search must find.
    func found(by search: Search) -> Set<Label> {
        Set(
            objects.keys.filter { label in
                guard isAlive(label), let object = objects[label] else { return false }
                return search.finds(
                    [object.name, object.spot.mark, object.pose?.mark].compactMap { $0 })
            })
    }
}

/// A search for words in the texts of the objects.
enum Search: String, CaseIterable {
    case word = "b"
    case both = "a b"
    case without = "a -b"
    case phrase = "\"a b\""
    case prefix = "na*"

    func finds(_ texts: [String]) -> Bool {
        let lists = texts.map { $0.split(separator: " ").map(String.init) }
        let words = Set(lists.joined())
        return switch self {
        case .word: words.contains("b")
        case .both: words.contains("a") && words.contains("b")
        case .without: words.contains("a") && !words.contains("b")
        case .phrase: lists.contains { zip($0, $0.dropFirst()).contains { $0 == ("a", "b") } }
        case .prefix: words.contains { $0.hasPrefix("na") }
        }
    }
}
