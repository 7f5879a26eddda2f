/// Finds words near each other by their places.
///
/// A place is the attribute and the position of a word in it, as one number; so words of different
/// attributes are never near each other.
enum TextNearness {
    static let positionBits = 40

    static func place(_ attribute: Int, _ position: Int) -> Int {
        attribute << positionBits | position
    }

    /// Returns the places of any list from which on each list has a place within a span, in order.
    ///
    /// - Parameters:
    ///   - lists: the places of each word, in ascending order.
    ///   - span: the number of places.
    /// - Returns: the first place of each such span.
    /// - Complexity: O(places × lists).
    static func starts(_ lists: [ArraySlice<Int>], span: Int) -> [Int] {
        var rests = lists
        return union(lists).filter { place in
            rests.indices.allSatisfy { list in
                rests[list] = rests[list].drop { $0 < place }
                return rests[list].first.map { $0 < place + span } ?? false
            }
        }
    }

    /// Returns the places of all lists that are within a span from a start on, in order.
    static func places(_ lists: [ArraySlice<Int>], from starts: [Int], span: Int) -> [Int] {
        var last: Int?
        var rest = starts[...]
        return union(lists).filter { place in
            while let next = rest.first, next <= place {
                last = next
                rest.removeFirst()
            }
            return last.map { place < $0 + span } ?? false
        }
    }

    private static func union(_ lists: [ArraySlice<Int>]) -> [Int] {
        Set(lists.joined()).sorted()
    }
}
